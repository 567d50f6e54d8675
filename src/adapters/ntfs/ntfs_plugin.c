/* NTFS as a plug-in: the real libntfs-3g on the disk under check.
 *
 *     sisyfs check libntfs
 *
 * The calls do what ntfs-3g does with the library, and what the kernel does before it. Every file is opened
 * and closed within a call, so that nothing of it is held back; fsync, sync and unmount flush the disk.
 *
 * What it promises. libntfs-3g does not write NTFS's journal: it leaves it empty. A change is several writes
 * in no order that is kept (a record, an index, two bitmaps), so a power cut can leave a name without a file,
 * a file without a name, or clusters that belong to nobody or to two. And there is no repair: ntfsfix mends
 * what keeps a volume from being mounted and nothing else. SISYFS_STRUCTURE is what a user would want of it;
 * libntfs-3g does not claim as much, and what is found broken is a fact about NTFS without a journal and
 * without chkdsk.
 *
 * The disk has blocks of 4 KiB, so that a record and an index block are written as one. With --block 512 they
 * can be torn, which NTFS notices when it reads them, and then refuses them.
 *
 * What is left out: symbolic links (reparse points), streams, attributes, owners. The clock stands still. The
 * link count of a directory is not told, since NTFS does not count what is in it.
 */
#include "adapters/ntfs/ntfs_fs.h"

const sisyfs_plugin* sisyfs_plugin_entry(void) {
  static const sisyfs_plugin kPlugin = {
      SISYFS_PLUGIN_HEADER,
      .contract = SISYFS_STRUCTURE,
      .promises = SISYFS_FSYNC_ALL | SISYFS_RENAME_BOTH | SISYFS_LIMITED_SPACE |
                  SISYFS_ANY_BYTE,
      .name = "libntfs",
      .summary = "NTFS by libntfs-3g, with ntfsfix",
      .block_size = 4096,
      .block_count = 320,
      .write_unit = 512,
      .max_name = kMaxName,
      .max_file_size = 1u << 30,
      .format = nt_format,
      .mount = nt_mount,
      .unmount = nt_unmount,
      .create = nt_create,
      .mkdir = nt_mkdir,
      .unlink = nt_unlink,
      .rmdir = nt_rmdir,
      .rename = nt_rename,
      .link = nt_link,
      .write = nt_write,
      .read = nt_read,
      .truncate = nt_truncate,
      .fsync = nt_fsync,
      .fdatasync = nt_fsync,
      .sync = nt_sync,
      .readdir = nt_readdir,
      .stat = nt_stat,
      .fsck = nt_fsck,
      .name_block = nt_name_block,
  };
  return &kPlugin;
}
