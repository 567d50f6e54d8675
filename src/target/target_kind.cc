#include "target/target_kind.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace sisyfs {

Bounds bounds_for(const TargetKind& kind, Bounds wanted) {
  const uint64_t unit = kind.limits.write_unit;
  const uint64_t limit = kind.limits.max_file_size;
  // Saturates: what is beyond the limit stays beyond it.
  auto scaled = [&](uint64_t count) { return count > limit / unit ? limit : count * unit; };
  auto scale_pool = [&](auto& pool) {
    using Number = typename std::remove_reference_t<decltype(pool)>::value_type;
    std::erase_if(pool, [&](uint64_t count) {
      return count > limit / unit || count * unit > std::numeric_limits<Number>::max();
    });
    for (Number& count : pool) count = static_cast<Number>(count * unit);
  };

  wanted.ops = wanted.ops & kind.ops;
  if (!wanted.ops.has(OpKind::kOpen) || !wanted.ops.has(OpKind::kClose)) wanted.handles = false;
  if (!wanted.handles) wanted.ops = wanted.ops - OpSet(OpKind::kOpen, OpKind::kClose);
  wanted.max_files = std::min(wanted.max_files, kind.limits.max_files);
  wanted.max_depth = std::min(wanted.max_depth, wanted.ops.has(OpKind::kMkdir) ? kind.limits.max_depth : 1);
  wanted.max_file_size = scaled(wanted.max_file_size);
  scale_pool(wanted.write_sizes);
  scale_pool(wanted.write_offsets);
  scale_pool(wanted.truncate_sizes);
  if (!kind.limits.fixed_names.empty()) {
    wanted.names = kind.limits.fixed_names;
    wanted.fixed_names = true;
  }
  return wanted;
}

}  // namespace sisyfs
