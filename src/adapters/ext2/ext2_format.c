/* The life of a file system: made, mounted, unmounted.
 *
 * What would differ from run to run is fixed: the time is the disk's, the UUID and the seed of hashes are
 * constants, and mounts are not counted. So equal histories give equal disks. And e2fsck, which is told the
 * same time, writes nothing to a file system that is in order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/ext2/ext2_fs.h"
#include "adapters/ext2/ext2_io.h"

static const unsigned char kUuid[16] = {0x5e, 0x15, 0x79, 0xf5, 0x00, 0x00, 0x40, 0x00,
                                        0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01};

/* libext2fs takes 0 for "ask the clock". */
static time_t now_of(const sisyfs_disk* disk) { return disk->now == 0 ? 1 : (time_t)disk->now; }

/* As small as ext2 goes: blocks of 1 KiB, or of the disk where those are larger; an inode for four blocks. */
static int parameters(const sisyfs_disk* disk, struct ext2_super_block* out) {
  memset(out, 0, sizeof *out);
  uint32_t block_size = EXT2_MIN_BLOCK_SIZE;
  for (; block_size < disk->block_size; block_size *= 2) ++out->s_log_block_size;
  if (block_size % disk->block_size != 0 || block_size > EXT2_MAX_BLOCK_SIZE) return -EINVAL;
  const uint64_t blocks = disk->block_count / (block_size / disk->block_size);
  if (blocks > UINT32_MAX) return -EFBIG;
  ext2fs_blocks_count_set(out, blocks);
  out->s_rev_level = EXT2_DYNAMIC_REV;
  out->s_inode_size = EXT2_GOOD_OLD_INODE_SIZE;
  out->s_inodes_count = (uint32_t)(blocks / 4);
  out->s_max_mnt_count = (uint16_t)-1;
  out->s_feature_compat = EXT2_FEATURE_COMPAT_EXT_ATTR;
  out->s_feature_incompat = EXT2_FEATURE_INCOMPAT_FILETYPE;
  out->s_feature_ro_compat = EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER;
  return 0;
}

static errcode_t clear_inode_tables(ext2_filsys fs) {
  char* zeros = calloc(fs->inode_blocks_per_group, fs->blocksize);
  errcode_t error = zeros == NULL ? EXT2_ET_NO_MEMORY : 0;
  for (dgrp_t group = 0; error == 0 && group < fs->group_desc_count; ++group) {
    error = io_channel_write_blk64(fs->io, ext2fs_inode_table_loc(fs, group), (int)fs->inode_blocks_per_group,
                                   zeros);
  }
  free(zeros);
  return error;
}

static errcode_t fill_in(ext2_filsys fs) {
  memcpy(fs->super->s_uuid, kUuid, sizeof kUuid);
  memcpy(fs->super->s_hash_seed, kUuid, sizeof kUuid);
  fs->super->s_def_hash_version = EXT2_HASH_HALF_MD4;
  fs->super->s_mkfs_time = fs->super->s_lastcheck = (uint32_t)fs->now;
  errcode_t error = ext2fs_allocate_tables(fs);
  if (error == 0) error = clear_inode_tables(fs);
  if (error == 0) error = ext2fs_mkdir(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, NULL);
  if (error != 0) return error;
  for (ext2_ino_t ino = 1; ino < EXT2_FIRST_INODE(fs->super); ++ino) {
    if (ino != EXT2_ROOT_INO) ext2fs_inode_alloc_stats2(fs, ino, +1, 0);
  }
  return ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, EXT2_LOST_FOUND);
}

int ext2_format(const sisyfs_disk* disk) {
  struct ext2_super_block wanted;
  const int refused = parameters(disk, &wanted);
  if (refused) return refused;
  ext2_filsys fs;
  ext2_io_use(disk);
  errcode_t error = ext2fs_initialize("disk", EXT2_FLAG_64BITS, &wanted, &ext2_io_manager, &fs);
  if (error != 0) return ext2_errno(error);
  fs->now = now_of(disk);
  error = fill_in(fs);
  if (error == 0) return ext2_errno(ext2fs_close_free(&fs));
  fs->flags &= ~(EXT2_FLAG_DIRTY | EXT2_FLAG_BB_DIRTY | EXT2_FLAG_IB_DIRTY);
  ext2fs_free(fs);
  return ext2_errno(error);
}

/* As fuse2fs begins: the bitmaps are read, the mark of a clean unmount is taken off and written. A file
 * system that is marked as damaged is refused; one that was not unmounted is not, although it should be
 * checked. */
static errcode_t start(ext2_filsys fs) {
  if (fs->super->s_state & EXT2_ERROR_FS) return EUCLEAN;
  const errcode_t error = ext2fs_read_bitmaps(fs);
  if (error != 0) return error;
  fs->super->s_state &= (uint16_t)~EXT2_VALID_FS;
  ext2fs_mark_super_dirty(fs);
  return ext2fs_flush2(fs, 0);
}

int ext2_mount(const sisyfs_disk* disk, void** out) {
  struct mount* m = calloc(1, sizeof *m);
  if (m == NULL) return -ENOMEM;
  ext2_io_use(disk);
  errcode_t error = ext2fs_open("disk", EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, &ext2_io_manager, &m->fs);
  if (error == 0) {
    m->fs->now = now_of(disk);
    /* As good as the tree that is its default, and memory depends less on how a state came about. */
    m->fs->default_bitmap_type = EXT2FS_BMAP64_BITARRAY;
    error = start(m->fs);
    if (error != 0) ext2fs_free(m->fs);
  }
  if (error != 0) {
    free(m);
    return ext2_errno(error);
  }
  *out = m;
  return 0;
}

int ext2_unmount(void* fs) {
  struct mount* m = fs;
  m->fs->super->s_state |= EXT2_VALID_FS;
  ext2fs_mark_super_dirty(m->fs);
  const errcode_t error = ext2fs_close_free(&m->fs);
  free(m);
  return ext2_errno(error);
}

/* fuse2fs writes without a flush of the disk when a file is closed, and with one after a rename. */
int ext2_end(struct mount* m, enum ext2_change change, int error) {
  if (error) return error;
  switch (EXT2_FLUSH) {
    case EXT2_FLUSH_ALWAYS:
      return ext2_sync(m);
    case EXT2_FLUSH_FUSE2FS:
      if (change == EXT2_CLOSED) return ext2_errno(ext2fs_flush2(m->fs, EXT2_FLAG_FLUSH_NO_SYNC));
      return change == EXT2_RENAMED ? ext2_sync(m) : 0;
    default:
      return 0;
  }
}

int ext2_sync(void* fs) {
  const struct mount* m = fs;
  return ext2_errno(ext2fs_flush2(m->fs, 0));
}
