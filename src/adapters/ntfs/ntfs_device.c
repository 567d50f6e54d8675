/* The disk, as a device of libntfs-3g.
 *
 * libntfs-3g has no cache of blocks: it leaves that to the kernel below it. So each of its writes becomes one
 * of the disk, at once. Those that begin or end within a block read it first.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <unistd.h>

#include "adapters/ntfs/ntfs_fs.h"

static const sisyfs_disk* disk_of(struct ntfs_device* device) { return device->d_private; }

static s64 size_of(const sisyfs_disk* disk) { return (s64)(disk->block_count * disk->block_size); }

static s64 fail(int error) {
  errno = error;
  return -1;
}

/* Whole blocks go as they are, the rest by way of one block. */
static int transfer(const sisyfs_disk* disk, char* bytes, uint64_t size, uint64_t at, int is_write) {
  const uint32_t each = disk->block_size;
  if (at % each == 0 && size % each == 0) {
    const uint32_t count = (uint32_t)(size / each);
    return is_write ? disk->write(disk, at / each, count, bytes) : disk->read(disk, at / each, count, bytes);
  }
  char* block = malloc(each);
  int error = block == NULL ? -ENOMEM : 0;
  while (error == 0 && size != 0) {
    const uint64_t skip = at % each, part = size < each - skip ? size : each - skip;
    error = disk->read(disk, at / each, 1, block);
    if (error == 0 && is_write) {
      memcpy(block + skip, bytes, part);
      error = disk->write(disk, at / each, 1, block);
    } else if (error == 0) {
      memcpy(bytes, block + skip, part);
    }
    at += part, bytes += part, size -= part;
  }
  free(block);
  return error;
}

static int device_open(struct ntfs_device* device, int flags) {
  if (NDevOpen(device)) return (int)fail(EBUSY);
  if ((flags & O_RDWR) != O_RDWR) NDevSetReadOnly(device);
  NDevSetOpen(device);
  return 0;
}

static int device_sync(struct ntfs_device* device) {
  if (NDevReadOnly(device) || !NDevDirty(device)) return 0;
  const int error = disk_of(device)->flush(disk_of(device));
  if (error) return (int)fail(-error);
  NDevClearDirty(device);
  return 0;
}

static int device_close(struct ntfs_device* device) {
  const int failed = device_sync(device);
  NDevClearOpen(device);
  return failed;
}

static s64 device_pread(struct ntfs_device* device, void* bytes, s64 count, s64 offset) {
  const sisyfs_disk* disk = disk_of(device);
  if (count < 0 || offset < 0) return fail(EINVAL);
  if (offset >= size_of(disk)) return 0;
  if (count > size_of(disk) - offset) count = size_of(disk) - offset;
  const int error = transfer(disk, bytes, (uint64_t)count, (uint64_t)offset, 0);
  return error ? fail(-error) : count;
}

static s64 device_pwrite(struct ntfs_device* device, const void* bytes, s64 count, s64 offset) {
  const sisyfs_disk* disk = disk_of(device);
  if (NDevReadOnly(device)) return fail(EROFS);
  if (count < 0 || offset < 0) return fail(EINVAL);
  if (offset > size_of(disk) || count > size_of(disk) - offset) return fail(ENOSPC);
  NDevSetDirty(device);
  const int error = transfer(disk, (char*)bytes, (uint64_t)count, (uint64_t)offset, 1);
  return error ? fail(-error) : count;
}

/* Never used by libntfs-3g itself, which says where it reads and writes. */
static s64 device_seek(struct ntfs_device* device, s64 offset, int whence) {
  if (whence == SEEK_END) return size_of(disk_of(device)) + offset;
  return whence == SEEK_SET ? offset : fail(ENOSYS);
}

static s64 device_read(struct ntfs_device* device, void* bytes, s64 count) {
  (void)device, (void)bytes, (void)count;
  return fail(ENOSYS);
}

static s64 device_write(struct ntfs_device* device, const void* bytes, s64 count) {
  (void)device, (void)bytes, (void)count;
  return fail(ENOSYS);
}

static int device_stat(struct ntfs_device* device, struct stat* out) {
  memset(out, 0, sizeof *out);
  out->st_mode = S_IFBLK | 0600;
  out->st_size = size_of(disk_of(device));
  return 0;
}

static int device_ioctl(struct ntfs_device* device, unsigned long request, void* out) {
  switch (request) {
    case BLKGETSIZE64:
      *(uint64_t*)out = (uint64_t)size_of(disk_of(device));
      return 0;
    case BLKSSZGET:
      *(int*)out = (int)disk_of(device)->block_size;
      return 0;
    default:
      return (int)fail(EOPNOTSUPP);
  }
}

struct ntfs_device_operations nt_device_operations = {
    .open = device_open,
    .close = device_close,
    .seek = device_seek,
    .read = device_read,
    .write = device_write,
    .pread = device_pread,
    .pwrite = device_pwrite,
    .sync = device_sync,
    .stat = device_stat,
    .ioctl = device_ioctl,
};
