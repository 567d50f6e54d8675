#include "tree/tree.h"

#include <cerrno>

#include "tree/lookup.h"

namespace sisyfs {
namespace {

int stat_of(const Tree& tree, NodeId id, Stat* out) {
  if (id == kNoNode) return ENOENT;
  const Tree::Node& node = tree.node(id);
  *out = {node.type, node.mode, node.links, node.data.size(), id};
  return 0;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

bool Tree::lies_in(NodeId id, NodeId ancestor) const {
  for (; id != ancestor; id = node(id).parent) {
    if (id == kRootNode) return false;
  }
  return true;
}

int Tree::add(std::string_view path, FileType type, std::string_view data) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (at.found()) return EEXIST;
  const NodeId id = make(at.parent(), at.name(), type);
  if (!data.empty()) write(id, 0, bytes_of(data));
  return 0;
}

int Tree::create(std::string_view path) { return add(path, FileType::kFile, ""); }

int Tree::mkdir(std::string_view path) { return add(path, FileType::kDirectory, ""); }

int Tree::symlink(std::string_view target, std::string_view path) {
  return target.empty() ? ENOENT : add(path, FileType::kSymlink, target);
}

int Tree::unlink(std::string_view path) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (is_held(at.node())) return EBUSY;
  drop_name(at.parent(), at.name());
  return 0;
}

int Tree::rmdir(std::string_view path) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (!at.named()) return EBUSY;
  if (!is_directory(at.node())) return ENOTDIR;
  if (!children(at.node()).empty()) return ENOTEMPTY;
  drop_name(at.parent(), at.name());
  return 0;
}

int Tree::link(std::string_view from, std::string_view path) {
  const Lookup source(*this, from, Lookup::kKeep);
  if (source.error()) return source.error();
  if (!source.found()) return ENOENT;
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (at.found()) return EEXIST;
  if (is_directory(source.node())) return EPERM;
  add_name(source.node(), at.parent(), at.name());
  return 0;
}

int Tree::rename(std::string_view from, std::string_view to) {
  const Lookup source(*this, from, Lookup::kKeep);
  if (source.error()) return source.error();
  const Lookup target(*this, to, Lookup::kKeep);
  if (target.error()) return target.error();
  if (!source.named() || !target.named()) return EBUSY;
  if (!source.found()) return ENOENT;

  const NodeId moved = source.node();
  const bool directory = is_directory(moved);
  if (directory && lies_in(target.parent(), moved)) return EINVAL;
  if (target.found()) {
    const NodeId replaced = target.node();
    if (is_directory(replaced) && lies_in(source.parent(), replaced)) return ENOTEMPTY;
    if (moved == replaced) return 0;  // POSIX: a rename between two names of one file does nothing
    if (directory && !is_directory(replaced)) return ENOTDIR;
    if (!directory && is_directory(replaced)) return EISDIR;
    if (directory && !children(replaced).empty()) return ENOTEMPTY;
    if (is_held(replaced)) return EBUSY;
    drop_name(target.parent(), target.name());
  }

  move(find(*body_, source.parent(), source.name()), target.parent(), target.name());
  return 0;
}

// Linux says first that one of them cannot be renamed, then that one is not there.
int Tree::exchange(std::string_view from, std::string_view to) {
  const Lookup source(*this, from, Lookup::kKeep);
  if (source.error()) return source.error();
  const Lookup target(*this, to, Lookup::kKeep);
  if (target.error()) return target.error();
  if (!source.named() || !target.named()) return EBUSY;
  if (!source.found() || !target.found()) return ENOENT;
  const NodeId one = source.node(), two = target.node();
  if (is_directory(one) && lies_in(target.parent(), one)) return EINVAL;
  if (is_directory(two) && lies_in(source.parent(), two)) return EINVAL;
  if (one == two) return 0;
  // Entries keep their slots, and no name of a path is a blank.
  const uint32_t first = find(*body_, source.parent(), source.name());
  const uint32_t second = find(*body_, target.parent(), target.name());
  move(first, target.parent(), " ");
  move(second, source.parent(), source.name());
  move(first, target.parent(), target.name());
  return 0;
}

int Tree::rename_new(std::string_view from, std::string_view to) {
  const Lookup source(*this, from, Lookup::kKeep);
  if (source.error()) return source.error();
  const Lookup target(*this, to, Lookup::kKeep);
  if (target.error()) return target.error();
  if (!source.named()) return EBUSY;
  if (!target.named()) return EEXIST;
  if (!source.found()) return ENOENT;
  if (target.found()) return EEXIST;
  if (is_directory(source.node()) && lies_in(target.parent(), source.node())) return EINVAL;
  move(find(*body_, source.parent(), source.name()), target.parent(), target.name());
  return 0;
}

int Tree::write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes) {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (!FileData::can_hold(offset, bytes.size())) return EINVAL;
  if (bytes.empty()) return 0;
  write(at.node(), offset, bytes);
  return 0;
}

int Tree::truncate(std::string_view path, uint64_t size) {
  if (size > FileData::kMaxSize) return EINVAL;
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (node(at.node()).data.size() != size) resize(at.node(), size);
  return 0;
}

