// Ops that Linux has and POSIX has not: ranges of a file, and the further kinds of rename.
#include "workload/workload.h"

namespace sisyfs {

// Which of two names comes first makes no difference. A rename that replaces nothing gets one new name, in
// the directory of the old one: kernels decide whether the name is free before a file system sees the call.
void Workload::add_exchanges(const Tree& tree, std::vector<Candidate>* out) {
  for (size_t i = 1; has(OpKind::kExchange) && i < path_nodes_.size(); ++i) {
    const PathNode& one = path_nodes_[i];
    for (size_t j = one.end; j < path_nodes_.size(); ++j) {
      const PathNode& two = path_nodes_[j];
      if (one.node == two.node || is_open(tree, one) || is_open(tree, two)) continue;
      const bool fits = two.depth + (one.deepest - one.depth) <= bounds_.max_depth &&
                        one.depth + (two.deepest - two.depth) <= bounds_.max_depth;
      if (fits) out->push_back({Op::of(OpKind::kExchange, one.path, two.path)});
    }
  }
  if (!has(OpKind::kRenameNew)) return;
  for (const PathNode& source : path_nodes_) {
    if (source.depth == 0 || is_open(tree, source)) continue;
    for (const PathNode& parent : path_nodes_) {
      if (parent.node != source.parent) continue;
      each_new_path(tree, parent, [&](const Path& path) {
        out->push_back({Op::of(OpKind::kRenameNew, source.path, path)});
      });
      break;
    }
  }
}

template <class Use>
void Workload::each_range(OpKind kind, uint64_t size, Use use) const {
  const uint64_t unit = bounds_.variety.unit, limit = bounds_.max_file_size;
  const auto range = [&](uint64_t offset, uint64_t length) {
    const bool extends = kind != OpKind::kPunchHole;
    if (extends ? length <= limit && offset <= limit - length : offset < size)
      use(offset, static_cast<uint32_t>(length));
  };
  const uint64_t last = size == 0 ? 0 : (size - 1) / unit * unit;
  if (kind == OpKind::kFallocate && size != 0) range(0, unit);
  if (kind == OpKind::kFallocate || kind == OpKind::kFallocateKeep) {
    range(size, unit);
    if (bounds_.variety.write_steps) range(size + unit, unit);
    return;
  }
  range(0, unit);
  if (kind == OpKind::kPunchHole && last != 0) range(last, unit);
  if (kind == OpKind::kZeroRange && size != 0) range(last, 2 * unit);
  if (bounds_.variety.odd && size > unit) range(unit - 1, 2);
}

void Workload::add_ranges(const Tree& tree, std::vector<Candidate>* out) {
  for (const OpKind kind :
       {OpKind::kFallocate, OpKind::kFallocateKeep, OpKind::kPunchHole, OpKind::kZeroRange}) {
    for (const PathNode& p : path_nodes_) {
      if (!has(kind) || p.type != FileType::kFile || !p.first || needs_open(tree, p)) continue;
      each_range(kind, tree.node(p.node).data.size(), [&](uint64_t offset, uint32_t length) {
        out->push_back({Op::range(kind, p.path, offset, length)});
      });
    }
  }
}

}  // namespace sisyfs
