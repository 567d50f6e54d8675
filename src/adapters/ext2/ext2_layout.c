/* What a block is, read from the disk without libext2fs: it may hold anything. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/ext2/ext2_fs.h"

struct layout {
  uint32_t block_size, first, blocks_per_group, blocks, groups;
  uint32_t inode_size, inodes_per_group, table_blocks;
};

static int read_bytes(const sisyfs_disk* disk, uint64_t at, void* out, size_t size) {
  char* block = malloc(disk->block_size);
  int error = block == NULL ? -ENOMEM : 0;
  for (char* to = out; error == 0 && size != 0;) {
    const uint64_t skip = at % disk->block_size;
    const size_t count = size < disk->block_size - skip ? size : disk->block_size - skip;
    error = disk->read(disk, at / disk->block_size, 1, block);
    if (error == 0) memcpy(to, block + skip, count);
    at += count, to += count, size -= count;
  }
  free(block);
  return error;
}

static int read_layout(const sisyfs_disk* disk, struct layout* out) {
  struct ext2_super_block super;
  const int error = read_bytes(disk, SUPERBLOCK_OFFSET, &super, sizeof super);
  if (error) return error;
  if (le16toh(super.s_magic) != EXT2_SUPER_MAGIC || le32toh(super.s_log_block_size) > 6) return -EUCLEAN;
  out->block_size = EXT2_MIN_BLOCK_SIZE << le32toh(super.s_log_block_size);
  out->first = le32toh(super.s_first_data_block);
  out->blocks_per_group = le32toh(super.s_blocks_per_group);
  out->blocks = le32toh(super.s_blocks_count);
  out->inode_size = le16toh(super.s_inode_size);
  out->inodes_per_group = le32toh(super.s_inodes_per_group);
  if (out->blocks_per_group == 0 || out->blocks <= out->first || out->inode_size == 0) return -EUCLEAN;
  out->groups = (out->blocks - out->first + out->blocks_per_group - 1) / out->blocks_per_group;
  out->table_blocks = (uint32_t)((uint64_t)out->inodes_per_group * out->inode_size / out->block_size);
  return 0;
}

/* Of `number`, in blocks of the file system. */
static int name_of(const sisyfs_disk* disk, const struct layout* l, uint64_t number, char* text,
                   uint32_t size) {
  for (uint32_t group = 0; group < l->groups; ++group) {
    struct ext2_group_desc desc;
    const uint64_t at = (uint64_t)(l->first + 1) * l->block_size + group * sizeof desc;
    const int error = read_bytes(disk, at, &desc, sizeof desc);
    if (error) return error;
    const uint64_t table = le32toh(desc.bg_inode_table);
    if (number == le32toh(desc.bg_block_bitmap)) {
      snprintf(text, size, "block bitmap of group %u", group);
    } else if (number == le32toh(desc.bg_inode_bitmap)) {
      snprintf(text, size, "inode bitmap of group %u", group);
    } else if (number >= table && number < table + l->table_blocks) {
      const uint32_t each = l->block_size / l->inode_size;
      const uint32_t from = group * l->inodes_per_group + (uint32_t)(number - table) * each + 1;
      snprintf(text, size, "inodes %u to %u", from, from + each - 1);
    } else {
      continue;
    }
    return 0;
  }
  return -ENOENT;
}

int ext2_name_block(const sisyfs_disk* disk, uint64_t block, char* text, uint32_t size) {
  struct layout l;
  const int error = read_layout(disk, &l);
  if (error) return error;
  const uint64_t number = block * disk->block_size / l.block_size;
  const uint64_t groups_end =
      l.first + 1 + ((uint64_t)l.groups * sizeof(struct ext2_group_desc) + l.block_size - 1) / l.block_size;
  if (number < l.first) {
    snprintf(text, size, "boot block");
  } else if (number == l.first) {
    snprintf(text, size, "superblock");
  } else if (number < groups_end) {
    snprintf(text, size, "group descriptors");
  } else {
    return name_of(disk, &l, number, text, size);
  }
  return 0;
}
