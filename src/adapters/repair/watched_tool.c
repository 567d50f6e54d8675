#define _GNU_SOURCE
#include "adapters/repair/watched_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of a block of the image. */
enum { kUnread = 0, kAsOnDisk = 1, kToolsOwn = 2 };

/* What a call is answered: it runs, or an errno, or a descriptor that the tool has got. */
struct verdict {
  int error; /* negative */
  int runs;
  int64_t value;
};
static const struct verdict kRun = {0, 1, 0};
static struct verdict refuse(int error) { return (struct verdict){error, 0, 0}; }
static struct verdict run_or(int error) { return error ? refuse(error) : kRun; }

/* A call of the tool. */
struct call {
  struct watched_image* image;
  int listener;
  pid_t pid;
  const struct seccomp_notif* notif;
};
static uint64_t argument(const struct call* c, int n) { return c->notif->data.args[n]; }

static uint64_t size_of(const struct watched_image* image) { return image->block_count * image->block_size; }

/* --- the image */

int watched_image_make(const struct watched_disk* disk, uint32_t block_size, uint64_t block_count,
                       struct watched_image* out) {
  memset(out, 0, sizeof *out);
  out->disk = *disk;
  out->block_size = block_size;
  out->block_count = block_count;
  const size_t size = size_of(out);
  out->fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (out->fd < 0) return -errno;
  struct stat about;
  void *bytes = MAP_FAILED, *states = MAP_FAILED, *request = MAP_FAILED;
  int error = 0;
  /* No program can make it longer or shorter. */
  if (ftruncate(out->fd, (off_t)size) != 0 || fcntl(out->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0 ||
      fstat(out->fd, &about) != 0) {
    error = -errno;
  } else {
    const int own = MAP_PRIVATE | MAP_ANONYMOUS;
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
    states = mmap(NULL, block_count, PROT_READ | PROT_WRITE, own, -1, 0);
    request = mmap(NULL, size, PROT_READ | PROT_WRITE, own | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED || states == MAP_FAILED || request == MAP_FAILED) error = -ENOMEM;
  }
  if (error != 0) {
    if (bytes != MAP_FAILED) munmap(bytes, size);
    if (states != MAP_FAILED) munmap(states, block_count);
    if (request != MAP_FAILED) munmap(request, size);
    close(out->fd);
    return error;
  }
  out->device = about.st_dev;
  out->inode = about.st_ino;
  out->bytes = bytes;
  out->states = states;
  out->request = request;
  return 0;
}

static void drop_shadow(struct watched_image* image) {
  if (image->shadow != NULL) munmap(image->shadow, size_of(image));
  image->shadow = NULL;
  image->shadow_begin = image->shadow_end = 0;
}

void watched_image_close(struct watched_image* image) {
  drop_shadow(image);
  munmap(image->bytes, size_of(image));
  munmap(image->states, image->block_count);
  munmap(image->request, size_of(image));
  close(image->fd);
}

void watched_image_restart(struct watched_image* image) {
  drop_shadow(image);
  memset(image->states, kUnread, image->block_count);
}

void watched_image_look(struct watched_image* image, int only_looks) {
  image->only_looks = only_looks;
  for (uint64_t i = 0; i < image->block_count; ++i) {
    if (image->states[i] == kToolsOwn) image->states[i] = kUnread;
  }
}

int watched_image_read(struct watched_image* image, uint64_t block, uint64_t count) {
  for (uint64_t i = block; i < block + count;) {
    uint64_t end = i;
    while (end < block + count && image->states[end] == kUnread) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const int error = image->disk.read(image->disk.self, i, end - i, image->bytes + i * image->block_size);
    if (error) return error;
    memset(image->states + i, kAsOnDisk, end - i);
    i = end;
  }
  return 0;
}

/* The blocks of a range of bytes that is cut to the image. */
struct blocks {
  uint64_t offset, length; /* cut */
  uint64_t first, count;
};
static struct blocks blocks_of(const struct watched_image* image, uint64_t offset, uint64_t length) {
  struct blocks b = {offset, length, 0, 0};
  if (length == 0 || offset >= size_of(image)) return (struct blocks){offset, 0, 0, 0};
  if (length > size_of(image) - offset) b.length = size_of(image) - offset;
  b.first = offset / image->block_size;
  b.count = (offset + b.length - 1) / image->block_size - b.first + 1;
  return b;
}

static int read_range(struct watched_image* image, uint64_t offset, uint64_t length) {
  const struct blocks b = blocks_of(image, offset, length);
  return watched_image_read(image, b.first, b.count);
}

/* Stores through a mapping, as the requests that they are: runs of blocks that changed. */
static int write_mapped(struct watched_image* image) {
  const uint32_t size = image->block_size;
  if (image->only_looks) return 0;
  for (uint64_t i = image->shadow_begin; i < image->shadow_end;) {
    uint64_t end = i;
    while (end < image->shadow_end &&
           memcmp(image->bytes + end * size, image->shadow + end * size, size) != 0)
      ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const unsigned char* now = image->bytes + i * size;
    const int error = image->disk.write(image->disk.self, i, end - i, now, 0);
    if (error) return error;
    memcpy(image->shadow + i * size, now, (end - i) * size);
    i = end;
  }
  return 0;
}

/* Blocks that a write changes in part only have to be known. */
static int read_edges(struct watched_image* image, const struct blocks* b) {
  int error = 0;
  if (b->offset % image->block_size != 0) error = watched_image_read(image, b->first, 1);
  if (!error && (b->offset + b->length) % image->block_size != 0)
    error = watched_image_read(image, b->first + b->count - 1, 1);
  return error;
}

/* Where the bytes of a write come to lie in image->request, whose beginning is that of the first block. */
static unsigned char* room_for(struct watched_image* image, const struct blocks* b) {
  return image->request + b->offset % image->block_size;
}

/* The bytes are in their room. The blocks before and after them stay as they are. */
static int write_range(struct watched_image* image, const struct blocks* b, int through) {
  const uint32_t size = image->block_size;
  const uint64_t head = b->offset % size, end = head + b->length;
  if (image->only_looks) {
    memset(image->states + b->first, kToolsOwn, b->count);
    return 0;
  }
  const int error = write_mapped(image);
  if (error) return error;
  const unsigned char* old = image->bytes + b->first * size;
  memcpy(image->request, old, head);
  memcpy(image->request + end, old + end, b->count * size - end);
  const int refused = image->disk.write(image->disk.self, b->first, b->count, image->request, through);
  if (refused) return refused;
  memset(image->states + b->first, kAsOnDisk, b->count);
  if (image->shadow != NULL) memcpy(image->shadow + b->first * size, image->request, b->count * size);
  return 0;
}

/* --- what the tool has open, and what is in its memory */

static int is_image(const struct call* c, uint64_t descriptor) {
  char path[64];
  struct stat about;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)c->pid, (int)descriptor);
  return stat(path, &about) == 0 && about.st_ino == c->image->inode && about.st_dev == c->image->device;
}

