#include "crash/files/file_rules.h"

#include <algorithm>

namespace sisyfs {
namespace {

constexpr FileRules kPosix{.name = "posix",
                           .summary = "nothing is durable but what fsync says, and nothing is ordered"};
constexpr FileRules kInOrder{.name = "in-order",
                             .summary = "all calls are kept in their order",
                             .all_in_order = true,
                             .fsync_names = true,
                             .fsync_all_metadata = true};
constexpr FileRules kExt4Ordered{.name = "ext4-ordered",
                                 .summary = "ext4 with data=ordered, the default",
                                 .metadata_in_order = true,
                                 .size_needs_data = true,
                                 .replace_needs_data = true,
                                 .close_needs_data = true,
                                 .fsync_names = true,
                                 .fsync_all_metadata = true};
constexpr FileRules kExt4Writeback{.name = "ext4-writeback",
                                   .summary = "ext4 with data=writeback",
                                   .metadata_in_order = true,
                                   .stale_data = true,
                                   .fsync_names = true,
                                   .fsync_all_metadata = true};
constexpr FileRules kExt4Journal{.name = "ext4-journal",
                                 .summary = "ext4 with data=journal",
                                 .all_in_order = true,
                                 .fsync_names = true,
                                 .fsync_all_metadata = true};
constexpr FileRules kXfs{.name = "xfs",
                         .summary = "XFS",
                         .metadata_in_order = true,
                         .size_needs_data = true,
                         .close_needs_data = true,
                         .fsync_names = true,
                         .fsync_all_metadata = true};
constexpr FileRules kBtrfs{.name = "btrfs",
                           .summary = "btrfs",
                           .metadata_in_order = true,
                           .size_needs_data = true,
                           .fsync_names = true};
constexpr FileRules kF2fs{.name = "f2fs",
                          .summary = "F2FS with fsync_mode=posix, the default",
                          .metadata_in_order = true,
                          .fsync_names = true};
constexpr FileRules kAll[] = {kPosix, kExt4Ordered, kExt4Writeback, kExt4Journal,
                              kXfs,   kBtrfs,       kF2fs,          kInOrder};

}  // namespace

std::span<const FileRules> all_file_rules() { return kAll; }

const FileRules* file_rules(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kAll), std::end(kAll), [&](const FileRules& one) { return one.name == name; });
  return found == std::end(kAll) ? nullptr : &*found;
}

}  // namespace sisyfs
