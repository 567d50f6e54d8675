/* plot: a small file system that gives each file a plot of its own, for tests of stale data.
 *
 * Block 0 is the table of files: name and size. The blocks of file i follow from i. Format writes the table
 * and nothing else, so a block holds whatever was on the disk until it is written. A write puts the data on
 * the disk, then the size. PLOT_FAULT, a number set when it is built, plants one fault.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sisyfs/plugin.h>

enum fault {
  NONE,
  SIZE_FIRST,     /* a write puts the size on the disk, then the data */
  DECLARED_STALE, /* no fault: so does it, and it promises no more than that */
};
#ifndef PLOT_FAULT
#define PLOT_FAULT NONE
#endif

#define FILES 4
#define FILE_BLOCKS 2
#define BLOCK 512

struct table {
  struct {
    char name[12]; /* empty: not used */
    uint32_t size;
  } files[FILES];
  unsigned char rest[BLOCK - FILES * 16];
};
_Static_assert(sizeof(struct table) == BLOCK, "the table is a block");

struct fs {
  const sisyfs_disk *disk;
  struct table table;
};

static uint64_t block_of(int file, uint64_t offset) {
  return 1 + (uint64_t)file * FILE_BLOCKS + offset / BLOCK;
}

static int put(const sisyfs_disk *disk, uint64_t block, const void *bytes) {
  const int error = disk->write(disk, block, 1, bytes);
  return error != 0 ? error : disk->flush(disk);
}

static int find(const struct fs *fs, const char *path) {
  for (int i = 0; i < FILES; i++)
    if (fs->table.files[i].name[0] != 0 && strcmp(fs->table.files[i].name, path + 1) == 0) return i;
  return -ENOENT;
}

static int plot_format(const sisyfs_disk *disk) {
  const struct table empty = {0};
  return put(disk, 0, &empty);
}

static int plot_mount(const sisyfs_disk *disk, void **out) {
  struct fs *fs = malloc(sizeof *fs);
  if (fs == NULL) return -ENOMEM;
  fs->disk = disk;
  const int error = disk->read(disk, 0, 1, &fs->table);
  if (error != 0) {
    free(fs);
    return error;
  }
  *out = fs;
  return 0;
}

static int plot_unmount(void *self) {
  free(self);
  return 0;
}

/* Changes the table on the disk, and in memory only if that works. */
static int put_file(struct fs *fs, int file, const char *name, uint64_t size) {
  struct table table = fs->table;
  memset(&table.files[file], 0, sizeof table.files[file]);
  strcpy(table.files[file].name, name);
  table.files[file].size = (uint32_t)size;
  const int error = put(fs->disk, 0, &table);
  if (error == 0) fs->table = table;
  return error;
}

static int plot_create(void *self, const char *path) {
  struct fs *fs = self;
  if (find(fs, path) >= 0) return -EEXIST;
  if (strlen(path + 1) >= sizeof fs->table.files[0].name) return -ENAMETOOLONG;
  for (int i = 0; i < FILES; i++)
    if (fs->table.files[i].name[0] == 0) return put_file(fs, i, path + 1, 0);
  return -ENOSPC;
}

static int plot_unlink(void *self, const char *path) {
  struct fs *fs = self;
  const int file = find(fs, path);
  return file < 0 ? file : put_file(fs, file, "", 0);
}

/* Whole blocks; those between the old end and the offset become zeros. */
static int put_data(struct fs *fs, int file, uint64_t offset, const unsigned char *bytes, uint32_t length) {
  static const unsigned char zeros[BLOCK];
  for (uint64_t at = fs->table.files[file].size; at < offset; at += BLOCK) {
    const int error = put(fs->disk, block_of(file, at), zeros);
    if (error != 0) return error;
  }
  for (uint32_t at = 0; at < length; at += BLOCK) {
    const int error = put(fs->disk, block_of(file, offset + at), bytes + at);
    if (error != 0) return error;
  }
  return 0;
}

static int64_t plot_write(void *self, const char *path, uint64_t offset, const void *bytes, uint32_t length) {
  struct fs *fs = self;
  const int file = find(fs, path);
  if (file < 0) return file;
  if (offset + length > FILE_BLOCKS * BLOCK) return -EFBIG;
  if (length != 0 && block_of(file, offset + length - 1) >= fs->disk->block_count) return -ENOSPC;
  struct table before = fs->table;
  const uint64_t end = offset + length, size = before.files[file].size;
  const int grows = end > size;
  int error = 0;
  if (grows && PLOT_FAULT != NONE) error = put_file(fs, file, path + 1, end);
  const struct table after = fs->table;
  fs->table = before;
  if (error == 0) error = put_data(fs, file, offset, bytes, length);
  fs->table = after;
  if (error == 0 && grows && PLOT_FAULT == NONE) error = put_file(fs, file, path + 1, end);
  return error != 0 ? error : (int64_t)length;
}

static int64_t plot_read(void *self, const char *path, uint64_t offset, void *bytes, uint32_t length) {
  struct fs *fs = self;
  const int file = find(fs, path);
  if (file < 0) return file;
  const uint64_t size = fs->table.files[file].size;
  uint32_t done = 0;
  for (; done < length && offset + done < size; done += BLOCK) {
    unsigned char *to = (unsigned char *)bytes + done;
    const int error = fs->disk->read(fs->disk, block_of(file, offset + done), 1, to);
    if (error != 0) return error;
  }
  return done;
}

static int plot_sync(void *self) {
  struct fs *fs = self;
  return fs->disk->flush(fs->disk);
}

static int plot_readdir(void *self, const char *path, sisyfs_fill fill, void *list) {
  struct fs *fs = self;
  if (strcmp(path, "/") != 0) return -ENOTDIR;
  for (int i = 0; i < FILES; i++)
    if (fs->table.files[i].name[0] != 0 && fill(list, fs->table.files[i].name) != 0) break;
  return 0;
}

static int plot_stat(void *self, const char *path, sisyfs_stat *out) {
  struct fs *fs = self;
  memset(out, 0, sizeof *out);
  out->type = SISYFS_DIRECTORY;
  if (strcmp(path, "/") == 0) return 0;
  const int file = find(fs, path);
  if (file < 0) return file;
  out->type = SISYFS_FILE;
  out->size = fs->table.files[file].size;
  return 0;
}

const sisyfs_plugin *sisyfs_plugin_entry(void) {
  static const sisyfs_plugin plugin = {
      SISYFS_PLUGIN_HEADER,
      .name = "plot",
      .summary = "each file has a plot of its own",
      .contract = SISYFS_ORDERED,
      .promises = SISYFS_LIMITED_SPACE | (PLOT_FAULT == DECLARED_STALE ? SISYFS_STALE_DATA : 0),
      .block_size = BLOCK,
      .block_count = 1 + FILES * FILE_BLOCKS,
      .write_unit = BLOCK,
      .max_file_size = FILE_BLOCKS * BLOCK,
      .max_depth = 1,
      .format = plot_format,
      .mount = plot_mount,
      .unmount = plot_unmount,
      .create = plot_create,
      .unlink = plot_unlink,
      .write = plot_write,
      .read = plot_read,
      .sync = plot_sync,
      .readdir = plot_readdir,
      .stat = plot_stat};
  return &plugin;
}