/* Where the next read or write of a descriptor is, and its flags. */
static int about_descriptor(const struct call* c, uint64_t descriptor, uint64_t* position, unsigned* flags) {
  char path[64], text[128];
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)c->pid, (int)descriptor);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const ssize_t count = read(fd, text, sizeof text - 1);
  (void)syscall(SYS_close, fd);
  if (count <= 0) return -EIO;
  text[count] = 0;
  const char* at = strstr(text, "pos:");
  const char* bits = strstr(text, "flags:");
  if (at == NULL || bits == NULL) return -EIO;
  *position = strtoull(at + 4, NULL, 10);
  *flags = (unsigned)strtoul(bits + 6, NULL, 8);
  return 0;
}

static int copy_in(const struct call* c, uint64_t from, void* to, uint64_t length) {
  const struct iovec here = {to, length}, there = {(void*)(uintptr_t)from, length};
  if (length == 0) return 0;
  const ssize_t count = process_vm_readv(c->pid, &here, 1, &there, 1, 0);
  if (count < 0) return -errno;
  return (uint64_t)count == length ? 0 : -EFAULT;
}

/* A call with a descriptor of the image: its bytes, and where they go. */
struct transfer {
  uint64_t offset, length;
  int through, vectors;
};

/* The bytes of all parts of a vector. */
static int length_of_vector(const struct call* c, uint64_t* length) {
  *length = 0;
  if (argument(c, 2) > IOV_MAX) return -EINVAL;
  for (uint64_t i = 0; i < argument(c, 2); ++i) {
    struct iovec part;
    const int error = copy_in(c, argument(c, 1) + i * sizeof part, &part, sizeof part);
    if (error) return error;
    *length += part.iov_len;
  }
  return 0;
}

