/* myfs: a plug-in for Sisyfs, ready to be filled in.
 *
 *     make && sisyfs check ./libmyfs.so
 *
 * As it stands, it formats, mounts and shows an empty root directory. Write the calls that your file system
 * has and put them into the table at the end of this file. Sisyfs calls only what is in the table.
 * sisyfs/plugin.h says what each call has to do. Most calls are one line if your code already has a function
 * for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sisyfs/plugin.h>

struct myfs {
  const sisyfs_disk *disk;
  unsigned char *block; /* of disk->block_size bytes */
};

static const char magic[] = "myfs 1";

static int myfs_format(const sisyfs_disk *disk) {
  unsigned char *block = calloc(1, disk->block_size);
  if (block == NULL) return -ENOMEM;
  memcpy(block, magic, sizeof magic);
  int error = disk->write(disk, 0, 1, block);
  if (error == 0) error = disk->flush(disk);
  free(block);
  return error;
}

static int myfs_unmount(void *fs) {
  struct myfs *self = fs;
  const int error = self->disk->flush(self->disk);
  free(self->block);
  free(self);
  return error;
}

static int myfs_mount(const sisyfs_disk *disk, void **fs) {
  struct myfs *self = calloc(1, sizeof *self);
  if (self == NULL) return -ENOMEM;
  self->disk = disk;
  self->block = malloc(disk->block_size);
  int error = self->block == NULL ? -ENOMEM : disk->read(disk, 0, 1, self->block);
  if (error == 0 && memcmp(self->block, magic, sizeof magic) != 0) error = -EINVAL;
  if (error != 0) {
    free(self->block);
    free(self);
    return error;
  }
  *fs = self;
  return 0;
}

static int myfs_readdir(void *fs, const char *path, sisyfs_fill fill, void *list) {
  (void)fs, (void)fill, (void)list; /* fill(list, "name") for each name in the directory */
  return strcmp(path, "/") == 0 ? 0 : -ENOENT;
}

static int myfs_stat(void *fs, const char *path, sisyfs_stat *out) {
  (void)fs;
  if (strcmp(path, "/") != 0) return -ENOENT;
  memset(out, 0, sizeof *out);
  out->type = SISYFS_DIRECTORY;
  return 0;
}

const sisyfs_plugin *sisyfs_plugin_entry(void) {
  static const sisyfs_plugin plugin = {
      SISYFS_PLUGIN_HEADER,
      .name = "myfs",
      .summary = "one line about it",
      .contract = SISYFS_FSYNC, /* what it claims to keep over a power cut */
      .promises = SISYFS_LIMITED_SPACE,
      .block_size = 512,
      .block_count = 256,
      .format = myfs_format,
      .mount = myfs_mount,
      .unmount = myfs_unmount,
      .readdir = myfs_readdir,
      .stat = myfs_stat,
      /* .create = myfs_create, .mkdir, .unlink, .rmdir, .rename, .write, .read, .truncate, .fsync, ... */
  };
  return &plugin;
}
