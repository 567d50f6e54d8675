/* Pebble as a plug-in of Sisyfs: the disk becomes its flash, and its calls become the table. */
#include <errno.h>
#include <sisyfs/plugin.h>

#include "pebble.h"

static const sisyfs_disk *disk_of(const struct pebble_flash *flash) { return flash->context; }
static int disk_read(const struct pebble_flash *flash, uint32_t page, void *bytes) {
  return disk_of(flash)->read(disk_of(flash), page, 1, bytes);
}
static int disk_program(const struct pebble_flash *flash, uint32_t page, const void *bytes) {
  return disk_of(flash)->write(disk_of(flash), page, 1, bytes);
}
static int disk_erase(const struct pebble_flash *flash, uint32_t unit) {
  return disk_of(flash)->erase(disk_of(flash), (uint64_t)unit * flash->unit_pages, flash->unit_pages);
}
static int disk_sync(const struct pebble_flash *flash) { return disk_of(flash)->flush(disk_of(flash)); }
static struct pebble_flash flash_of(const sisyfs_disk *disk) {
  const uint32_t pages = disk->erase_blocks, units = pages == 0 ? 0 : (uint32_t)(disk->block_count / pages);
  return (struct pebble_flash){disk->block_size, pages,        units,      0,        (void *)disk,
                               disk_read,        disk_program, disk_erase, disk_sync};
}

static int mount(const sisyfs_disk *disk, void **fs) {
  const struct pebble_flash flash = flash_of(disk);
  struct pebble *mounted = NULL;
  const int error = pebble_mount(&flash, &mounted);
  *fs = mounted;
  return error;
}

/* The search begins on a flash that has been in use for a while: the units are nearly used up and the page
 * numbers about to wrap, so that cleaning and wrapping are a few calls away. */
static int format(const sisyfs_disk *disk) {
  const struct pebble_flash flash = flash_of(disk);
  struct pebble *fs;
  int error = pebble_format(&flash);
  if (error != 0 || (error = pebble_mount(&flash, &fs)) != 0) return error;
  for (int i = 0; i < 24 && error == 0; i++) {
    error = i % 2 == 0 ? pebble_create(fs, "/old") : pebble_unlink(fs, "/old");
    if (error == 0 && i > 0) error = pebble_sync(fs); /* 23 pages, and one of the format */
  }
  return pebble_unmount(fs) != 0 ? -EIO : error;
}
static int unmount(void *fs) { return pebble_unmount(fs); }
static int create(void *fs, const char *path) { return pebble_create(fs, path); }
static int make_dir(void *fs, const char *path) { return pebble_mkdir(fs, path); }
static int unlink_file(void *fs, const char *path) { return pebble_unlink(fs, path); }
static int remove_dir(void *fs, const char *path) { return pebble_rmdir(fs, path); }
static int rename_node(void *fs, const char *from, const char *to) { return pebble_rename(fs, from, to); }
static int fsync_node(void *fs, const char *path) { return pebble_fsync(fs, path); }
static int sync_all(void *fs) { return pebble_sync(fs); }
static int list(void *fs, const char *dir, sisyfs_fill f, void *to) { return pebble_readdir(fs, dir, f, to); }
static int64_t write_file(void *fs, const char *path, uint64_t offset, const void *bytes, uint32_t length) {
  return pebble_write(fs, path, offset, bytes, length);
}
static int64_t read_file(void *fs, const char *path, uint64_t offset, void *bytes, uint32_t length) {
  return pebble_read(fs, path, offset, bytes, length);
}
static int truncate_file(void *fs, const char *path, uint64_t size) {
  return pebble_truncate(fs, path, size);
}
static int stat_node(void *fs, const char *path, sisyfs_stat *out) {
  struct pebble_stat stat = {0};
  const int error = pebble_stat(fs, path, &stat);
  *out = (sisyfs_stat){.type = stat.is_directory ? SISYFS_DIRECTORY : SISYFS_FILE, .size = stat.size};
  return error;
}
struct problems {
  sisyfs_problem tell;
  void *report;
};
static void on_problem(void *problems, const char *text) {
  ((struct problems *)problems)->tell(((struct problems *)problems)->report, 0, 1, text);
}
static int check(const sisyfs_disk *disk, int repair, sisyfs_problem problem, void *report) {
  (void)repair; /* There is nothing to repair: mount passes over what a power cut has left. */
  const struct pebble_flash flash = flash_of(disk);
  return pebble_check(&flash, on_problem, &(struct problems){problem, report});
}
static int name_page(const sisyfs_disk *disk, uint64_t page, char *text, uint32_t size) {
  const struct pebble_flash flash = flash_of(disk);
  return pebble_describe(&flash, (uint32_t)page, text, size);
}

/* clang-format off */
const sisyfs_plugin *sisyfs_plugin_entry(void) {
  static const sisyfs_plugin plugin = {
      SISYFS_PLUGIN_HEADER, .contract = SISYFS_ATOMIC,
      .promises = SISYFS_FSYNC_ALL | SISYFS_MOUNT_RECOVERS | SISYFS_LIMITED_SPACE | SISYFS_RETRIES_SYNC,
      .name = "pebblefs", .max_name = PEBBLE_NAME_MAX,
      .summary = "a log-structured file system for raw flash",
      .block_size = 128, .erase_blocks = 4, .block_count = 32, .write_unit = 24, /* a chunk has 32 bytes */
      .format = format, .mount = mount, .unmount = unmount, .create = create, .mkdir = make_dir,
      .unlink = unlink_file, .rmdir = remove_dir, .rename = rename_node, .write = write_file,
      .read = read_file, .truncate = truncate_file, .fsync = fsync_node, .sync = sync_all,
      .readdir = list, .stat = stat_node, .fsck = check, .name_block = name_page};
  return &plugin;
}