static int transfer_of(const struct call* c, struct transfer* out) {
  uint64_t position = 0;
  unsigned flags = 0, more = 0;
  int error = about_descriptor(c, argument(c, 0), &position, &flags);
  if (error) return error;
  *out = (struct transfer){position, argument(c, 2), 0, 0};
  switch (c->notif->data.nr) {
    case SYS_pread64:
    case SYS_pwrite64:
      out->offset = argument(c, 3);
      break;
    case SYS_preadv2:
    case SYS_pwritev2:
      more = (unsigned)argument(c, 5);
      /* fallthrough */
    case SYS_preadv:
    case SYS_pwritev:
      if (argument(c, 3) != UINT64_MAX) out->offset = argument(c, 3);
      /* fallthrough */
    case SYS_readv:
    case SYS_writev:
      out->vectors = 1;
      error = length_of_vector(c, &out->length);
      break;
    default:
      break;
  }
  out->through = (flags & O_DSYNC) != 0 || (more & (RWF_DSYNC | RWF_SYNC)) != 0;
  return error;
}

static int copy_vector(const struct call* c, unsigned char* to, uint64_t length) {
  for (uint64_t i = 0; i < argument(c, 2) && length != 0; ++i) {
    struct iovec part;
    int error = copy_in(c, argument(c, 1) + i * sizeof part, &part, sizeof part);
    const uint64_t take = part.iov_len < length ? part.iov_len : length;
    if (!error) error = copy_in(c, (uint64_t)(uintptr_t)part.iov_base, to, take);
    if (error) return error;
    to += take;
    length -= take;
  }
  return 0;
}

/* --- the calls */

static struct verdict on_read(const struct call* c) {
  struct transfer t;
  int error = transfer_of(c, &t);
  if (!error) error = read_range(c->image, t.offset, t.length);
  return run_or(error);
}

static struct verdict on_write(const struct call* c) {
  struct transfer t;
  int error = transfer_of(c, &t);
  if (error) return refuse(error);
  if (t.length == 0) return kRun;
  const struct blocks b = blocks_of(c->image, t.offset, t.length);
  /* As a disk has it. The part of a write that still fits would be carried out by a disk. */
  if (b.length != t.length) return refuse(-ENOSPC);
  error = read_edges(c->image, &b);
  unsigned char* const to = room_for(c->image, &b);
  if (!error) error = t.vectors ? copy_vector(c, to, t.length) : copy_in(c, argument(c, 1), to, t.length);
  if (!error) error = write_range(c->image, &b, t.through);
  return run_or(error);
}

static struct verdict on_flush(const struct call* c) {
  if (c->image->only_looks) return kRun;
  int error = write_mapped(c->image);
  if (!error) error = c->image->disk.flush(c->image->disk.self);
  return run_or(error);
}

