#include "workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/mutant.h"
#include "workload/next_version.h"

namespace sisyfs {
namespace {

template <class T>
Status check_pool(const char* what, const std::vector<T>& pool) {
  if (std::set<T>(pool.begin(), pool.end()).size() == pool.size()) return {};
  return bad_input(fmt::format("the pool of {} holds one twice", what));
}

// Whether an op of the workload may have made this name.
bool is_own(const Bounds& bounds, std::string_view name) {
  return std::find(bounds.names.begin(), bounds.names.end(), name) != bounds.names.end();
}

Status check_names(const Bounds& bounds) {
  if (bounds.names.empty()) return bad_input("the pool of names is empty");
  size_t longest = 0;
  for (const std::string& name : bounds.names) {
    const bool fits = !name.empty() && Path::holds(name) && name.find('/') == std::string::npos;
    if (!fits || name == "." || name == "..") return bad_input(fmt::format("'{}' cannot be a name", name));
    longest = std::max(longest, name.size());
  }
  if (bounds.max_depth == 0) return bad_input("max-depth 0 leaves no room for a file; it starts at 1");
  if (bounds.max_depth > Path::kCapacity || bounds.max_depth * (longest + 1) > Path::kCapacity) {
    return bad_input(fmt::format("{} names of {} characters make paths longer than {} characters",
                                 bounds.max_depth, longest, Path::kCapacity));
  }
  return {};
}

}  // namespace

Result<Workload> Workload::make(Bounds bounds) {
  if (const Status names = check_names(bounds); !names) return names.error();
  if (bounds.versions == 0 || bounds.versions > kVersions) {
    return bad_input(fmt::format("versions {} is not in 1..{}", bounds.versions, kVersions));
  }
  if (bounds.max_links == 0) return bad_input("max-links 0 leaves no name for a file; it starts at 1");
  if (bounds.handles && bounds.max_open == 0)
    return bad_input("max-open 0 leaves no file to write; with handles it starts at 1");
  if (bounds.handles && !(bounds.ops.has(OpKind::kOpen) && bounds.ops.has(OpKind::kClose)))
    return bad_input("handles need the ops open and close");
  if (bounds.variety.unit == 0) return bad_input("a unit of 0 bytes holds nothing; units start at 1");
  if (bounds.max_file_size > FileData::kMaxSize)
    return bad_input("the largest file is larger than a file can be");
  for (const Status& pool :
       {check_pool("names", bounds.names), check_pool("write sizes", bounds.write_sizes),
        check_pool("write offsets", bounds.write_offsets),
        check_pool("truncate sizes", bounds.truncate_sizes), check_pool("attributes", bounds.xattr_names),
        check_pool("sizes of attributes", bounds.xattr_sizes)}) {
    if (!pool) return pool.error();
  }
  for (const std::string& name : bounds.xattr_names) {
    if (!name.starts_with("user.") || name.size() > Path::kCapacity || !Path::holds(name))
      return bad_input(fmt::format("'{}' cannot be an attribute; their names start with 'user.'", name));
  }
  for (uint32_t size : bounds.write_sizes) {
    if (size == 0) return bad_input("a write of 0 bytes does nothing; sizes start at 1");
  }
  return Workload(std::move(bounds));
}

void Workload::from(const Tree& tree, std::vector<Candidate>* out) {
  out->clear();
  find_path_nodes(tree);
  add_new(tree, OpKind::kCreate, out);
  add_new(tree, OpKind::kMkdir, out);
  add_removals(tree, out);
  add_renames(tree, out);
  add_links(tree, out);
  add_new(tree, OpKind::kSymlink, out);
  add_writes(tree, out);
  add_truncates(tree, out);
  add_queries(tree, out);
  add_syncs(tree, out);
  add_handles(tree, out);
  add_xattrs(tree, out);
  add_numbered(tree, out);
  add_modes(tree, out);
  add_exchanges(tree, out);
  add_ranges(tree, out);
  if (bounds_.impossible) add_impossible(tree, out);
}

void Workload::find_path_nodes(const Tree& tree) {
  seen_.assign(tree.node_limit(), 0);
  path_nodes_.clear();
  for (uint32_t& count : left_out_) count = 0;
  path_nodes_.push_back({Path("/"), kRootNode, kRootNode, FileType::kDirectory, true, 0, 0, 0});
  find_path_nodes_in(tree, 0);
}

void Workload::leave_out(const Tree& tree, NodeId id) {
  if (std::exchange(seen_[static_cast<uint32_t>(id)], uint8_t{1}) != 0) return;
  ++left_out_[static_cast<size_t>(tree.node(id).type)];
  if (tree.node(id).type != FileType::kDirectory) return;
  for (const Tree::Entry& e : tree.children(id)) leave_out(tree, e.node);
}

void Workload::find_path_nodes_in(const Tree& tree, size_t directory) {
  const PathNode here = path_nodes_[directory];
  uint32_t deepest = here.depth;
  for (const Tree::Entry& e : tree.children(here.node)) {
    if (bounds_.variety.ballast && directory == 0 && !is_own(bounds_, e.name())) {
      leave_out(tree, e.node);
      continue;
    }
    if (!Path::holds(e.name()) || !here.path.has_room_for(e.name())) continue;
    const FileType type = tree.node(e.node).type;
    uint8_t& seen = seen_[static_cast<uint32_t>(e.node)];
    const size_t at = path_nodes_.size();
    path_nodes_.push_back({here.path.child(e.name()), e.node, here.node, type, seen == 0, here.depth + 1,
                           here.depth + 1, at + 1});
    seen = 1;
    if (type == FileType::kDirectory) find_path_nodes_in(tree, at);
    deepest = std::max(deepest, path_nodes_[at].deepest);
  }
  path_nodes_[directory].deepest = deepest;
  path_nodes_[directory].end = path_nodes_.size();
}

void Workload::add_new(const Tree& tree, OpKind kind, std::vector<Candidate>* out) {
  if (!has(kind)) return;
  if (kind == OpKind::kCreate && count(tree, FileType::kFile) >= bounds_.max_files) return;
  if (kind == OpKind::kMkdir && count(tree, FileType::kDirectory) - 1 >= bounds_.max_dirs) return;
  if (kind == OpKind::kSymlink && count(tree, FileType::kSymlink) >= bounds_.max_symlinks) return;
  const Path target = kind == OpKind::kSymlink ? Path(bounds_.names.front()) : Path();
  for (const PathNode& directory : path_nodes_) {
    if (directory.type != FileType::kDirectory) continue;
    if (mutant(Mutant::kOnlyInRoot) && directory.depth != 0) continue;
    each_new_path(tree, directory, [&](const Path& path) { out->push_back({Op::of(kind, path, target)}); });
  }
}

void Workload::add_removals(const Tree& tree, std::vector<Candidate>* out) {
  if (has(OpKind::kUnlink)) {
    for (const PathNode& p : path_nodes_) {
      if (p.type != FileType::kDirectory && !is_open(tree, p))
        out->push_back({Op::of(OpKind::kUnlink, p.path)});
    }
  }
  if (has(OpKind::kRmdir)) {
    for (const PathNode& p : path_nodes_) {
      if (p.type != FileType::kDirectory || p.depth == 0 || !tree.children(p.node).empty()) continue;
      out->push_back({Op::of(OpKind::kRmdir, p.path)});
    }
  }
}

void Workload::add_renames(const Tree& tree, std::vector<Candidate>* out) {
  if (!has(OpKind::kRename)) return;
  for (size_t s = 1; s < path_nodes_.size(); ++s) {
    const PathNode& source = path_nodes_[s];
    if (is_open(tree, source)) continue;
    const bool directory = source.type == FileType::kDirectory;
    const uint32_t height = source.deepest - source.depth;
    for (size_t t = 0; t < path_nodes_.size(); ++t) {
      const PathNode& into = path_nodes_[t];
      const bool own_subtree = t >= s && t < source.end;
      if (into.type != FileType::kDirectory || own_subtree || into.depth + 1 + height > bounds_.max_depth)
        continue;
      each_new_path(tree, into,
                    [&](const Path& path) { out->push_back({Op::of(OpKind::kRename, source.path, path)}); });
      for (size_t r = t + 1; r < into.end; r = path_nodes_[r].end) {
        const PathNode& replaced = path_nodes_[r];
        if (r == s || is_open(tree, replaced) || (replaced.type == FileType::kDirectory) != directory)
          continue;
        if (directory && !tree.children(replaced.node).empty()) continue;
        if (mutant(Mutant::kNoReplacingRename)) continue;
        out->push_back({Op::of(OpKind::kRename, source.path, replaced.path)});
      }
    }
  }
}

void Workload::add_links(const Tree& tree, std::vector<Candidate>* out) {
  if (!has(OpKind::kLink)) return;
  for (const PathNode& file : path_nodes_) {
    if (file.type != FileType::kFile || !file.first || is_open(tree, file) ||
        tree.node(file.node).names >= bounds_.max_links)
      continue;
    for (const PathNode& directory : path_nodes_) {
      if (directory.type != FileType::kDirectory) continue;
      each_new_path(tree, directory,
                    [&](const Path& path) { out->push_back({Op::of(OpKind::kLink, file.path, path)}); });
    }
  }
}

// An overwrite uses the version after the current one, so that it always changes something.
Op next_version(Op op, const FileData& data, uint32_t versions) {
  std::byte now{}, then{};
  if (data.read(op.offset, {&now, 1}) == 0) return op;
  for (uint32_t version = 0; version < versions; ++version) {
    op.version = static_cast<uint8_t>(version);
    fill_data(op, op.offset, {&then, 1});
    if (now != then) continue;
    op.version = static_cast<uint8_t>((version + (mutant(Mutant::kSameVersionAgain) ? 0 : 1)) % versions);
    return op;
  }
  op.version = 0;
  return op;
}

// The same write with O_SYNC, with O_DIRECT or through a mapping.
static Op as_write(OpKind kind, const Op& op, uint64_t size) {
  return Op::range(kind, op.path, op.kind == OpKind::kAppend ? size : op.offset, op.length);
}

template <class Use>
void Workload::each_offset(uint64_t size, Use use) const {
  const std::vector<uint64_t>& pool = bounds_.write_offsets;
  for (const uint64_t offset : pool) use(offset);
  if (!bounds_.variety.write_steps) return;
  for (const uint64_t offset :
       {size - std::min<uint64_t>(bounds_.variety.unit, size), size + bounds_.variety.unit})
    if (std::find(pool.begin(), pool.end(), offset) == pool.end()) use(offset);
}

template <class Use>
void Workload::each_write(const Path& path, const FileData& data, Use use) const {
  const uint64_t limit = bounds_.max_file_size;
  auto fits = [&](uint64_t offset, uint64_t length) { return offset <= limit && length <= limit - offset; };
  const bool writes = has(OpKind::kWrite) && !mutant(Mutant::kAppendOnly);
  if (writes) {
    each_offset(data.size(), [&](uint64_t offset) {
      if (offset == data.size() && has(OpKind::kAppend)) return;  // the same as append
      for (const uint32_t size : bounds_.write_sizes)
        if (fits(offset, size)) use(Op::write(path, offset, size));
    });
  }
  for (uint32_t size : bounds_.write_sizes) {
    if (has(OpKind::kAppend) && fits(data.size(), size)) use(Op::append(path, size));
  }
}

// Whether the write can be made in this way: O_DIRECT takes whole units, and a mapping ends with the file.
bool Workload::admits(OpKind kind, const Op& op, uint64_t size) const {
  const uint64_t offset = op.kind == OpKind::kAppend ? size : op.offset;
  const uint32_t unit = direct_unit(bounds_.variety.unit);
  if (kind == OpKind::kWriteDirect) return offset % unit == 0 && op.length % unit == 0;
  return kind != OpKind::kWriteMapped || offset + op.length <= size;
}

void Workload::add_writes(const Tree& tree, std::vector<Candidate>* out) {
  for (const OpKind kind :
       {OpKind::kWrite, OpKind::kAppend, OpKind::kWriteSync, OpKind::kWriteDirect, OpKind::kWriteMapped}) {
    for (const PathNode& p : path_nodes_) {
      if (!has(kind) || p.type != FileType::kFile || !p.first || needs_open(tree, p)) continue;
      const FileData& data = tree.node(p.node).data;
      uint64_t number = 0, count = 0, chosen = 0;
      if (bounds_.one_write) {
        each_write(p.path, data, [&](const Op& op) { count += admits(kind, op, data.size()) ? 1 : 0; });
        const std::string_view path = p.path;
        const uint64_t hash = mul_fold(XXH3_64bits(path.data(), path.size()) ^ data.size(),
                                       0x9e3779b97f4a7c15u + bounds_.versions);
        chosen = count == 0 ? 0 : hash % count;
      }
      each_write(p.path, data, [&](const Op& op) {
        if (!admits(kind, op, data.size()) || (bounds_.one_write && number++ != chosen)) return;
        if (kind != OpKind::kWrite && kind != OpKind::kAppend)
          return out->push_back({next_version(as_write(kind, op, data.size()), data, bounds_.versions)});
        if (op.kind != kind) return;
        out->push_back({kind == OpKind::kWrite ? next_version(op, data, bounds_.versions) : op});
      });
    }
  }
}

template <class Use>
void Workload::each_truncate(uint64_t size, Use use) const {
  const std::vector<uint64_t>& pool = bounds_.truncate_sizes;
  for (const uint64_t to : pool)
    if (to != size && to <= bounds_.max_file_size) use(to);
  const auto step = [&](uint64_t by) {
    for (const uint64_t to : {size - std::min(by, size), size + by})
      if (to != size && to <= bounds_.max_file_size && std::find(pool.begin(), pool.end(), to) == pool.end())
        use(to);
  };
  if (bounds_.variety.truncate_steps) step(bounds_.variety.unit);
  if (bounds_.variety.odd && !(bounds_.variety.truncate_steps && bounds_.variety.unit == 1)) step(1);
}

void Workload::add_truncates(const Tree& tree, std::vector<Candidate>* out) {
  if (!has(OpKind::kTruncate)) return;
  for (const PathNode& p : path_nodes_) {
    if (p.type != FileType::kFile || !p.first || needs_open(tree, p)) continue;
    each_truncate(tree.node(p.node).data.size(),
                  [&](uint64_t size) { out->push_back({Op::truncate(p.path, size)}); });
  }
}

void Workload::add_queries(const Tree& tree, std::vector<Candidate>* out) {
  for (const PathNode& p : path_nodes_) {
    if (!has(OpKind::kRead) || p.type != FileType::kFile || !p.first) continue;
    const uint64_t size = std::min<uint64_t>(tree.node(p.node).data.size(), UINT32_MAX);
    out->push_back(
        {Op::read(p.path, 0, static_cast<uint32_t>(std::max<uint64_t>(size, bounds_.variety.unit)))});
  }
  for (const PathNode& p : path_nodes_) {
    if (has(OpKind::kReaddir) && p.type == FileType::kDirectory)
      out->push_back({Op::of(OpKind::kReaddir, p.path)});
  }
  for (const PathNode& p : path_nodes_) {
    if (has(OpKind::kStat) && p.type != FileType::kSymlink) out->push_back({Op::of(OpKind::kStat, p.path)});
  }
}

void Workload::add_syncs(const Tree& tree, std::vector<Candidate>* out) {
  for (const PathNode& p : path_nodes_) {
    if (has(OpKind::kFsync) && p.type != FileType::kSymlink && p.first && !needs_open(tree, p))
      out->push_back({Op::of(OpKind::kFsync, p.path)});
  }
  for (const PathNode& p : path_nodes_) {
    if (has(OpKind::kFdatasync) && p.type == FileType::kFile && p.first && !needs_open(tree, p)) {
      out->push_back({Op::of(OpKind::kFdatasync, p.path)});
    }
  }
  for (const PathNode& p : path_nodes_) {
    const bool file = p.type == FileType::kFile && p.first && !needs_open(tree, p);
    if (has(OpKind::kMsync) && file && tree.node(p.node).data.size() != 0)
      out->push_back({Op::of(OpKind::kMsync, p.path)});
  }
  for (const OpKind kind : {OpKind::kSync, OpKind::kSyncfs, OpKind::kCommit})
    if (has(kind)) out->push_back({Op::of(kind)});
  const bool busy = tree.open_count() != 0;
  if (has(OpKind::kRemount) && !busy) out->push_back({Op::of(OpKind::kRemount)});
  for (const OpKind kind : {OpKind::kSnapshot, OpKind::kRestore})
    if (has(kind) && !busy) out->push_back({Op::of(kind)});
}

void Workload::add_handles(const Tree& tree, std::vector<Candidate>* out) {
  if (!bounds_.handles) return;
  for (const OpKind kind : {OpKind::kOpen, OpKind::kClose}) {
    if (!has(kind) || (kind == OpKind::kOpen && tree.open_count() >= bounds_.max_open)) continue;
    for (const PathNode& p : path_nodes_) {
      if (p.type == FileType::kFile && p.first && needs_open(tree, p) == (kind == OpKind::kOpen))
        out->push_back({Op::of(kind, p.path)});
    }
  }
}

}  // namespace sisyfs
