#include "adapters/ext2/ext2_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const sisyfs_disk* g_disk;

void ext2_io_use(const sisyfs_disk* disk) { g_disk = disk; }

static const sisyfs_disk* disk_of(io_channel channel) { return channel->private_data; }

/* A range of bytes as libext2fs means it: `count` blocks of the channel, or as many bytes where it is
 * negative. 0, or an error where it leaves the disk, which a damaged pointer can make it do. */
struct range {
  uint64_t at;
  uint64_t size;
};

static errcode_t range_of(io_channel channel, unsigned long long block, int count, errcode_t outside,
                          struct range* out) {
  const sisyfs_disk* disk = disk_of(channel);
  const uint64_t end = disk->block_count * disk->block_size;
  out->size = count < 0 ? (uint64_t) - (int64_t)count : (uint64_t)count * (uint64_t)channel->block_size;
  if (block > end / (uint64_t)channel->block_size) return outside;
  out->at = block * (uint64_t)channel->block_size;
  return out->size > end - out->at ? outside : 0;
}

/* Blocks of the disk that a range begins or ends within. Only a superblock on a disk of larger blocks does.
 */
static int is_aligned(const sisyfs_disk* disk, struct range range) {
  return range.at % disk->block_size == 0 && range.size % disk->block_size == 0;
}

static int read_part(const sisyfs_disk* disk, struct range range, char* out) {
  char* block = malloc(disk->block_size);
  int error = block == NULL ? -ENOMEM : 0;
  while (error == 0 && range.size != 0) {
    const uint64_t skip = range.at % disk->block_size;
    const uint64_t left = disk->block_size - skip;
    const uint64_t size = range.size < left ? range.size : left;
    error = disk->read(disk, range.at / disk->block_size, 1, block);
    if (error == 0) memcpy(out, block + skip, size);
    range.at += size, range.size -= size, out += size;
  }
  free(block);
  return error;
}

static int write_part(const sisyfs_disk* disk, struct range range, const char* bytes) {
  char* block = malloc(disk->block_size);
  int error = block == NULL ? -ENOMEM : 0;
  while (error == 0 && range.size != 0) {
    const uint64_t skip = range.at % disk->block_size;
    const uint64_t left = disk->block_size - skip;
    const uint64_t size = range.size < left ? range.size : left;
    error = disk->read(disk, range.at / disk->block_size, 1, block);
    if (error != 0) break;
    memcpy(block + skip, bytes, size);
    error = disk->write(disk, range.at / disk->block_size, 1, block);
    range.at += size, range.size -= size, bytes += size;
  }
  free(block);
  return error;
}

static errcode_t io_read(io_channel channel, unsigned long long block, int count, void* bytes) {
  const sisyfs_disk* disk = disk_of(channel);
  struct range range;
  const errcode_t outside = range_of(channel, block, count, EXT2_ET_SHORT_READ, &range);
  if (outside) return outside;
  if (!is_aligned(disk, range)) return -read_part(disk, range, bytes);
  return -disk->read(disk, range.at / disk->block_size, (uint32_t)(range.size / disk->block_size), bytes);
}

static errcode_t io_write(io_channel channel, unsigned long long block, int count, const void* bytes) {
  const sisyfs_disk* disk = disk_of(channel);
  struct range range;
  const errcode_t outside = range_of(channel, block, count, EXT2_ET_SHORT_WRITE, &range);
  if (outside) return outside;
  if (!is_aligned(disk, range)) return -write_part(disk, range, bytes);
  return -disk->write(disk, range.at / disk->block_size, (uint32_t)(range.size / disk->block_size), bytes);
}

static errcode_t io_read32(io_channel channel, unsigned long block, int count, void* bytes) {
  return io_read(channel, block, count, bytes);
}

static errcode_t io_write32(io_channel channel, unsigned long block, int count, const void* bytes) {
  return io_write(channel, block, count, bytes);
}

static errcode_t io_flush(io_channel channel) {
  const sisyfs_disk* disk = disk_of(channel);
  return -disk->flush(disk);
}

static errcode_t io_set_block_size(io_channel channel, int size) {
  channel->block_size = size;
  return 0;
}

static errcode_t io_close(io_channel channel) {
  if (--channel->refcount > 0) return 0;
  free(channel->name);
  free(channel);
  return 0;
}

static errcode_t io_open(const char* name, int flags, io_channel* out) {
  (void)flags;
  io_channel channel = calloc(1, sizeof *channel);
  if (channel == NULL) return EXT2_ET_NO_MEMORY;
  channel->name = strdup(name);
  if (channel->name == NULL) {
    free(channel);
    return EXT2_ET_NO_MEMORY;
  }
  channel->magic = EXT2_ET_MAGIC_IO_CHANNEL;
  channel->manager = &ext2_io_manager;
  channel->block_size = EXT2_MIN_BLOCK_SIZE;
  channel->refcount = 1;
  channel->private_data = (void*)g_disk;
  *out = channel;
  return 0;
}

/* Without write_byte libext2fs writes the superblock as a whole, as it does on a device with larger sectors.
 */
struct struct_io_manager ext2_io_manager = {
    .magic = EXT2_ET_MAGIC_IO_MANAGER,
    .name = "disk of a plug-in",
    .open = io_open,
    .close = io_close,
    .set_blksize = io_set_block_size,
    .read_blk = io_read32,
    .write_blk = io_write32,
    .flush = io_flush,
    .read_blk64 = io_read,
    .write_blk64 = io_write,
};
