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

static const char* kind_of(unsigned mode) {
  if (LINUX_S_ISDIR(mode)) return "directory";
  return LINUX_S_ISLNK(mode) ? "symbolic link" : "data";
}

/* If an inode has the block, as far as the inode itself says so. */
static int name_by_owner(const sisyfs_disk* disk, const struct layout* l, uint64_t table, uint32_t first,
                         uint64_t number, char* text, uint32_t size) {
  for (uint32_t i = 0; i < l->inodes_per_group; ++i) {
    struct ext2_inode inode;
    const int error =
        read_bytes(disk, table * l->block_size + (uint64_t)i * l->inode_size, &inode, sizeof inode);
    if (error) return error;
    if (inode.i_links_count == 0) continue;
    if (le32toh(inode.i_file_acl) == number) {
      snprintf(text, size, "attributes of inode %u", first + i);
      return 0;
    }
    if (LINUX_S_ISLNK(le16toh(inode.i_mode)) && inode.i_blocks == 0) continue;
    for (int k = 0; k < EXT2_N_BLOCKS; ++k) {
      if (le32toh(inode.i_block[k]) != number) continue;
      const char* kind = k < EXT2_NDIR_BLOCKS ? kind_of(le16toh(inode.i_mode)) : "pointers";
      snprintf(text, size, "%s of inode %u", kind, first + i);
      return 0;
    }
  }
  return -ENOENT;
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
    const uint32_t first = group * l->inodes_per_group + 1;
    if (number == le32toh(desc.bg_block_bitmap)) {
      snprintf(text, size, "block bitmap of group %u", group);
    } else if (number == le32toh(desc.bg_inode_bitmap)) {
      snprintf(text, size, "inode bitmap of group %u", group);
    } else if (number >= table && number < table + l->table_blocks) {
      const uint32_t each = l->block_size / l->inode_size;
      const uint32_t from = first + (uint32_t)(number - table) * each;
      snprintf(text, size, "inodes %u to %u", from, from + each - 1);
    } else if (name_by_owner(disk, l, table, first, number, text, size) != 0) {
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
