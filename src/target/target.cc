#include "target/target.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace sisyfs {

void Target::fsck(Disk&, FsckMode, RepairReport*) {}

std::string Target::name_block(uint64_t) const { return {}; }

std::string Target::describe_write(uint64_t, std::span<const std::byte>) const { return {}; }

std::string Target::problem_text(const Problem& problem) const { return to_text(problem, traits().problems); }

Bounds bounds_for(const Traits& traits, Bounds wanted) {
  const uint64_t unit = traits.write_unit;
  const uint64_t limit = traits.max_file_size;
  // Saturates: what is beyond the limit stays beyond it.
  auto scaled = [&](uint64_t count) { return count > limit / unit ? limit : count * unit; };
  auto scale_pool = [&](auto& pool) {
    using Number = typename std::remove_reference_t<decltype(pool)>::value_type;
    std::erase_if(pool, [&](uint64_t count) {
      return count > limit / unit || count * unit > std::numeric_limits<Number>::max();
    });
    for (Number& count : pool) count = static_cast<Number>(count * unit);
  };

  wanted.ops = wanted.ops & traits.ops;
  if (!wanted.ops.has(OpKind::kOpen) || !wanted.ops.has(OpKind::kClose)) wanted.handles = false;
  if (!wanted.handles) wanted.ops = wanted.ops - OpSet(OpKind::kOpen, OpKind::kClose);
  wanted.max_files = std::min(wanted.max_files, traits.max_files);
  wanted.max_depth = std::min(wanted.max_depth, wanted.ops.has(OpKind::kMkdir) ? traits.max_depth : 1);
  wanted.max_file_size = scaled(wanted.max_file_size);
  scale_pool(wanted.write_sizes);
  scale_pool(wanted.write_offsets);
  scale_pool(wanted.truncate_sizes);
  if (!traits.fixed_names.empty()) {
    wanted.names = traits.fixed_names;
    wanted.fixed_names = true;
  }
  return wanted;
}

}  // namespace sisyfs
