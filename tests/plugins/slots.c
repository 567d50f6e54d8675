/* slots: the smallest file system that is right, for tests of the plug-in interface.
 *
 * A disk of a few blocks, each a slot for one file: used, name, length, data. Every call writes one block and
 * flushes, so that it is durable and atomic when it returns. SLOTS_FAULT, a number set when it is built,
 * plants one fault; each is what the name says.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <pthread.h>
#include <sisyfs/plugin.h>

enum fault {
  NONE,
  NO_FLUSH,      /* unlink is durable only after a later flush */
  SEGFAULT,      /* a write behind the start of a file goes through a null pointer */
  ABORT,         /* so does it abort */
  LOOP,          /* so does it loop for ever */
  DISK_LOOP,     /* so does it read the disk for ever */
  RECURSION,     /* so does it call itself for ever */
  EXIT,          /* so does it end the process */
  LEAK,          /* unmount does not free */
  USE_AFTER_FREE, /* unlink reads what it has freed */
  CLOCK,         /* what is written holds the lowest bit of the time of day */
  BEYOND,        /* a write goes beyond the disk */
  DOUBLE_FREE,   /* unlink frees twice */
  OVERRUN,       /* unlink writes beyond its buffer */
  HOG,           /* unlink wants all memory that there is */
  SMASH,         /* a write behind the start of a file overwrites the checker's memory */
  NO_ENOMEM,     /* mount does not look whether malloc gave anything */
  FORMAT_DIES,   /* format aborts */
  ASSERTION,     /* a write behind the start of a file fails an assertion */
  OLD_MINOR,     /* no fault: of version 1.0, whose table was shorter */
  NEW_MINOR,     /* no fault: of a later minor version, with a larger table */
  WRONG_MAJOR,   /* of another major version */
  NO_READ,       /* has write and no read */
  LOCK,          /* a row of four calls, whatever comes between them, ends in an abort */
  SLOW,          /* no fault: each call sleeps 5 ms */
  THREAD,        /* a write behind the start of a file starts a thread */
  FORK,          /* so does it start a process */
  RAW_FORK,      /* no fault: so does it start a process by a system call, and both go on */
  OPEN_ALONE,    /* has open and no close, chmod and no mode */
};
#ifndef SLOTS_FAULT
#define SLOTS_FAULT NONE
#endif

#define SLOTS 4
#define BLOCK 512
#define MOST 256 /* bytes of a file */

struct slot {
  unsigned char used;
  char name[13];
  uint16_t length;
  uint64_t time;
  unsigned char data[MOST];
  unsigned char rest[BLOCK - 14 - 2 - 8 - MOST];
};
_Static_assert(sizeof(struct slot) == BLOCK, "a slot is a block");

struct fs {
  const sisyfs_disk *disk;
  unsigned char *scratch;
};

/* As a system call, because the library's clock is not the real one. */
static void sleep_if_slow(void) {
  const struct timespec time = {.tv_nsec = 5000000};
  if (SLOTS_FAULT == SLOW) syscall(SYS_nanosleep, &time, NULL);
}

static int load(const sisyfs_disk *disk, int number, struct slot *slot) {
  return disk->read(disk, (uint64_t)number, 1, slot);
}

static int store(const sisyfs_disk *disk, int number, struct slot *slot) {
  slot->time = SLOTS_FAULT == CLOCK ? (uint64_t)time(NULL) % 2 : disk->now;
  const int error = disk->write(disk, (uint64_t)number, 1, slot);
  return error != 0 ? error : disk->flush(disk);
}

/* The number of the slot, or a negative errno. */
static int find(const sisyfs_disk *disk, const char *path, struct slot *slot) {
  for (int i = 0; i < SLOTS; i++) {
    const int error = load(disk, i, slot);
    if (error != 0) return error;
    if (slot->used && strcmp(slot->name, path + 1) == 0) return i;
  }
  return -ENOENT;
}

static int slots_format(const sisyfs_disk *disk) {
  sleep_if_slow();
  struct slot empty = {0};
  if (SLOTS_FAULT == FORMAT_DIES) abort();
  for (int i = 0; i < SLOTS; i++) {
    const int error = store(disk, i, &empty);
    if (error != 0) return error;
  }
  return 0;
}