static struct verdict on_fallocate(const struct call* c) {
  const int mode = (int)argument(c, 1);
  const struct blocks b = blocks_of(c->image, argument(c, 2), argument(c, 3));
  if ((mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
    return refuse(-EOPNOTSUPP);
  if (b.length != argument(c, 3)) return refuse(-ENOSPC);
  if ((mode & ~FALLOC_FL_KEEP_SIZE) == 0) return kRun;
  int error = read_edges(c->image, &b);
  if (!error) {
    memset(room_for(c->image, &b), 0, b.length);
    error = write_range(c->image, &b, 0);
  }
  return run_or(error);
}

static struct verdict on_mmap(const struct call* c) {
  struct watched_image* const image = c->image;
  const struct blocks b = blocks_of(image, argument(c, 5), argument(c, 1));
  const int error = watched_image_read(image, b.first, b.count);
  if (error || (argument(c, 3) & MAP_TYPE) == MAP_PRIVATE || b.count == 0) return run_or(error);
  if (image->shadow == NULL) {
    void* at = mmap(NULL, size_of(image), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return refuse(-ENOMEM);
    image->shadow = at;
    image->shadow_begin = b.first;
    image->shadow_end = b.first;
  }
  const uint64_t begin = b.first < image->shadow_begin ? b.first : image->shadow_begin;
  const uint64_t end = b.first + b.count > image->shadow_end ? b.first + b.count : image->shadow_end;
  /* What is mapped already may hold what has not been told yet. */
  for (uint64_t i = begin; i < end; ++i) {
    if (i >= image->shadow_begin && i < image->shadow_end) continue;
    memcpy(image->shadow + i * image->block_size, image->bytes + i * image->block_size, image->block_size);
  }
  image->shadow_begin = begin;
  image->shadow_end = end;
  return kRun;
}

/* A path of the tool, as we see it. */
static int path_of(const struct call* c, int directory, uint64_t text, char* out, size_t size) {
  char said[256];
  size_t length = 0;
  while (length < sizeof said) {
    if (copy_in(c, text + length, said + length, 1) != 0) return 0;
    if (said[length++] == 0) break;
  }
  if (said[length - 1] != 0) return 0;
  int count;
  if (strncmp(said, "/proc/self/", 11) == 0)
    count = snprintf(out, size, "/proc/%d/%s", (int)c->pid, said + 11);
  else if (strncmp(said, "/dev/fd/", 8) == 0)
    count = snprintf(out, size, "/proc/%d/fd/%s", (int)c->pid, said + 8);
  else if (said[0] == '/')
    count = snprintf(out, size, "%s", said);
  else if (directory == AT_FDCWD)
    count = snprintf(out, size, "/proc/%d/cwd/%s", (int)c->pid, said);
  else
    count = snprintf(out, size, "/proc/%d/fd/%d/%s", (int)c->pid, directory, said);
  return count > 0 && (size_t)count < size;
}

/* The image is opened with flags that a disk takes and a file in memory does not. */
static struct verdict on_open(const struct call* c, int directory, int first) {
  char path[512];
  struct stat about;
  if (!path_of(c, directory, argument(c, first), path, sizeof path) || stat(path, &about) != 0 ||
      about.st_ino != c->image->inode || about.st_dev != c->image->device)
    return kRun;
  const int flags = (int)argument(c, first + 1);
  snprintf(path, sizeof path, "/proc/self/fd/%d", c->image->fd);
  const int fd = open(path, (flags & ~(O_DIRECT | O_TRUNC | O_CREAT | O_EXCL)) | O_CLOEXEC);
  if (fd < 0) return refuse(-errno);
  struct seccomp_notif_addfd given = {
      .id = c->notif->id, .srcfd = (uint32_t)fd, .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};
  const int there = ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
  const int error = there < 0 ? -errno : 0;
  (void)syscall(SYS_close, fd);
  return error ? refuse(error) : (struct verdict){0, 0, there};
}

static struct verdict judge(const struct call* c) {
  switch (c->notif->data.nr) {
#ifdef SYS_open
    case SYS_open:
      return on_open(c, AT_FDCWD, 0);
#endif
    case SYS_openat:
      return on_open(c, (int)argument(c, 0), 1);
    case SYS_mmap:
      return is_image(c, argument(c, 4)) ? on_mmap(c) : kRun;
    case SYS_msync:
      /* Of what mapping it is does not matter where none is of the image. */
      return c->image->shadow != NULL && (argument(c, 2) & MS_SYNC) != 0 ? on_flush(c) : kRun;
    default:
      break;
  }
  if (!is_image(c, argument(c, 0))) return kRun;
  switch (c->notif->data.nr) {
    case SYS_fsync:
    case SYS_fdatasync:
      return on_flush(c);
    case SYS_fallocate:
      return on_fallocate(c);
    case SYS_ftruncate:
      return run_or(argument(c, 1) == size_of(c->image) ? 0 : -EINVAL);
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
      return on_read(c);
    default:
      return on_write(c);
  }
}

/* Whether what is done here is allowed at all: some systems forbid to look at another process. */
static int try_it(const struct call* c) {
  char byte;
  return copy_in(c, c->notif->data.instruction_pointer, &byte, 1);
}

int watched_tool_serve(struct watched_image* image, int listener) {
  /* Kernels to come may have more to say. */
  union {
    struct seccomp_notif notif;
    char room[512];
  } request;
  union {
    struct seccomp_notif_resp response;
    char room[512];
  } reply;
  memset(&request, 0, sizeof request);
  memset(&reply, 0, sizeof reply);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
    return errno == EINTR || errno == ENOENT || errno == ENOTCONN ? 0 : -errno;
  const struct call c = {image, listener, (pid_t)request.notif.pid, &request.notif};
  if (!image->tried) {
    const int error = try_it(&c);
    if (error == -ESRCH) return 0; /* it has been killed */
    if (error) return error;
    image->tried = 1;
  }
  const struct verdict verdict = judge(&c);
  reply.response.id = request.notif.id;
  reply.response.error = verdict.error;
  reply.response.val = verdict.value;
  reply.response.flags = verdict.runs ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
  /* ENOENT: it has been killed. */
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply) != 0 && errno != ENOENT) return -errno;
  return 0;
}

int watched_tool_end(struct watched_image* image) {
  const int error = write_mapped(image);
  /* What was stored while it only looked is as good as a write of its own. */
  if (image->only_looks && image->shadow != NULL)
    memset(image->states + image->shadow_begin, kToolsOwn, image->shadow_end - image->shadow_begin);
  drop_shadow(image);
  return error;
}
