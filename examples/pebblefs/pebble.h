/* pebble.h: a small log-structured file system for raw NAND and NOR flash.
 *
 * You describe the flash by a struct with four functions, format it once and mount it:
 *
 *     static const struct pebble_flash flash = {.page_size = 256, .unit_pages = 16, .units = 64,
 *         .read = chip_read, .program = chip_program, .erase = chip_erase, .sync = chip_sync};
 *     struct pebble *fs;
 *     if (pebble_mount(&flash, &fs) != 0) { pebble_format(&flash); pebble_mount(&flash, &fs); }
 *     pebble_create(fs, "/boot.cfg");
 *     pebble_write(fs, "/boot.cfg", 0, "fast", 4);
 *     pebble_sync(fs);
 *
 * The promise: after a power cut the next mount finds a state that there was, whole, and not older than the
 * last pebble_sync or pebble_unmount that returned 0. Each call is done or not done, also a long write and a
 * rename that replaces a file. Nothing has to be repaired.
 *
 * There are no file handles: a call names its file. Paths are absolute, "/log/today"; the root is "/". All
 * functions return 0, or a count, or a negative errno, and then they have changed nothing. After -EIO from a
 * call that changes something only pebble_unmount is left to do. Memory is taken at mount and at no other
 * time; one caller at a time. README.md tells how it works.
 */
#ifndef PEBBLE_H
#define PEBBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEBBLE_NAME_MAX 23 /* bytes of a name; fewer on pages of less than 96 bytes */

/* The flash. A page is what is programmed at once and never again until its unit is erased, which makes all
 * bytes of its pages 0xFF. The functions return 0 or a negative errno; a page that cannot be read, because
 * the power went while it was programmed or erased, is an error of read. */
struct pebble_flash {
  uint32_t page_size;  /* bytes, 64 to 32768 */
  uint32_t unit_pages; /* pages of an erase unit, at least 2 */
  uint32_t units;      /* at least pebble_spare_units() and one more; at most 2 GiB in all */
  uint32_t reserved; /* 0: a gap here would hold what the stack held, and be copied into memory that lasts */
  void *context;     /* yours */
  int (*read)(const struct pebble_flash *flash, uint32_t page, void *bytes);
  int (*program)(const struct pebble_flash *flash, uint32_t page, const void *bytes);
  int (*erase)(const struct pebble_flash *flash, uint32_t unit);
  int (*sync)(const struct pebble_flash *flash); /* what was programmed is safe; null if that is always so */
};

struct pebble; /* a mounted file system */

struct pebble_stat {
  bool is_directory;
  uint32_t size; /* bytes of a file */
};

/* How many units of a flash serve as room to work in and hold no files. */
uint32_t pebble_spare_units(const struct pebble_flash *flash);

/* Erases everything and makes an empty file system. */
int pebble_format(const struct pebble_flash *flash);
/* The struct is copied. -EINVAL: no pebble file system, or an impossible shape. -EIO: a page is lost that had
 * been written whole. */
int pebble_mount(const struct pebble_flash *flash, struct pebble **fs);
/* Syncs and gives back all memory, also where it fails. */
int pebble_unmount(struct pebble *fs);
/* What was done until now outlives a power cut. */
int pebble_sync(struct pebble *fs);
/* The same, if there is such a file or directory. */
int pebble_fsync(struct pebble *fs, const char *path);

int pebble_create(struct pebble *fs, const char *path); /* an empty file */
int pebble_mkdir(struct pebble *fs, const char *path);
int pebble_unlink(struct pebble *fs, const char *path);
int pebble_rmdir(struct pebble *fs, const char *path);
/* Takes the place of a file or an empty directory that is there, as rename(2) does. */
int pebble_rename(struct pebble *fs, const char *from, const char *to);

/* Bytes written: all, or an error. What lies between the old end and `offset` reads as zeros. */
int64_t pebble_write(struct pebble *fs, const char *path, uint64_t offset, const void *bytes,
                     uint32_t length);
/* Bytes read: fewer only at the end of the file. */
int64_t pebble_read(struct pebble *fs, const char *path, uint64_t offset, void *bytes, uint32_t length);
int pebble_truncate(struct pebble *fs, const char *path, uint64_t size);

int pebble_stat(struct pebble *fs, const char *path, struct pebble_stat *out);
/* Calls `each` for every name; not 0: it has seen enough. */
int pebble_readdir(struct pebble *fs, const char *path, int (*each)(void *list, const char *name),
                   void *list);

/* Checks a flash that is not mounted and writes nothing. Calls `problem` for each thing that is wrong. */
int pebble_check(const struct pebble_flash *flash, void (*problem)(void *report, const char *text),
                 void *report);
/* What a page holds, in words, whatever state the flash is in. */
int pebble_describe(const struct pebble_flash *flash, uint32_t page, char *text, size_t size);

#endif