static int slots_mount(const sisyfs_disk *disk, void **out) {
  sleep_if_slow();
  struct fs *fs = malloc(sizeof *fs);
  if (fs == NULL && SLOTS_FAULT != NO_ENOMEM) return -ENOMEM;
  fs->disk = disk;
  fs->scratch = malloc(100);
  if (fs->scratch == NULL && SLOTS_FAULT != NO_ENOMEM) {
    free(fs);
    return -ENOMEM;
  }
  fs->scratch[0] = 0;
  *out = fs;
  return 0;
}

static int slots_unmount(void *self) {
  sleep_if_slow();
  struct fs *fs = self;
  const int error = fs->disk->flush(fs->disk);
  if (SLOTS_FAULT != LEAK) free(fs->scratch);
  free(fs);
  return error;
}

/* Each call of the row is a branch of its own. */
static void turn_lock(struct fs *fs, char call) {
  if (SLOTS_FAULT != LOCK) return;
  unsigned char *turned = fs->scratch;
  if (*turned == 0 && call == 'u') {
    *turned = 1;
  } else if (*turned == 1 && call == 'w') {
    *turned = 2;
  } else if (*turned == 2 && call == 'u') {
    *turned = 3;
  } else if (*turned == 3 && call == 'c') {
    abort();
  }
}

static int slots_create(void *self, const char *path) {
  sleep_if_slow();
  struct fs *fs = self;
  struct slot slot;
  int number = find(fs->disk, path, &slot);
  if (number != -ENOENT) return number >= 0 ? -EEXIST : number;
  if (strlen(path + 1) >= sizeof slot.name) return -ENAMETOOLONG;
  for (number = 0; number < SLOTS; number++) {
    const int error = load(fs->disk, number, &slot);
    if (error != 0) return error;
    if (slot.used) continue;
    memset(&slot, 0, sizeof slot);
    slot.used = 1;
    strcpy(slot.name, path + 1);
    turn_lock(fs, 'c');
    return store(fs->disk, number, &slot);
  }
  return -ENOSPC;
}

static void misuse_heap(struct fs *fs) {
  if (SLOTS_FAULT == USE_AFTER_FREE) {
    volatile unsigned char *memory = malloc(64);
    free((void *)memory);
    fs->scratch[0] = memory[8];
  }
  if (SLOTS_FAULT == DOUBLE_FREE) {
    unsigned char *volatile memory = malloc(64), *volatile again = memory;
    free(memory);
    free(again);
  }
  if (SLOTS_FAULT == OVERRUN) {
    volatile unsigned char *memory = malloc(61);
    memory[61] = 1;
    free((void *)memory);
  }
  if (SLOTS_FAULT == HOG) {
    for (volatile char *memory = malloc(1 << 20); memory != NULL; memory = malloc(1 << 20)) memory[0] = 1;
  }
}

static int slots_unlink(void *self, const char *path) {
  sleep_if_slow();
  struct fs *fs = self;
  struct slot slot;
  const int number = find(fs->disk, path, &slot);
  if (number < 0) return number;
  misuse_heap(fs);
  turn_lock(fs, 'u');
  memset(&slot, 0, sizeof slot);
  slot.time = fs->disk->now;
  if (SLOTS_FAULT == NO_FLUSH) return fs->disk->write(fs->disk, (uint64_t)number, 1, &slot);
  return store(fs->disk, number, &slot);
}

static int deeper(volatile int *level) {
  volatile char frame[256];
  frame[0] = (char)(*level)++;
  return frame[0] == 1 && *level == -1 ? 0 : deeper(level) + frame[0];
}

static void *nothing(void *argument) { return argument; }

static void go_wrong(struct fs *fs) {
  struct slot slot;
  volatile int level = 0;
  volatile int forever = 1;
  if (SLOTS_FAULT == SEGFAULT) *(volatile int *)8 = 1;
  if (SLOTS_FAULT == ABORT) abort();
  assert(SLOTS_FAULT != ASSERTION);
  if (SLOTS_FAULT == LOOP)
    while (forever) {
    }
  if (SLOTS_FAULT == DISK_LOOP)
    while (forever) (void)load(fs->disk, 0, &slot);
  if (SLOTS_FAULT == RECURSION) (void)deeper(&level);
  if (SLOTS_FAULT == EXIT) exit(0);
  if (SLOTS_FAULT == BEYOND) (void)fs->disk->write(fs->disk, fs->disk->block_count, 1, &slot);
  pthread_t thread;
  if (SLOTS_FAULT == THREAD) pthread_create(&thread, NULL, nothing, NULL);
  if (SLOTS_FAULT == FORK && fork() == 0) _exit(0);
  if (SLOTS_FAULT == RAW_FORK) syscall(SYS_fork);
  if (SLOTS_FAULT == SMASH) memset((void *)(uintptr_t)fs->disk, 0x55, 4096);
}

