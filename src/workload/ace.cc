#include "workload/ace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "workload/next_version.h"

namespace sisyfs {
namespace {

constexpr uint32_t bit(uint32_t object) { return 1u << object; }

}  // namespace

// Bits 0 to 7 named, 8 to 15 left, 16 to 24 touched, 25 to 27 core ops, 30 set. Beforehand: bits 8 to 15
// made, 16 to 19 the next object, 20 whether a file needs data, 30 clear. So the start is 0.
uint32_t AceWorkload::pack(const Place& p) {
  if (!p.core) return p.left << 8 | p.next_object << 16 | (p.needs_data ? 1u << 20 : 0);
  return p.named | p.left << 8 | p.touched << 16 | p.done << 25 | 1u << 30;
}

AceWorkload::Place AceWorkload::unpack(uint32_t position) {
  Place p;
  p.core = (position >> 30 & 1) != 0;
  p.left = position >> 8 & 0xff;
  if (p.core) {
    p.named = position & 0xff;
    p.touched = position >> 16 & 0x1ff;
    p.done = position >> 25 & 7;
  } else {
    p.next_object = position >> 16 & 0xf;
    p.needs_data = (position >> 20 & 1) != 0;
  }
  return p;
}

Result<AceWorkload> AceWorkload::make(const Bounds& bounds, uint32_t core_ops) {
  if (core_ops == 0 || core_ops > kMostOps)
    return bad_input(
        fmt::format("a workload of ACE has 1 to {} core ops (--depth), not {}", kMostOps, core_ops));
  AceWorkload ace(bounds);
  ace.core_ops_ = core_ops;
  ace.unit_ = bounds.write_sizes.empty() ? bounds.variety.unit : bounds.write_sizes.front();
  ace.has_directories_ = bounds.ops.has(OpKind::kMkdir) && bounds.max_depth > 1;
  const bool given = bounds.fixed_names || bounds.variety.names != NameStyle::kPlain;
  std::vector<std::string> names = given ? bounds.names : std::vector<std::string>{"foo", "bar", "A", "B"};
  if (names.size() < 2) return bad_input("the workloads of ACE need two names, and the target knows one");
  if (names.size() < 4) ace.has_directories_ = false;
  names.resize(4);
  const Path root("/");
  for (uint32_t object = 0; object <= kObjects; ++object) {
    if (object == kRoot)
      ace.paths_[object] = root;
    else if (!is_file(object))
      ace.paths_[object] = names[2 + object].empty() ? root : root.child(names[2 + object]);
    else
      ace.paths_[object] = ace.paths_[directory_of(object)].child(names[object % 2]);
  }
  return ace;
}

void AceWorkload::from(uint32_t position, const Tree& tree, std::vector<Next>* out) const {
  out->clear();
  if (position == kEnd) return;
  const Place at = unpack(position);
  if (!at.core) return add_beforehand(at, tree, out);
  add_persistence(at, tree, out);
  if (at.done < core_ops_) add_core(at, tree, out);
}

// Directories come before their files, so everything is made in the order of its numbers.
void AceWorkload::add_beforehand(const Place& at, const Tree& tree, std::vector<Next>* out) const {
  const auto add = [&](const Op& op, const Place& next) {
    Tree after = tree;
    if (apply(op, after).error == 0) out->push_back({op, pack(next), false});
  };
  Place next = at;
  if (at.needs_data) {
    next.needs_data = false;
    return add(Op::append(paths_[at.next_object - 1], unit_), next);
  }
  for (uint32_t object = at.next_object; object < kObjects; ++object) {
    const uint32_t directory = directory_of(object);
    if (!exists(object) || (directory != kRoot && (at.left & bit(directory)) == 0)) continue;
    if (is_file(object) && tree.count(FileType::kFile) >= bounds_.max_files) continue;
    next = at;
    next.left |= bit(object);
    if (!can_be_named(next.left, core_ops_)) continue;
    next.next_object = object + 1;
    next.needs_data = is_file(object) && has(OpKind::kAppend);
    add(Op::of(is_file(object) ? OpKind::kCreate : OpKind::kMkdir, paths_[object]), next);
  }
  const Place begun{.core = true, .left = at.left};
  if (at.left == 0) return add_core(begun, tree, out);
  if (has(OpKind::kSync)) return add(Op::of(OpKind::kSync), begun);
  if (has(OpKind::kRemount)) return add(Op::of(OpKind::kRemount), begun);
  add_core(begun, tree, out);
}

// An op names two files or directories at most, and the directories that they are in.
bool AceWorkload::can_be_named(uint32_t left, uint32_t ops) const {
  uint32_t empty = 0;
  for (const uint32_t directory : {kA, kB}) {
    const uint32_t files = bit(4 + 2 * directory) | bit(5 + 2 * directory);
    if ((left & bit(directory)) != 0 && (left & files) == 0) ++empty;
  }
  const auto files = static_cast<uint32_t>(std::popcount(left >> kFiles));
  return files <= 2 * ops && empty <= 2 * ops;
}

const Tree::Node* AceWorkload::node_at(const Tree& tree, uint32_t object) const {
  const auto last_name = [&](uint32_t of) {
    const std::string_view path = paths_[of];
    return path.substr(path.rfind('/') + 1);
  };
  if (object == kRoot) return &tree.node(kRootNode);
  const uint32_t directory = directory_of(object);
  const NodeId in = directory == kRoot ? kRootNode : tree.child(kRootNode, last_name(directory));
  if (in == kNoNode || tree.node(in).type != FileType::kDirectory) return nullptr;
  const NodeId id = tree.child(in, last_name(object));
  return id == kNoNode ? nullptr : &tree.node(id);
}

void AceWorkload::add_core(const Place& at, const Tree& tree, std::vector<Next>* out) const {
  for (uint32_t object = 0; object < kObjects; ++object) {
    if (!exists(object)) continue;
    if (is_file(object)) {
      add_of_file(at, object, tree, out);
      continue;
    }
    for (const OpKind kind : {OpKind::kMkdir, OpKind::kRmdir})
      if (has(kind)) add_core_op(at, tree, Op::of(kind, paths_[object]), {object}, out);
  }
  add_pairs(at, tree, out);
}

void AceWorkload::add_of_file(const Place& at, uint32_t file, const Tree& tree,
                              std::vector<Next>* out) const {
  const auto add = [&](const Op& op) {
    if (has(op.kind)) add_core_op(at, tree, op, {file}, out);
  };
  const Path& path = paths_[file];
  const Tree::Node* const node = node_at(tree, file);
  if (node == nullptr) {
    if (tree.count(FileType::kFile) < bounds_.max_files) add(Op::of(OpKind::kCreate, path));
    // It leads to the other name in its directory.
    const std::string_view other = paths_[file ^ 1];
    return add(Op::of(OpKind::kSymlink, path, Path(other.substr(other.rfind('/') + 1))));
  }
  add(Op::of(OpKind::kUnlink, path));
  if (node->type != FileType::kFile) return;
  const uint64_t size = node->data.size();
  const auto fits = [&](uint64_t offset) { return offset + unit_ <= bounds_.max_file_size; };
  const auto version = [&](const Op& op) { return next_version(op, node->data, bounds_.versions); };
  if (size >= unit_) add(version(Op::write(path, 0, unit_)));
  if (fits(size)) add(Op::append(path, unit_));
  if (fits(size + unit_)) add(Op::write(path, size + unit_, unit_));  // leaves a hole
  if (size >= unit_) add(version(Op::write_sync(path, 0, unit_)));
  if (fits(size)) add(Op::write_sync(path, size, unit_));
  if (size != 0) add(Op::truncate(path, 0));
  if (fits(size)) add(Op::truncate(path, size + unit_));
  const std::string& name = bounds_.xattr_names.empty() ? std::string() : bounds_.xattr_names.front();
  if (!name.empty() && !bounds_.xattr_sizes.empty()) {
    if (node->xattrs.find(name) == nullptr)
      add(Op::setxattr(path, name, bounds_.xattr_sizes.front()));
    else
      add(Op::of(OpKind::kRemovexattr, path, Path(name)));
  }
  for (const uint16_t mode : bounds_.variety.modes)
    if (mode != node->mode) add(Op::chmod(path, mode));
}

void AceWorkload::add_pairs(const Place& at, const Tree& tree, std::vector<Next>* out) const {
  for (const OpKind kind : {OpKind::kLink, OpKind::kRename}) {
    if (!has(kind)) continue;
    for (uint32_t from = 0; from < kObjects; ++from) {
      const Tree::Node* const node = exists(from) ? node_at(tree, from) : nullptr;
      if (node == nullptr || (kind == OpKind::kLink && node->type != FileType::kFile)) continue;
      for (uint32_t to = 0; to < kObjects; ++to)
        if (to != from && exists(to) && is_file(to) == is_file(from))
          add_core_op(at, tree, Op::of(kind, paths_[from], paths_[to]), {from, to}, out);
    }
  }
}

// The first directory of a workload is /A, and the first file in each directory foo.
bool AceWorkload::add_name(uint32_t object, uint32_t& named) {
  const uint32_t directory = is_file(object) ? directory_of(object) : object;
  if (directory == kB && (named & bit(kA)) == 0) return false;
  if (directory != kRoot) named |= bit(directory);
  if (!is_file(object)) return true;
  if (object % 2 == 1 && (named & bit(object - 1)) == 0) return false;
  named |= bit(object);
  return true;
}

void AceWorkload::add_core_op(const Place& at, const Tree& tree, const Op& op, Names names,
                              std::vector<Next>* out) const {
  Place next = at;
  next.touched = 0;
  ++next.done;
  for (const uint32_t object : {names.first, names.second}) {
    if (object == kObjects) continue;
    if (!add_name(object, next.named)) return;
    next.touched |= bit(object) | bit(directory_of(object));
    next.left &= ~(bit(object) | bit(directory_of(object)));
  }
  // The files of a directory come with it.
  if (op.kind == OpKind::kRename && !is_file(names.first)) {
    for (uint32_t file = 0; file < 2; ++file) {
      const uint32_t object = 4 + 2 * names.first + file;
      const uint32_t before = bit(object), after = bit(4 + 2 * names.second + file);
      if ((next.left & before) != 0 && !add_name(object, next.named)) return;
      if ((next.named & before) != 0) next.named |= after;
      next.left &= ~before;
    }
  }
  if (!can_be_named(next.left, core_ops_ - next.done) || (next.done == core_ops_ && next.left != 0)) return;
  Tree after = tree;
  if (apply(op, after).error != 0) return;
  if (!can_persist()) next.touched = 0;
  const bool at_end = next.done == core_ops_ && next.touched == 0;
  out->push_back({op, at_end ? kEnd : pack(next), true});
}

bool AceWorkload::can_persist() const {
  return (bounds_.ops & OpSet(OpKind::kFsync, OpKind::kFdatasync, OpKind::kSync, OpKind::kRemount)) !=
         OpSet();
}

// A remount stands in for targets that have nothing else.
void AceWorkload::add_persistence(const Place& at, const Tree& tree, std::vector<Next>* out) const {
  if (at.touched == 0) return;
  Place next = at;
  next.touched = 0;
  const uint32_t position = at.done == core_ops_ ? kEnd : pack(next);
  const auto add = [&](const Op& op) {
    if (has(op.kind)) out->push_back({op, position, true});
  };
  for (uint32_t object = 0; object <= kObjects; ++object) {
    const Tree::Node* const node = (at.touched & bit(object)) == 0 ? nullptr : node_at(tree, object);
    if (node == nullptr || node->type == FileType::kSymlink) continue;
    add(Op::of(OpKind::kFsync, paths_[object]));
    if (node->type == FileType::kFile) add(Op::of(OpKind::kFdatasync, paths_[object]));
  }
  add(Op::of(OpKind::kSync));
  if (!has(OpKind::kFsync) && !has(OpKind::kFdatasync) && !has(OpKind::kSync)) add(Op::of(OpKind::kRemount));
}

std::optional<uint64_t> AceWorkload::count(const Tree& start) const {
  if (core_ops_ > kMostCounted) return std::nullopt;
  Counted known;
  return count_from(0, start, known);
}

// Of what follows. A workload is complete at each persistence point after which nothing is left to be named.
uint64_t AceWorkload::count_from(uint32_t position, const Tree& tree, Counted& known) const {
  if (position == kEnd) return 0;
  const std::pair key(position, tree.digest());
  if (const auto at = known.find(key); at != known.end()) return at->second;
  std::vector<Next> all;
  from(position, tree, &all);
  const Place place = unpack(position);
  uint64_t count = 0;
  for (const Next& next : all) {
    const bool persists = place.core && place.touched != 0 &&
                          (next.position == kEnd || unpack(next.position).done == place.done);
    if (persists ? place.left == 0 : next.position == kEnd) ++count;
    Tree after = tree;
    (void)apply(next.op, after);
    count += count_from(next.position, after, known);
  }
  return known[key] = count;
}

}  // namespace sisyfs
