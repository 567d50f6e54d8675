#include "adapters/ext2/ext2_reads.h"

#include <endian.h>
#include <errno.h>
#include <ext2fs/ext2fs.h>
#include <string.h>
#include <sys/mman.h>

/* Returned by what finds something strange. No errno. */
enum { kStrange = 1 };

struct reader {
  const sisyfs_disk* disk;
  struct repair_image* image;
  uint32_t block_size, blocks, first;
  unsigned char* owned; /* by block: something has it */
};

static unsigned char* bytes_of(const struct reader* r, uint32_t block) {
  return r->image->given + (uint64_t)block * r->block_size;
}

/* One or more blocks of the file system. */
static int read_blocks(struct reader* r, uint32_t block, uint32_t count) {
  const uint64_t each = r->block_size / r->image->block_size;
  return repair_image_read(r->disk, r->image, block * each, count * each);
}

/* Something has this block. It is the only one, and the block is one that can be had. */
static int own(struct reader* r, uint32_t block, uint32_t count) {
  if (block <= r->first || block >= r->blocks || count > r->blocks - block) return kStrange;
  for (uint32_t i = block; i < block + count; ++i) {
    if (r->owned[i]) return kStrange;
    r->owned[i] = 1;
  }
  return 0;
}

static int own_and_read(struct reader* r, uint32_t block, uint32_t count) {
  const int error = own(r, block, count);
  return error ? error : read_blocks(r, block, count);
}

/* A pointer of a file: to data at depth 0, else to a block of pointers. */
static int follow(struct reader* r, uint32_t block, int depth, int with_data) {
  if (block == 0) return 0;
  if (depth == 0) return with_data ? own_and_read(r, block, 1) : own(r, block, 1);
  int error = own_and_read(r, block, 1);
  for (uint32_t i = 0; error == 0 && i < r->block_size / 4; ++i) {
    uint32_t pointer;
    memcpy(&pointer, bytes_of(r, block) + i * 4, sizeof pointer);
    error = follow(r, le32toh(pointer), depth - 1, with_data);
  }
  return error;
}

static int read_inode(struct reader* r, const struct ext2_inode* inode) {
  static const struct ext2_inode kNone;
  if (memcmp(inode, &kNone, sizeof kNone) == 0) return 0;
  const unsigned mode = le16toh(inode->i_mode);
  if (inode->i_flags != 0) return kStrange;
  const int is_file = LINUX_S_ISREG(mode), is_link = LINUX_S_ISLNK(mode);
  if (!is_file && !is_link && !LINUX_S_ISDIR(mode)) return kStrange;
  /* What is deleted has given its blocks back, and e2fsck passes it over. */
  if (inode->i_links_count == 0) return inode->i_dtime != 0 ? 0 : kStrange;
  int error = 0;
  if (inode->i_file_acl != 0) error = own_and_read(r, le32toh(inode->i_file_acl), 1);
  if (is_link && le32toh(inode->i_size) < sizeof inode->i_block) return error;
  for (int i = 0; error == 0 && i < EXT2_N_BLOCKS; ++i) {
    const int depth = i < EXT2_NDIR_BLOCKS ? 0 : i - EXT2_NDIR_BLOCKS + 1;
    error = follow(r, le32toh(inode->i_block[i]), depth, !is_file);
  }
  return error;
}

static int read_group(struct reader* r, const struct ext2_super_block* super) {
  int error = own_and_read(r, r->first + 1, 1);
  if (error) return error;
  struct ext2_group_desc group;
  memcpy(&group, bytes_of(r, r->first + 1), sizeof group);
  const uint32_t table = le32toh(group.bg_inode_table), inodes = le32toh(super->s_inodes_per_group);
  const uint32_t each = r->block_size / EXT2_GOOD_OLD_INODE_SIZE;
  error = own_and_read(r, le32toh(group.bg_block_bitmap), 1);
  if (!error) error = own_and_read(r, le32toh(group.bg_inode_bitmap), 1);
  if (!error) error = own_and_read(r, table, (inodes + each - 1) / each);
  for (uint32_t i = 0; error == 0 && i < inodes; ++i) {
    struct ext2_inode inode;
    memcpy(&inode, bytes_of(r, table) + i * EXT2_GOOD_OLD_INODE_SIZE, sizeof inode);
    error = read_inode(r, &inode);
  }
  return error;
}

static int read_some(struct reader* r) {
  const uint64_t boot = SUPERBLOCK_OFFSET + SUPERBLOCK_SIZE;
  int error =
      repair_image_read(r->disk, r->image, 0, (boot + r->image->block_size - 1) / r->image->block_size);
  if (error) return error;
  struct ext2_super_block super;
  memcpy(&super, r->image->given + SUPERBLOCK_OFFSET, sizeof super);
  const uint32_t log_size = le32toh(super.s_log_block_size);
  if (le16toh(super.s_magic) != EXT2_SUPER_MAGIC || log_size > 6) return kStrange;
  r->block_size = EXT2_MIN_BLOCK_SIZE << log_size;
  r->blocks = le32toh(super.s_blocks_count);
  r->first = le32toh(super.s_first_data_block);
  if (r->block_size % r->image->block_size != 0 || r->first > 1 || r->blocks <= r->first ||
      (uint64_t)r->blocks * r->block_size > r->image->block_count * r->image->block_size ||
      r->blocks - r->first > le32toh(super.s_blocks_per_group) ||
      le16toh(super.s_inode_size) != EXT2_GOOD_OLD_INODE_SIZE ||
      (le32toh(super.s_feature_compat) & ~EXT2_FEATURE_COMPAT_EXT_ATTR) != 0 ||
      le32toh(super.s_feature_incompat) != EXT2_FEATURE_INCOMPAT_FILETYPE ||
      (le32toh(super.s_feature_ro_compat) & ~EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER) != 0) {
    return kStrange;
  }
  return read_group(r, &super);
}

int ext2_read_for_fsck(const sisyfs_disk* disk, struct repair_image* image) {
  struct reader r = {.disk = disk, .image = image};
  const size_t size = (size_t)(image->block_count * image->block_size / EXT2_MIN_BLOCK_SIZE) + 1;
  void* owned = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (owned == MAP_FAILED) return -errno;
  r.owned = owned;
  const int error = read_some(&r);
  munmap(owned, size);
  return error == kStrange ? repair_image_read(disk, image, 0, image->block_count) : error;
}
