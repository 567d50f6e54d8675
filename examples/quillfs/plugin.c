/* Quill as a plug-in of Sisyfs: its calls become the table. */
#include "quill.h"

static int mount(const sisyfs_disk *disk, void **fs) {
  struct quill *mounted = NULL;
  const int error = quill_mount(disk, &mounted);
  *fs = mounted;
  return error;
}
static int unmount(void *fs) { return quill_unmount(fs); }
static int create_file(void *fs, const char *path) { return quill_create(fs, path, SISYFS_FILE, NULL); }
static int make_dir(void *fs, const char *path) { return quill_create(fs, path, SISYFS_DIRECTORY, NULL); }
static int unlink_file(void *fs, const char *path) { return quill_remove(fs, path, 0); }
static int remove_dir(void *fs, const char *path) { return quill_remove(fs, path, 1); }
static int rename_node(void *fs, const char *from, const char *to) { return quill_rename(fs, from, to); }
static int link_file(void *fs, const char *from, const char *to) { return quill_link(fs, from, to); }
static int make_link(void *fs, const char *content, const char *path) {
  return quill_create(fs, path, SISYFS_SYMLINK, content);
}
static int64_t write_file(void *fs, const char *path, uint64_t offset, const void *bytes, uint32_t length) {
  return quill_write(fs, path, offset, bytes, length, 0);
}
static int64_t write_wait(void *fs, const char *path, uint64_t offset, const void *bytes, uint32_t length) {
  return quill_write(fs, path, offset, bytes, length, 1);
}
static int64_t read_file(void *fs, const char *path, uint64_t offset, void *bytes, uint32_t length) {
  return quill_read(fs, path, offset, bytes, length);
}
static int truncate_file(void *fs, const char *path, uint64_t size) { return quill_truncate(fs, path, size); }
static int fsync_node(void *fs, const char *path) { return quill_fsync(fs, path, 0); }
static int fdatasync_node(void *fs, const char *path) { return quill_fsync(fs, path, 1); }
static int sync_all(void *fs) { return quill_sync(fs); }
static int list(void *fs, const char *path, sisyfs_fill fill, void *to) {
  return quill_readdir(fs, path, fill, to);
}
static int stat_node(void *fs, const char *path, sisyfs_stat *out) { return quill_stat(fs, path, out); }
static int64_t read_link(void *fs, const char *path, char *content, uint32_t size) {
  return quill_readlink(fs, path, content, size);
}

static uint32_t inode_of(const void *handle) { return (uint32_t)(uintptr_t)handle; }
static int open_file(void *fs, const char *path, void **handle) {
  uint32_t inode = 0;
  const int error = quill_open_file(fs, path, &inode);
  *handle = (void *)(uintptr_t)inode;
  return error;
}
static int close_file(void *fs, void *handle) { return quill_close_file(fs, inode_of(handle)); }
static int64_t write_open(void *fs, void *handle, uint64_t offset, const void *bytes, uint32_t length) {
  return quill_write_open(fs, inode_of(handle), offset, bytes, length);
}
static int64_t read_open(void *fs, void *handle, uint64_t offset, void *bytes, uint32_t length) {
  return quill_read_open(fs, inode_of(handle), offset, bytes, length);
}
static int truncate_open(void *fs, void *handle, uint64_t size) {
  return quill_truncate_open(fs, inode_of(handle), size);
}
static int fsync_open(void *fs, void *handle) { return quill_fsync_open(fs, inode_of(handle), 0); }
static int fdatasync_open(void *fs, void *handle) { return quill_fsync_open(fs, inode_of(handle), 1); }
static int stat_open(void *fs, void *handle, sisyfs_stat *out) {
  return quill_stat_open(fs, inode_of(handle), out);
}
static int chmod_node(void *fs, const char *path, uint32_t mode) { return quill_chmod(fs, path, mode); }
static int mode_node(void *fs, const char *path, uint32_t *mode) { return quill_mode(fs, path, mode); }

/* clang-format off */
const sisyfs_plugin *sisyfs_plugin_entry(void) {
  static const sisyfs_plugin plugin = {
      SISYFS_PLUGIN_HEADER, .name = "quillfs", .summary = "a file system with a redo journal",
      .contract = quill_ordered ? SISYFS_FSYNC : SISYFS_ATOMIC,
      .promises = SISYFS_MOUNT_RECOVERS | SISYFS_LIMITED_SPACE |
                  (quill_ordered ? SISYFS_FSYNC_NAMES : SISYFS_FSYNC_ALL),
      .block_size = 512, .block_count = 28, .max_name = QUILL_NAME_MAX,
      .format = quill_format, .mount = mount, .unmount = unmount, .create = create_file, .mkdir = make_dir,
      .unlink = unlink_file, .rmdir = remove_dir, .rename = rename_node, .link = link_file,
      .symlink = make_link, .write = write_file, .read = read_file, .truncate = truncate_file,
      .fsync = fsync_node, .fdatasync = fdatasync_node, .sync = sync_all, .readdir = list,
      .stat = stat_node, .readlink = read_link, .fsck = quill_check, .name_block = quill_name_block,
      .write_sync = write_wait, .open = open_file, .close = close_file, .write_handle = write_open,
      .read_handle = read_open, .truncate_handle = truncate_open, .fsync_handle = fsync_open,
      .fdatasync_handle = fdatasync_open, .stat_handle = stat_open, .chmod = chmod_node, .mode = mode_node};
  return &plugin;
}
