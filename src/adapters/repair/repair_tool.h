/* A repair tool that is a program, run on a disk that is callbacks.
 *
 *     struct repair_image image;
 *     int error = repair_image_make(disk, &image);
 *     struct repair_run run;
 *     error = repair_tool_run(&image, REPAIR_CHANGES, arguments, environment, 3000, &run);
 *     ... run.status, run.output ...                          (it worked on REPAIR_IMAGE_PATH)
 *     repair_run_free(&run);
 *     repair_image_close(&image);
 *
 * The disk sees each read, write and flush of the tool in its order (watched_tool.h). Where the kernel does
 * not allow that, the tool works on a copy, and what it changed is written back by rising address.
 *
 * Made for code whose heap is watched and put back: nothing here keeps a global or takes memory from malloc,
 * and the kernel writes to nothing but mappings of our own and the stack. The program starts without a copy
 * of this process. Functions return 0 or a negative errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "adapters/repair/watched_tool.h"
#include "sisyfs/plugin.h"

/* Where the program finds the image, whatever else is open here. */
#define REPAIR_IMAGE_PATH "/proc/self/fd/3"

struct repair_image {
  const sisyfs_disk* disk;
  struct watched_image watched;
  unsigned char* copied; /* what the disk held before the tool that is not watched; null: there was none */
  /* Where the tool is not watched, these blocks are written last, between two flushes. */
  uint64_t last, last_count;
};

/* An image of the disk, from which nothing has been read. It stays where it is until it is closed. */
int repair_image_make(const sisyfs_disk* disk, struct repair_image* out);
/* Bytes of the disk as the next run of a tool finds them. */
int repair_image_look(struct repair_image* image, uint64_t offset, size_t size, void* out);
void repair_image_close(struct repair_image* image);

enum repair_purpose {
  REPAIR_LOOKS,    /* the disk is not written, whatever the tool does */
  REPAIR_CHANGES,  /* the disk sees what it does */
  REPAIR_REPLACES, /* it gets zeros for the disk; what it made of them is written by rising address */
};

struct repair_run {
  int status;         /* as of waitpid; of no meaning if it was killed */
  int killed;         /* it took longer than it may */
  const char* output; /* what it said on both channels, ends with a 0; at most a MiB is kept */
};

/* Runs arguments[0], which is a path, or a name that is looked for where system programs are. -ENOENT if
 * there is no such program. */
int repair_tool_run(struct repair_image* image, enum repair_purpose purpose, const char* const* arguments,
                    const char* const* environment, int deadline_ms, struct repair_run* out);
void repair_run_free(struct repair_run* run);
