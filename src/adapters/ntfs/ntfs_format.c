/* The life of a volume: made, mounted, unmounted.
 *
 * mkntfs is a program, so it runs on a file in memory, which then goes to the disk. With -T its times are
 * zero, and so is what it draws the serial number from.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "adapters/ntfs/ntfs_fs.h"
#include "adapters/repair/repair_tool.h"

enum { kDeadlineMs = 3000 };

static int make_volume(struct repair_image* image) {
  char size[16];
  snprintf(size, sizeof size, "%u", image->disk->block_size);
  const char* const arguments[] = {"mkntfs", "-q", "-F", "-Q", "-T", "-s", size, "-c",
                                   size,     "-p", "0",  "-H", "0",  "-S", "0",  REPAIR_IMAGE_PATH,
                                   NULL};
  const char* const environment[] = {"LC_ALL=C", NULL};
  struct repair_run run;
  const int error = repair_tool_run(image, REPAIR_REPLACES, arguments, environment, kDeadlineMs, &run);
  if (error) return error;
  const int done = !run.killed && WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
  repair_run_free(&run);
  return done ? 0 : -EINVAL;
}

/* Makes room for this many files. */
enum { kWarmFiles = 16 };

static int for_each_file(struct mount* m, int (*call)(void* fs, const char* path)) {
  int error = 0;
  for (int i = 0; error == 0 && i < kWarmFiles; ++i) {
    char path[16];
    snprintf(path, sizeof path, "/warm%d", i);
    error = call(m, path);
  }
  return error;
}

static int warm_up(const sisyfs_disk* disk) {
  void* fs;
  int error = nt_mount(disk, &fs);
  if (error) return error;
  error = for_each_file(fs, nt_create);
  if (error == 0) error = for_each_file(fs, nt_unlink);
  const int unmounted = nt_unmount(fs);
  return error ? error : unmounted;
}

int nt_format(const sisyfs_disk* disk) {
  struct repair_image image;
  int error = repair_image_make(disk, &image);
  if (error) return error;
  image.last_count = 1;
  error = make_volume(&image);
  repair_image_close(&image);
  return error ? error : warm_up(disk);
}

int nt_mount(const sisyfs_disk* disk, void** out) {
  nt_set_clock(disk->now);
  struct mount* m = calloc(1, sizeof *m);
  if (m == NULL) return -ENOMEM;
  struct ntfs_device* device = ntfs_device_alloc("disk", 0, &nt_device_operations, (void*)disk);
  if (device != NULL) {
    m->volume = ntfs_device_mount(device, NTFS_MNT_RECOVER);
    if (m->volume == NULL) ntfs_device_free(device);
  }
  /* What is free is counted once, and kept up to date from then on. */
  if (m->volume != NULL && ntfs_volume_get_free_space(m->volume) != 0) {
    const int error = nt_errno();
    ntfs_umount(m->volume, FALSE);
    free(m);
    return error;
  }
  if (m->volume == NULL) {
    const int error = nt_errno();
    free(m);
    return error;
  }
  *out = m;
  return 0;
}

int nt_unmount(void* fs) {
  struct mount* m = fs;
  const int error = ntfs_umount(m->volume, FALSE) != 0 ? nt_errno() : 0;
  free(m);
  return error;
}

int nt_sync(void* fs) {
  const struct mount* m = fs;
  return ntfs_device_sync(m->volume->dev) != 0 ? nt_errno() : 0;
}
