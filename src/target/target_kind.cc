#include "target/target_kind.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace sisyfs {
namespace {

template <class Number>
void add_once(std::vector<Number>& pool, Number number) {
  if (std::find(pool.begin(), pool.end(), number) == pool.end()) pool.push_back(number);
}

}  // namespace

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
  if (!wanted.ops.has(OpKind::kOpenHandle)) wanted.variety.max_handles = 0;
  if (wanted.variety.max_handles == 0) wanted.ops = wanted.ops - kHandleOps;
  // Where each call covers all that was done before it, a store that no call has written would be covered
  // too.
  if (kind.claims.all_durable() && kind.has_disk()) wanted.ops = wanted.ops - OpSet(OpKind::kWriteMapped);
  wanted.max_files = std::min(wanted.max_files, kind.limits.max_files);
  wanted.max_depth = std::min(wanted.max_depth, wanted.ops.has(OpKind::kMkdir) ? kind.limits.max_depth : 1);
  wanted.max_file_size = scaled(wanted.max_file_size);
  scale_pool(wanted.write_sizes);
  scale_pool(wanted.write_offsets);
  scale_pool(wanted.truncate_sizes);
  wanted.variety.unit = kind.limits.write_unit;
  wanted.variety.odd = wanted.variety.odd && kind.limits.any_byte && unit > 1;
  if (wanted.variety.odd) {
    add_once(wanted.write_sizes, uint32_t{2});
    add_once(wanted.write_offsets, unit - 1);
  }
  if (wanted.variety.names != NameStyle::kPlain)
    wanted.names = names_of(wanted.variety.names, kind.limits.max_name, wanted.max_depth);
  std::erase_if(wanted.names, [&](const std::string& name) { return name.size() > kind.limits.max_name; });
  if (!kind.limits.fixed_names.empty()) {
    wanted.names = kind.limits.fixed_names;
    wanted.fixed_names = true;
  }
  return wanted;
}

}  // namespace sisyfs