static int64_t slots_write(void *self, const char *path, uint64_t offset, const void *bytes,
                           uint32_t length) {
  sleep_if_slow();
  struct fs *fs = self;
  struct slot slot;
  const int number = find(fs->disk, path, &slot);
  if (number < 0) return number;
  if (offset > MOST || length > MOST - offset) return -EFBIG;
  if (offset != 0) {
    go_wrong(fs);
    turn_lock(fs, 'w');
  }
  memcpy(slot.data + offset, bytes, length);
  if (slot.length < offset + length) slot.length = (uint16_t)(offset + length);
  const int error = store(fs->disk, number, &slot);
  return error != 0 ? error : (int64_t)length;
}

static int64_t slots_read(void *self, const char *path, uint64_t offset, void *bytes, uint32_t length) {
  sleep_if_slow();
  struct fs *fs = self;
  struct slot slot;
  const int number = find(fs->disk, path, &slot);
  if (number < 0) return number;
  if (offset >= slot.length) return 0;
  if (length > slot.length - offset) length = (uint32_t)(slot.length - offset);
  memcpy(bytes, slot.data + offset, length);
  return length;
}

static int slots_readdir(void *self, const char *path, sisyfs_fill fill, void *list) {
  sleep_if_slow();
  struct fs *fs = self;
  struct slot slot;
  if (strcmp(path, "/") != 0) return -ENOTDIR;
  for (int i = 0; i < SLOTS; i++) {
    const int error = load(fs->disk, i, &slot);
    if (error != 0) return error;
    if (slot.used && fill(list, slot.name) != 0) break;
  }
  return 0;
}

static int slots_stat(void *self, const char *path, sisyfs_stat *out) {
  sleep_if_slow();
  struct fs *fs = self;
  struct slot slot;
  memset(out, 0, sizeof *out);
  out->type = SISYFS_DIRECTORY;
  if (strcmp(path, "/") == 0) return 0;
  const int number = find(fs->disk, path, &slot);
  if (number < 0) return number;
  out->type = SISYFS_FILE;
  out->size = slot.length;
  return 0;
}

static int slots_open(void *fs, const char *path, void **handle) {
  (void)fs, (void)path;
  *handle = NULL;
  return -ENOENT;
}
static int slots_chmod(void *fs, const char *path, uint32_t mode) {
  (void)fs, (void)path, (void)mode;
  return -ENOENT;
}

const sisyfs_plugin *sisyfs_plugin_entry(void) {
  enum {
    kSize = SLOTS_FAULT == OLD_MINOR   ? offsetof(sisyfs_plugin, write_sync)
            : SLOTS_FAULT == NEW_MINOR ? sizeof(sisyfs_plugin) + 64
                                       : sizeof(sisyfs_plugin),
    kMinor = SLOTS_FAULT == OLD_MINOR ? 0 : SISYFS_PLUGIN_MINOR + (SLOTS_FAULT == NEW_MINOR)
  };
  static const sisyfs_plugin plugin = {.size = kSize,
                                       .major = SISYFS_PLUGIN_MAJOR + (SLOTS_FAULT == WRONG_MAJOR),
                                       .minor = kMinor,
                                       .name = "slots",
                                       .summary = "one file in each block",
                                       .contract = SISYFS_ATOMIC,
                                       .promises = SISYFS_DURABLE_OPS | SISYFS_LIMITED_SPACE,
                                       .block_size = BLOCK,
                                       .block_count = SLOTS,
                                       .write_unit = 64,
                                       .max_file_size = MOST,
                                       .format = slots_format,
                                       .mount = slots_mount,
                                       .unmount = slots_unmount,
                                       .create = slots_create,
                                       /* Not in the table of an older one, though it lies behind it. */
                                       .write_sync = SLOTS_FAULT == OLD_MINOR ? slots_write : NULL,
                                       .unlink = slots_unlink,
                                       .write = slots_write,
                                       .read = SLOTS_FAULT == NO_READ ? NULL : slots_read,
                                       .readdir = slots_readdir,
                                       .stat = slots_stat,
                                       .open = SLOTS_FAULT == OPEN_ALONE ? slots_open : NULL,
                                       .chmod = SLOTS_FAULT == OPEN_ALONE ? slots_chmod : NULL};
  return &plugin;
}
