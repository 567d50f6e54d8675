#include "adapters/kernel/file_systems.h"

#include <algorithm>

#include "adapters/guest/wire.h"
#include "adapters/kernel/hfsplus_image.h"
#include "adapters/kernel/jffs2_image.h"

namespace sisyfs {
namespace {

constexpr OpSet kLinks(OpKind::kLink, OpKind::kSymlink);
constexpr OpSet kAttributes(OpKind::kSetxattr, OpKind::kGetxattr, OpKind::kListxattr, OpKind::kRemovexattr);
constexpr OpSet kModes(OpKind::kChmod);
constexpr OpSet kReserves(OpKind::kFallocate, OpKind::kFallocateKeep);
constexpr OpSet kHoles(OpKind::kPunchHole);
constexpr OpSet kZeroes(OpKind::kZeroRange);
constexpr OpSet kRanges = kReserves | kHoles | kZeroes;
constexpr OpSet kExchanges(OpKind::kExchange);
constexpr OpSet kDirect(OpKind::kWriteDirect);

// Disks are as small as the file system allows, with the smallest journal: most of a mount is reading.
#define EXT_COMMON "-q -F -b 1024 -N 64 -m 0 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0"

// UBI makes itself at home on an erased flash, and so does UBIFS on an empty volume.
void make_erased(std::span<std::byte> flash) { std::fill(flash.begin(), flash.end(), std::byte{0xff}); }

std::vector<FileSystem> make_list() {
  std::vector<FileSystem> all;
  const auto add = [&](FileSystem one) -> FileSystem& { return all.emplace_back(std::move(one)); };
  FileSystem ext2{.name = "ext2",
                  .summary = "ext2 of the kernel; e2fsck before each mount",
                  .type = "ext2",
                  .package = "e2fsprogs",
                  .mkfs = "mkfs.ext2 " EXT_COMMON,
                  .fsck = "e2fsck -f -y",
                  .check = "e2fsck -f -n",
                  .preen = "e2fsck -p",
                  .mount = "noatime",
                  .block = 1024,
                  .kibibytes = 1024};
  ext2.contract = Contract::kStructure;
  ext2.mount_recovers = false;
  ext2.quirks = kHidesLostFound;
  ext2.without = kRanges | kExchanges;
  add(ext2);
  FileSystem ext3 = ext2;
  ext3.name = "ext3", ext3.summary = "ext3, by the ext4 driver", ext3.type = "ext3";
  ext3.mkfs = "mkfs.ext3 -J size=1 " EXT_COMMON;
  ext3.kibibytes = 4096;
  ext3.host_mount = "commit=300";
  ext3.contract = Contract::kFsync;
  ext3.mount_recovers = ext3.fsync_names = true;
  ext3.without = kReserves | kZeroes;  // for want of extents
  add(ext3);
  FileSystem ext4 = ext3;
  ext4.name = "ext4", ext4.summary = "ext4 with data=ordered, the default", ext4.type = "ext4";
  ext4.mkfs = "mkfs.ext4 -J size=1 " EXT_COMMON;
  ext4.without = {};
  ext4.mount = "noatime,noinit_itable";
  add(ext4);
  FileSystem variant = ext4;
  variant.name = "ext4-journal", variant.summary = "ext4 with data=journal";
  variant.mount = "noatime,noinit_itable,data=journal";
  add(variant);
  variant = ext4;
  variant.name = "ext4-writeback", variant.summary = "ext4 with data=writeback";
  variant.mount = "noatime,noinit_itable,data=writeback";
  variant.quirks |= kStaleData;
  add(variant);
  variant = ext4;
  variant.name = "ext4-fast-commit", variant.summary = "ext4 with fast commits";
  variant.mkfs = "mkfs.ext4 -J size=1,fast_commit_size=256 -O fast_commit " EXT_COMMON;
  add(variant);
  variant = ext4;
  variant.name = "ext4-nojournal", variant.summary = "ext4 without a journal; e2fsck before each mount";
  variant.mkfs = "mkfs.ext4 -O ^has_journal " EXT_COMMON;
  variant.kibibytes = 1024;
  variant.host_mount = {};
  variant.contract = Contract::kStructure;
  variant.mount_recovers = variant.fsync_names = false;
  add(variant);

  FileSystem xfs{
      .name = "xfs",
      .summary = "XFS",
      .type = "xfs",
      .package = "xfsprogs",
      .mkfs = "mkfs.xfs --unsupported -q -f -K -b size=4096 -s size=4096 -d agcount=1 -l size=1221b",
      .fsck = "xfs_repair -f",
      .check = "xfs_repair -f -n",
      .mount = "noatime,logbufs=2,logbsize=16384",
      .host_mount = "nouuid",
      .kibibytes = 16384};
  xfs.fsync_names = true;
  xfs.quirks = kSettles;  // a mount clears 2 MiB of the log, of which the next one finds nearly all cleared
  add(xfs);
  FileSystem btrfs{.name = "btrfs",
                   .summary = "btrfs",
                   .type = "btrfs",
                   .package = "btrfs-progs",
                   .mkfs = "mkfs.btrfs -q -f -K -M -n 4096",
                   .fsck = "",
                   .check = "btrfs check --force",
                   .mount = "noatime,nodiscard",
                   .host_mount = "commit=300",
                   .kibibytes = 48 * 1024};
  btrfs.fsync_names = true;
  btrfs.quirks = kPlainDirectoryLinks | kUnfilledBytes;  // the version of a new inode is that of an old one
  add(btrfs);
  FileSystem jfs{.name = "jfs",
                 .summary = "JFS; its log is replayed by fsck.jfs before each mount",
                 .type = "jfs",
                 .package = "jfsutils",
                 .mkfs = "mkfs.jfs -q",
                 .fsck = "fsck.jfs -a",
                 .check = "fsck.jfs -f -n",
                 .mount = "noatime",
                 .kibibytes = 16384};
  jfs.mount_recovers = false;
  jfs.quirks = kUnfilledBytes | kRepairDecides;  // pointers in its log
  jfs.without = kRanges | kExchanges;
  add(jfs);
  FileSystem reiserfs{.name = "reiserfs",
                      .summary = "ReiserFS 3.6",
                      .type = "reiserfs",
                      .package = "reiserfsprogs",
                      .mkfs = "mkfs.reiserfs -q -f -f -b 4096 -s 513",
                      .fsck = "reiserfsck --fix-fixable -y -q",
                      .check = "reiserfsck --check -y -q",
                      .mount = "noatime,user_xattr",
                      .kibibytes = 34 * 1024};
  reiserfs.without = kRanges | kExchanges;
  add(reiserfs);
  FileSystem f2fs{.name = "f2fs-posix",
                  .summary = "F2FS with fsync_mode=posix, the default",
                  .type = "f2fs",
                  .package = "f2fs-tools",
                  .mkfs = "mkfs.f2fs -q -f -t 0",
                  .fsck = "fsck.f2fs -f -y",
                  .check = "fsck.f2fs --dry-run",
                  .preen = "fsck.f2fs -a",
                  .mount = "noatime,nodiscard,background_gc=off",
                  .kibibytes = 64 * 1024,
                  .modules = {"crc32_generic", "f2fs"}};
  add(f2fs);
  variant = f2fs;
  variant.name = "f2fs-strict", variant.summary = "F2FS with fsync_mode=strict";
  variant.mount = "noatime,nodiscard,background_gc=off,fsync_mode=strict";
  variant.fsync_names = true;
  add(variant);
  FileSystem nilfs2{.name = "nilfs2",
                    .summary = "NILFS2, without its cleaner",
                    .type = "nilfs2",
                    .package = "nilfs-tools",
                    .mkfs = "mkfs.nilfs2 -q -f -K -b 1024 -B 16",
                    .mount = "noatime",
                    .block = 1024,
                    .kibibytes = 8192,
                    .modules = {"nilfs2"}};
  nilfs2.without = kAttributes | kRanges | kExchanges;
  add(nilfs2);
  FileSystem vfat{.name = "vfat",
                  .summary = "FAT with long names; fsck.vfat before each mount",
                  .type = "vfat",
                  .package = "dosfstools",
                  .mkfs = "mkfs.vfat -S 512 -s 1 -i 12345678",
                  .fsck = "fsck.vfat -a -w",
                  .check = "fsck.vfat -n",
                  .mount = "noatime",
                  .block = 512,
                  .kibibytes = 512,
                  .modules = {"nls_cp437", "nls_ascii", "nls_iso8859_1", "vfat"}};
  vfat.contract = Contract::kStructure;
  vfat.mount_recovers = false;
  vfat.without = kLinks | kAttributes | kModes | kHoles | kZeroes;
  vfat.quirks = kPlainDirectoryLinks | kNoModes | kNoFileLinks;
  add(vfat);
  FileSystem msdos = vfat;
  msdos.name = "msdos", msdos.summary = "FAT with short names; fsck.vfat before each mount",
  msdos.type = "msdos";
  msdos.modules = {"nls_cp437", "nls_ascii", "nls_iso8859_1", "msdos"};
  msdos.without = vfat.without | kExchanges;
  msdos.max_name = 8;
  add(msdos);
  FileSystem minix{.name = "minix",
                   .summary = "Minix, version 3; fsck.minix before each mount",
                   .type = "minix",
                   .package = "util-linux",
                   .mkfs = "mkfs.minix -3",
                   .fsck = "fsck.minix -f -a",
                   .check = "fsck.minix -f",
                   .mount = "noatime",
                   .block = 1024,
                   .kibibytes = 1024,
                   .modules = {"minix"}};
  minix.contract = Contract::kStructure;
  minix.mount_recovers = false;
  minix.without = kAttributes | kRanges | kExchanges | kDirect;
  minix.max_name = 60;
  add(minix);
  FileSystem udf{.name = "udf",
                 .summary = "UDF; it has no repair tool",
                 .type = "udf",
                 .package = "udftools",
                 .mkfs = "mkfs.udf -b 512 -u 0123456789abcdef",
                 .mount = "noatime",
                 .block = 512,
                 .kibibytes = 2048,
                 .modules = {"udf"}};
  udf.contract = Contract::kStructure;
  udf.without = kAttributes | kRanges | kExchanges;
  udf.quirks = kPlainDirectoryLinks;
  add(udf);
  FileSystem hfsplus{.name = "hfsplus",
                     .summary = "HFS+ without a journal; its repair tool is not in Debian",
                     .type = "hfsplus",
                     .mount = "noatime",
                     .block = 512,
                     .kibibytes = 4096,
                     .modules = {"nls_utf8", "hfsplus"}};
  hfsplus.rare.make = make_hfsplus;
  hfsplus.rare.mend = mend_hfsplus;
  hfsplus.mount_recovers = false;
  hfsplus.without = kRanges | kExchanges;
  hfsplus.quirks = kPlainDirectoryLinks | kStaleData;  // nothing orders data before the catalog
  add(hfsplus);
  FileSystem overlay = ext4;
  overlay.name = "overlay", overlay.summary = "overlayfs, with all of its layers on one ext4";
  overlay.type = "overlay", overlay.rare.below.type = "ext4";
  overlay.rare.below.mount = "noinit_itable";
  overlay.rare.device = overlay.type;
  overlay.mount = "noatime,redirect_dir=on,index=on,xino=on";
  overlay.modules = {"overlay"};
  overlay.quirks = kPlainDirectoryLinks | kSettles;  // a mount makes its work directory anew
  add(overlay);
  FileSystem jffs2{.name = "jffs2",
                   .summary = "JFFS2 on NOR flash; with a kernel of yours (--kernel)",
                   .type = "jffs2",
                   .mount = "noatime",
                   .block = 512,
                   .kibibytes = 64};
  jffs2.rare.make = make_jffs2;
  jffs2.rare.erase_unit = kJffs2Unit;
  jffs2.rare.device = guest::kFlashDevice;
  jffs2.quirks = kPlainDirectoryLinks | kRenamesTwice;  // the root has one link too many
  jffs2.fsync_names = true;
  jffs2.without = kRanges | kExchanges | kDirect;
  add(jffs2);
  FileSystem ubifs = jffs2;
  ubifs.name = "ubifs", ubifs.summary = "UBIFS over UBI on NOR flash; with a kernel of yours (--kernel)";
  ubifs.type = "ubifs";
  ubifs.kibibytes = 512;
  ubifs.rare.make = make_erased;
  ubifs.rare.erase_unit = 16384;  // it takes no smaller ones
  ubifs.rare.device = "ubi0:sisyfs";
  ubifs.quirks = 0;
  ubifs.without = kRanges | kDirect;
  add(ubifs);
  return all;
}

#undef EXT_COMMON

}  // namespace

std::span<const FileSystem> file_systems() {
  static const std::vector<FileSystem> all = make_list();
  return all;
}

const FileSystem* file_system(std::string_view name) {
  const auto all = file_systems();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const FileSystem& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end != at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace sisyfs
