/* pager: one file with a name and nothing in it, on raw flash, for tests of pages that cannot be corrected.
 *
 * Each call programs one page: a record with a higher number, and the name or none. There are two erase
 * units. When one is full, the other one is erased and used. mount reads all pages and takes the highest
 * record.
 * PAGER_FAULT, a number set when it is built, plants one fault.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sisyfs/plugin.h>

enum fault {
  NONE,
  SKIPS_ALL, /* mount passes over a page that cannot be read for whatever reason */
  OLD,       /* no fault: of version 1.2, for which both reasons were -EIO, and it takes both for a failure */
};
#ifndef PAGER_FAULT
#define PAGER_FAULT NONE
#endif

enum { kUnits = 2, kPages = 3, kBytes = 32 };

struct record {
  uint32_t sum, number;
  char name[kBytes - 8]; /* empty: there is no file */
};
_Static_assert(sizeof(struct record) == kBytes, "a page");

struct pager {
  const sisyfs_disk *disk;
  struct record now;
  uint32_t next; /* page; at the end of a unit: the other one is erased first */
};

static uint32_t sum_of(const struct record *record) {
  const unsigned char *bytes = (const unsigned char *)&record->number;
  uint32_t sum = 1;
  for (size_t i = 0; i < kBytes - 4; i++) sum = sum * 31 + bytes[i];
  return sum;
}

static int is_erased(const struct record *record) {
  const unsigned char *bytes = (const unsigned char *)record;
  for (size_t i = 0; i < kBytes; i++)
    if (bytes[i] != 0xFF) return 0;
  return 1;
}

static int put(struct pager *fs, const char *name) {
  struct record record = {.number = fs->now.number + 1};
  uint32_t page = fs->next;
  strcpy(record.name, name);
  record.sum = sum_of(&record);
  if (page % kPages == 0) {
    page %= kUnits * kPages;
    const int error = fs->disk->erase(fs->disk, page, kPages);
    if (error != 0) return error;
  }
  const int error = fs->disk->write(fs->disk, page, 1, &record);
  if (error != 0) return error;
  fs->now = record;
  fs->next = page + 1;
  return 0;
}

static int pager_format(const sisyfs_disk *disk) {
  struct pager fs = {.disk = disk};
  const int error = disk->erase(disk, 0, (uint64_t)kUnits * kPages);
  return error != 0 ? error : put(&fs, "");
}

/* 0 and a record, or one of number 0 if there is none; or a negative errno. */
static int get(const sisyfs_disk *disk, uint32_t page, struct record *record, int *erased) {
  const int error = disk->read(disk, page, 1, record);
  *erased = error == 0 && is_erased(record);
  if (error == 0 && record->sum == sum_of(record)) return 0;
  memset(record, 0, sizeof *record);
  return error == 0 || error == -SISYFS_EECC || PAGER_FAULT == SKIPS_ALL ? 0 : error;
}

static int pager_mount(const sisyfs_disk *disk, void **out) {
  struct pager found = {.disk = disk};
  int erased[kUnits * kPages];
  uint32_t newest = 0;
  for (uint32_t page = 0; page < kUnits * kPages; page++) {
    struct record record;
    const int error = get(disk, page, &record, &erased[page]);
    if (error != 0) return error;
    if (record.number <= found.now.number) continue;
    found.now = record;
    newest = page;
  }
  if (found.now.number == 0) return -EINVAL;
  for (found.next = newest + 1; found.next % kPages != 0 && !erased[found.next]; found.next++) continue;
  struct pager *fs = malloc(sizeof *fs);
  if (fs == NULL) return -ENOMEM;
  *fs = found;
  *out = fs;
  return 0;
}

static int pager_unmount(void *fs) {
  free(fs);
  return 0;
}

static int is_there(const struct pager *fs, const char *path) {
  return fs->now.name[0] != 0 && strcmp(fs->now.name, path + 1) == 0;
}

static int pager_create(void *self, const char *path) {
  struct pager *fs = self;
  if (is_there(fs, path) || path[1] == 0) return -EEXIST;
  if (fs->now.name[0] != 0) return -ENOSPC;
  return strlen(path + 1) >= sizeof fs->now.name ? -ENAMETOOLONG : put(fs, path + 1);
}

static int pager_unlink(void *self, const char *path) {
  if (path[1] == 0) return -EISDIR;
  return is_there(self, path) ? put(self, "") : -ENOENT;
}

static int pager_readdir(void *self, const char *path, sisyfs_fill fill, void *list) {
  const struct pager *fs = self;
  if (path[1] != 0) return is_there(fs, path) ? -ENOTDIR : -ENOENT;
  if (fs->now.name[0] != 0) (void)fill(list, fs->now.name);
  return 0;
}

static int pager_stat(void *self, const char *path, sisyfs_stat *out) {
  memset(out, 0, sizeof *out);
  out->type = path[1] == 0 ? SISYFS_DIRECTORY : SISYFS_FILE;
  return path[1] == 0 || is_there(self, path) ? 0 : -ENOENT;
}

const sisyfs_plugin *sisyfs_plugin_entry(void) {
  static const sisyfs_plugin plugin = {.size = sizeof(sisyfs_plugin),
                                       .major = SISYFS_PLUGIN_MAJOR,
                                       .minor = PAGER_FAULT == OLD ? 2 : SISYFS_PLUGIN_MINOR,
                                       .name = "pager",
                                       .summary = "one file on raw flash",
                                       .contract = SISYFS_ATOMIC,
                                       .promises = SISYFS_DURABLE_OPS | SISYFS_MOUNT_RECOVERS |
                                                   SISYFS_LIMITED_SPACE,
                                       .block_size = kBytes,
                                       .block_count = kUnits * kPages,
                                       .erase_blocks = kPages,
                                       .max_depth = 1,
                                       .max_files = 1,
                                       .format = pager_format,
                                       .mount = pager_mount,
                                       .unmount = pager_unmount,
                                       .create = pager_create,
                                       .unlink = pager_unlink,
                                       .readdir = pager_readdir,
                                       .stat = pager_stat};
  return &plugin;
}
