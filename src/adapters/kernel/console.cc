#include "adapters/kernel/console.h"

#include <algorithm>
#include <initializer_list>

namespace sisyfs {
namespace {

// All of the parts, in this order.
bool has(std::string_view line, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    const size_t at = line.find(part);
    if (at == line.npos) return false;
    line.remove_prefix(at + part.size());
  }
  return true;
}

// "------------[ cut here ]------------" comes before what matters.
bool is_kernel(std::string_view line) {
  return has(line, {"BUG: "}) || has(line, {"kernel BUG at "}) || has(line, {"WARNING: CPU:"}) ||
         has(line, {"WARNING: possible "}) || has(line, {"WARNING: suspicious "}) ||
         has(line, {"WARNING: inconsistent lock"}) || has(line, {"WARNING: bad unlock"}) ||
         has(line, {"Oops"}) || has(line, {"kernel paging request"}) || has(line, {"stack segment: "}) ||
         has(line, {"Busy inodes after unmount"}) || has(line, {"Kernel panic"}) ||
         has(line, {"general protection fault"}) || has(line, {"UBSAN: "}) || has(line, {"KASAN: "}) ||
         has(line, {"KCSAN: "}) || has(line, {"INFO: task ", " blocked for more than"}) ||
         has(line, {"INFO: possible recursive locking"}) || has(line, {"possible circular locking"}) ||
         has(line, {"INFO: rcu", "detected stall"}) || has(line, {"rcu", "self-detected stall"}) ||
         has(line, {"soft lockup"}) || has(line, {"Out of memory"}) ||
         has(line, {"page allocation failure"}) || has(line, {"list_add corruption"}) ||
         has(line, {"list_del corruption"}) || has(line, {"refcount_t: "}) ||
         has(line, {"Objects remaining in "});
}

bool is_file_system(std::string_view line) {
  return has(line, {"EXT2-fs ", "error"}) || has(line, {"EXT4-fs error"}) ||
         has(line, {"EXT4-fs ", "Remounting filesystem read-only"}) ||
         has(line, {"EXT4-fs ", "error loading journal"}) || has(line, {"EXT4-fs ", "fs with errors"}) ||
         has(line, {"EXT4-fs ", "block allocation failed"}) || has(line, {"EXT4-fs ", "Data will be lost"}) ||
         has(line, {"Aborting journal on device"}) || has(line, {"JBD2: ", "rror"}) ||
         has(line, {"XFS ", "Corruption"}) || has(line, {"XFS ", "corruption"}) ||
         has(line, {"XFS ", "Internal error"}) || has(line, {"XFS ", "Metadata CRC error"}) ||
         has(line, {"XFS", ": Assertion failed"}) ||
         // We shut it down ourselves, to leave it without writing.
         (has(line, {"XFS ", "Shutting down"}) && !has(line, {"xfs_fs_goingdown"})) ||
         has(line, {"BTRFS critical"}) || has(line, {"BTRFS error"}) || has(line, {"BTRFS: error"}) ||
         has(line, {"BTRFS: Transaction aborted"}) || has(line, {"F2FS-fs ", "nconsistent"}) ||
         has(line, {"F2FS-fs ", "orrupt"}) || has(line, {"F2FS-fs ", "invalid"}) ||
         has(line, {"F2FS-fs ", "Bitmap was wrongly"}) || has(line, {"ERROR: (device "}) ||
         has(line, {"REISERFS error"}) || has(line, {"REISERFS panic"}) ||
         has(line, {"REISERFS warning", "vs-"}) || has(line, {"NILFS error"}) ||
         has(line, {"NILFS ", "error"}) || has(line, {"FAT-fs ", "error"}) ||
         has(line, {"FAT-fs ", "Filesystem has been set read-only"}) || has(line, {"minix", "orrupt"}) ||
         has(line, {"MINIX-fs", "error"}) || has(line, {"UDF-fs: error"}) ||
         has(line, {"hfsplus: ", "orrupt"}) || has(line, {"overlayfs: ", "failed"});
}

}  // namespace

Complained complaint_in(std::string_view printed) {
  Complained out;
  while (!printed.empty()) {
    const size_t end = std::min(printed.find('\n'), printed.size());
    std::string_view line = printed.substr(0, end);
    printed.remove_prefix(std::min(end + 1, printed.size()));
    const Complaint what = is_kernel(line)        ? Complaint::kKernel
                           : is_file_system(line) ? Complaint::kFileSystem
                                                  : Complaint::kNone;
    if (what <= out.what) continue;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    out = {what, std::string(line)};
  }
  return out;
}

}  // namespace sisyfs
