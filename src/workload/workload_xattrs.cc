// Extended attributes in a workload: each that is there can be set to another value, read and removed, and
// the first of the pool that is not there can be added.
#include "workload/workload.h"

namespace sisyfs {
namespace {

// As for files, a new value takes the version behind the one that is there, so that it always changes
// something.
Op next_value(Op op, const FileData& value, uint32_t versions) {
  std::byte now{}, then{};
  if (value.read(0, {&now, 1}) == 0) return op;
  for (uint32_t version = 0; version < versions; ++version) {
    op.version = static_cast<uint8_t>(version);
    fill_value(op, {&then, 1});
    if (now != then) continue;
    op.version = static_cast<uint8_t>((version + 1) % versions);
    return op;
  }
  op.version = 0;
  return op;
}

}  // namespace

void Workload::add_xattrs(const Tree& tree, std::vector<Candidate>* out) {
  for (const OpKind kind : {OpKind::kSetxattr, OpKind::kGetxattr, OpKind::kListxattr, OpKind::kRemovexattr}) {
    if (!has(kind)) continue;
    for (const PathNode& p : path_nodes_) {
      if (p.type == FileType::kSymlink || !p.first) continue;
      if (kind == OpKind::kListxattr) {
        out->push_back({Op::of(kind, p.path)});
        continue;
      }
      bool added = false;
      for (const std::string& name : bounds_.xattr_names) {
        const FileData* value = tree.node(p.node).xattrs.find(name);
        if (kind != OpKind::kSetxattr) {
          if (value != nullptr) out->push_back({Op::of(kind, p.path, Path(name))});
          continue;
        }
        if (value == nullptr && added) continue;
        added = added || value == nullptr;
        for (const uint32_t size : bounds_.xattr_sizes) {
          const Op op = Op::setxattr(p.path, name, size);
          out->push_back({value == nullptr ? op : next_value(op, *value, bounds_.versions)});
        }
      }
    }
  }
}

}  // namespace sisyfs
