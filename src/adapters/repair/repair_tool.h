/* A repair tool that is a program, run on a disk that is callbacks.
 *
 * The disk is copied to a file in memory, the program works on that, and what it changed is written back.
 *
 *     struct repair_image image;
 *     int error = repair_image_open(disk, &image);
 *     struct repair_run run;
 *     error = repair_tool_run(&image, arguments, environment, 3000, &run);   (works on REPAIR_IMAGE_PATH)
 *     ... run.status, run.output ...
 *     repair_run_free(&run);
 *     error = repair_image_write_back(disk, &image, 0, 0);
 *     repair_image_close(&image);
 *
 * Made for code whose heap is watched and put back: nothing here keeps a global or takes memory from malloc,
 * but for what posix_spawn's lists hold while it starts, and the kernel writes to nothing but mappings of our
 * own and the stack. The program starts without a copy of this process. Functions return 0 or a negative
 * errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sisyfs/plugin.h"

/* Where the program finds the image, whatever else is open here. */
#define REPAIR_IMAGE_PATH "/proc/self/fd/3"

struct repair_image {
  int fd;
  uint32_t block_size;
  uint64_t block_count;
  unsigned char* bytes; /* the file, which the program changes */
  unsigned char* given; /* what it was given; a block that was not read holds REPAIR_UNREAD in both */
};
#define REPAIR_UNREAD 0xA5

/* An image of the disk's size that nothing has been read into, and all of it read. */
int repair_image_make(const sisyfs_disk* disk, struct repair_image* out);
int repair_image_open(const sisyfs_disk* disk, struct repair_image* out);
/* Reads these blocks, those that have been read before once more. */
int repair_image_read(const sisyfs_disk* disk, struct repair_image* image, uint64_t block, uint64_t count);
/* Writes what the program changed and flushes: first all but `last_count` blocks from `last`, then those. */
int repair_image_write_back(const sisyfs_disk* disk, const struct repair_image* image, uint64_t last,
                            uint64_t last_count);
void repair_image_close(struct repair_image* image);

struct repair_run {
  int status;         /* as of waitpid; of no meaning if it was killed */
  int killed;         /* it took longer than it may */
  const char* output; /* what it said on both channels, ends with a 0; at most a MiB is kept */
};

/* Runs arguments[0], which is a path, or a name that is looked for where system programs are. -ENOENT if
 * there is no such program. */
int repair_tool_run(const struct repair_image* image, const char* const* arguments,
                    const char* const* environment, int deadline_ms, struct repair_run* out);
void repair_run_free(struct repair_run* run);
