/* ext2 as a plug-in: the real libext2fs on the disk under check, and the real e2fsck.
 *
 *     sisyfs check libext2fs
 *
 * libext2fs is what fuse2fs serves ext file systems with. The calls here do what fuse2fs does, write for
 * write, with what the kernel does before it: the way along a path and the errors that POSIX wants. When
 * bitmaps and counts are written is left to the user of libext2fs, so there are three plug-ins: libext2fs
 * writes them by fsync, sync and unmount; fuse2fs as fuse2fs does, when a file is closed too; libext2fs_sync
 * at the end of each call.
 *
 * What it promises. ext2 has no journal. Inodes, directories and data are written as they change, in no order
 * that is kept; bitmaps, counts and the superblock are held in memory and written later. So a power cut can
 * leave nearly any mixture, and the promise is SISYFS_STRUCTURE: after e2fsck -fy it is a file system again,
 * that can be read and used. What was synced is durable as blocks; but a later change to the same directory
 * or file can lose it in a power cut, and that is not held against it. A mount without e2fsck is not
 * promised.
 *
 * What differs from fuse2fs: the clock stands still, so times, generations and counts of mounts and changes
 * stay as they are made; lost+found is there, but not shown and not to be used; there are no owners and
 * modes. Room is refused before a tenth of the blocks is left, as fuse2fs does too.
 */
#include "adapters/ext2/ext2_fs.h"

#if EXT2_FLUSH == EXT2_FLUSH_ALWAYS
#define NAME "libext2fs_sync"
#define SUMMARY "ext2 by libext2fs, flushed after each call, with e2fsck"
#define DURABLE SISYFS_DURABLE_OPS
#elif EXT2_FLUSH == EXT2_FLUSH_FUSE2FS
#define NAME "fuse2fs"
#define SUMMARY "ext2 by libext2fs, flushed when fuse2fs would, with e2fsck"
#define DURABLE 0
#else
#define NAME "libext2fs"
#define SUMMARY "ext2 by libext2fs, with e2fsck"
#define DURABLE 0
#endif

const sisyfs_plugin* sisyfs_plugin_entry(void) {
  static const sisyfs_plugin kPlugin = {
      SISYFS_PLUGIN_HEADER,
      .contract = SISYFS_STRUCTURE,
      .promises = DURABLE | SISYFS_FSYNC_ALL | SISYFS_RENAME_BOTH | SISYFS_LIMITED_SPACE |
                  SISYFS_ANY_BYTE,
      .name = NAME,
      .summary = SUMMARY,
      .block_size = 1024,
      .block_count = 256,
      .write_unit = 512,
      .max_name = EXT2_NAME_LEN,
      .max_file_size = 1u << 30,
      .format = ext2_format,
      .mount = ext2_mount,
      .unmount = ext2_unmount,
      .create = ext2_create,
      .mkdir = ext2_mkdir,
      .unlink = ext2_unlink,
      .rmdir = ext2_rmdir,
      .rename = ext2_rename,
      .link = ext2_link,
      .symlink = ext2_symlink,
      .write = ext2_write,
      .read = ext2_read,
      .truncate = ext2_truncate,
      .fsync = ext2_fsync,
      .fdatasync = ext2_fsync,
      .sync = ext2_sync,
      .readdir = ext2_readdir,
      .stat = ext2_stat,
      .readlink = ext2_readlink,
      .setxattr = ext2_setxattr,
      .getxattr = ext2_getxattr,
      .listxattr = ext2_listxattr,
      .removexattr = ext2_removexattr,
      .fsck = ext2_fsck,
      .name_block = ext2_name_block,
  };
  return &kPlugin;
}
