/* A tool whose disk is watched: each read, write and flush of its image is ours first.
 *
 * The image is a file in memory that the tool opens like any other. A filter of the kernel (seccomp user
 * notification) stops the tool at each call that touches a file, and we do to the disk what the call is about
 * to do to the image:
 *
 *     a read     blocks that the tool has not seen are read from the disk into the image
 *     a write    its bytes are taken from the tool's memory and written to the disk, as one request
 *     a flush    fsync and fdatasync flush the disk
 *
 * Then the kernel carries out the call on the image. An error of the disk is the tool's errno instead.
 *
 * The side of the tool, between its start and its execve:
 *
 *     watched_tool_begin(socket);
 *
 * Our side:
 *
 *     const int listener = watched_tool_listener(socket);
 *     while (the tool runs and the listener is readable) watched_tool_serve(&image, listener);
 *     watched_tool_end(&image);
 *
 * Needs no privileges. Nothing here keeps a global or takes memory from malloc, so code whose heap is watched
 * may use it. Functions return 0 or a negative errno, if nothing else is said.
 *
 * What is not seen: stores to a shared mapping of the image are written, by rising address, at the next
 * write or flush of the tool and at its end. A tool for another architecture can make no calls. A signal
 * handler of the tool without SA_RESTART may end a call with EINTR that a file would not end so; the call has
 * then not been seen.
 */
#pragma once

/* This is C. NOLINTBEGIN(modernize-*) */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The disk under the image. Functions return 0 or a negative errno. */
struct watched_disk {
  void* self;
  int (*read)(void* self, uint64_t block, uint64_t count, void* bytes);
  int (*write)(void* self, uint64_t block, uint64_t count, const void* bytes, int through);
  int (*flush)(void* self);
};

struct watched_image {
  struct watched_disk disk;
  uint32_t block_size;
  uint64_t block_count;
  int fd;
  unsigned char* bytes; /* the file, mapped */
  int only_looks;       /* what the tool writes stays in the image: the disk is neither written nor flushed */
  int tried;            /* the kernel lets us see the tool's memory */
  dev_t device;
  ino_t inode;
  unsigned char* states;  /* by block */
  unsigned char* request; /* room for the bytes of one write */
  unsigned char* shadow;  /* what the disk holds, where the tool has mapped the image; null: it has not */
  uint64_t shadow_begin, shadow_end; /* blocks */
};

/* An image of `size`: nothing has been read into it. `disk` is copied, and what it points to outlives the
 * image. */
int watched_image_make(const struct watched_disk* disk, uint32_t block_size, uint64_t block_count,
                       struct watched_image* out);
void watched_image_close(struct watched_image* image);
/* The disk has changed: what was read is read again. From now on the tool looks only, or changes the disk. */
void watched_image_restart(struct watched_image* image);
void watched_image_look(struct watched_image* image, int only_looks);
/* Reads these blocks, if the tool has not. */
int watched_image_read(struct watched_image* image, uint64_t block, uint64_t count);

/* In the process that will become the tool: from here on it is watched. Tells the other end of the socket,
 * also that it cannot be. Async-signal-safe, as are the calls that may follow: close and execve. */
int watched_tool_begin(int socket);
/* The listener, or the negative errno with which the kernel refused. Waits until watched_tool_begin() was
 * called, or the other end of the socket is closed. */
int watched_tool_listener(int socket);

/* Answers one call of the tool, if there is one; the listener is readable. An error: the tool cannot be
 * watched, as on the first of its calls, before it has seen its image; it has to be killed. */
int watched_tool_serve(struct watched_image* image, int listener);
/* The tool has ended. Writes what it has stored through a mapping and not told. */
int watched_tool_end(struct watched_image* image);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*) */