int Tree::find_range(std::string_view path, uint64_t offset, uint64_t length, NodeId* id) const {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (offset > FileData::kMaxSize || length == 0) return EINVAL;
  if (!FileData::can_hold(offset, length)) return EFBIG;
  *id = at.node();
  return 0;
}

int Tree::fallocate(std::string_view path, uint64_t offset, uint64_t length) {
  NodeId id = kNoNode;
  if (const int error = find_range(path, offset, length, &id)) return error;
  if (node(id).data.size() < offset + length) resize(id, offset + length);
  return 0;
}

int Tree::fallocate_keep(std::string_view path, uint64_t offset, uint64_t length) const {
  NodeId id = kNoNode;
  return find_range(path, offset, length, &id);
}

int Tree::punch_hole(std::string_view path, uint64_t offset, uint64_t length) {
  NodeId id = kNoNode;
  if (const int error = find_range(path, offset, length, &id)) return error;
  clear(id, offset, length);
  return 0;
}

int Tree::zero_range(std::string_view path, uint64_t offset, uint64_t length) {
  if (const int error = punch_hole(path, offset, length)) return error;
  return fallocate(path, offset, length);
}

int Tree::set_open(std::string_view path, bool open) {
  const Lookup at(*this, path, Lookup::kFollow);
  if (!open && (at.error() || !at.found() || !node(at.node()).open)) return EBADF;
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (open && node(at.node()).open) return EBUSY;
  set_open(at.node(), open);
  return 0;
}

int Tree::open(std::string_view path) { return set_open(path, true); }

int Tree::close(std::string_view path) {
  const uint32_t handle = handle_in(path);
  if (handle == kHandles) return set_open(path, false);
  if (behind(handle) == kNoNode) return EBADF;
  release(handle);
  return 0;
}

int Tree::open(std::string_view path, std::string_view handle) {
  const uint32_t number = handle_in(handle);
  SISYFS_ASSERT(number != kHandles, "a handle has a number");
  if (behind(number) != kNoNode) return EBUSY;
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  hold(number, at.node());
  return 0;
}

int Tree::chmod(std::string_view path, uint16_t mode) {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  set_mode(at.node(), mode & kAllModeBits);
  return 0;
}

int Tree::read(std::string_view path, uint64_t offset, std::span<std::byte> out, size_t* count) const {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  // Linux checks the numbers first, because a directory can be opened for reading.
  if (!FileData::can_hold(offset, out.size())) return EINVAL;
  if (is_directory(at.node())) return EISDIR;
  *count = node(at.node()).data.read(offset, out);
  return 0;
}

int Tree::stat(std::string_view path, Stat* out) const {
  const Lookup at(*this, path, Lookup::kFollow);
  return at.error() ? at.error() : stat_of(*this, at.node(), out);
}

int Tree::lstat(std::string_view path, Stat* out) const {
  const Lookup at(*this, path, Lookup::kKeep);
  return at.error() ? at.error() : stat_of(*this, at.node(), out);
}

int Tree::readlink(std::string_view path, std::string* target) const {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (node(at.node()).type != FileType::kSymlink) return EINVAL;
  *target = node(at.node()).data.text();
  return 0;
}

int Tree::readdir(std::string_view path, Children* out) const {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (!is_directory(at.node())) return ENOTDIR;
  *out = children(at.node());
  return 0;
}

// The order of checks in Linux: length of the name, existence of the file, prefix of the name.
int Tree::find_for_xattr(std::string_view path, std::string_view name, NodeId* id) const {
  static constexpr std::string_view kSpace = "user.";
  if (name.empty() || name.size() > Name::kMaxSize) return ERANGE;
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (!name.starts_with(kSpace)) return EOPNOTSUPP;
  if (name.size() == kSpace.size()) return EINVAL;
  *id = at.node();
  return 0;
}

int Tree::setxattr(std::string_view path, std::string_view name, std::span<const std::byte> bytes) {
  NodeId id = kNoNode;
  if (!name.empty() && name.size() <= Name::kMaxSize && bytes.size() > Xattrs::kMaxValue) return E2BIG;
  if (const int error = find_for_xattr(path, name, &id)) return error;
  set_xattr(id, name, bytes);
  return 0;
}

int Tree::removexattr(std::string_view path, std::string_view name) {
  NodeId id = kNoNode;
  if (const int error = find_for_xattr(path, name, &id)) return error;
  if (node(id).xattrs.find(name) == nullptr) return ENODATA;
  drop_xattr(id, name);
  return 0;
}

int Tree::getxattr(std::string_view path, std::string_view name, const FileData** value) const {
  NodeId id = kNoNode;
  if (const int error = find_for_xattr(path, name, &id)) return error;
  const FileData* found = node(id).xattrs.find(name);
  if (found == nullptr) return ENODATA;
  *value = found;
  return 0;
}

int Tree::listxattr(std::string_view path, const Xattrs** all) const {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  *all = &node(at.node()).xattrs;
  return 0;
}

int Tree::set_links(std::string_view path, uint32_t links) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  set_links(at.node(), links);
  return 0;
}

}  // namespace sisyfs
