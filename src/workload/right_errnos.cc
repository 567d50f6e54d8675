#include "workload/right_errnos.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace sisyfs {
namespace {

bool is_one_of(int answer, std::initializer_list<int> errnos) {
  return std::find(errnos.begin(), errnos.end(), answer) != errnos.end();
}

// A path of an op, looked up in the tree.
struct Place {
  Place(const Tree& tree, std::string_view text) : path(text), error(tree.lstat(text, &stat)) {
    const size_t slash = path.rfind('/');
    Stat above;
    const std::string_view parent = slash == 0 ? "/" : path.substr(0, slash);
    if (error == ENOENT) no_parent = tree.stat(parent, &above);
    if (found() && is_directory()) empty = tree.children(stat.node).empty();
  }
  bool is_root() const { return path == "/"; }
  bool found() const { return error == 0; }
  bool is_directory() const { return stat.type == FileType::kDirectory; }
  // Whether this lies below the other path.
  bool is_below(const Place& other) const {
    if (other.is_root()) return !is_root();
    return path.size() > other.path.size() && path.starts_with(other.path) && path[other.path.size()] == '/';
  }

  std::string_view path;
  Stat stat;
  int error;
  int no_parent = 0;  // why there is no directory for a new name
  bool empty = true;  // a directory without entries
};

// The kernel refuses calls on the root before a file system sees them.
bool refuses_root(int answer) {
  return is_one_of(answer, {EBUSY, EINVAL, EPERM, EACCES, EISDIR, ENOTEMPTY, EEXIST});
}

bool refuses_rename(const Place& from, const Place& to, int answer) {
  if ((from.is_root() || to.is_root()) && refuses_root(answer)) return true;
  if (!from.found() && answer == from.error) return true;
  // A new name needs a directory; without one it does not matter whether the old name is there.
  if (!to.found() && answer != 0 && answer == (to.no_parent != 0 ? to.no_parent : to.error) &&
      (to.no_parent != 0 || to.error != ENOENT))
    return true;
  if (!from.found()) return false;
  if (from.is_directory() && to.is_below(from) && answer == EINVAL) return true;
  if (!to.found()) return false;
  if (to.is_directory() && !to.empty && is_one_of(answer, {ENOTEMPTY, EEXIST})) return true;
  if (from.is_directory() && !to.is_directory() && answer == ENOTDIR) return true;
  return !from.is_directory() && to.is_directory() && answer == EISDIR;
}

// An exchange needs both names.
bool refuses_exchange(const Place& from, const Place& to, int answer) {
  if ((from.is_root() || to.is_root()) && refuses_root(answer)) return true;
  for (const Place* at : {&from, &to})
    if (!at->found() && answer == at->error) return true;
  const bool nested = (from.is_directory() && to.is_below(from)) || (to.is_directory() && from.is_below(to));
  return from.found() && to.found() && nested && answer == EINVAL;
}

bool refuses_link(const Place& from, const Place& to, int answer) {
  if (!from.found() && answer == from.error) return true;
  if (from.found() && from.is_directory() && answer == EPERM) return true;
  if (to.found()) return answer == EEXIST;
  if (to.error != ENOENT) return answer == to.error;
  return to.no_parent != 0 && answer == to.no_parent;
}

}  // namespace

bool needs_space(OpKind kind) {
  static constexpr OpSet kNeedsNone(OpKind::kRead, OpKind::kReaddir, OpKind::kStat, OpKind::kUnlink,
                                    OpKind::kRmdir, OpKind::kOpen);
  return !kNeedsNone.has(by_path(kind));
}

bool is_right_errno(const Op& op, const Tree& tree, int expected, int answer) {
  if (expected == 0 || answer == 0) return false;
  if (expected == answer) return true;
  const Place at(tree, op.path);
  switch (op.kind) {
    case OpKind::kUnlink:
      if (at.is_root()) return refuses_root(answer);
      return expected == EISDIR && answer == EPERM;  // Linux says EISDIR, POSIX EPERM
    case OpKind::kRmdir:
      if (at.is_root()) return refuses_root(answer);
      return expected == ENOTEMPTY && answer == EEXIST;
    case OpKind::kRename:
      return refuses_rename(at, Place(tree, op.other), answer);
    case OpKind::kRenameNew: {
      const Place to(tree, op.other);
      return (to.found() && answer == EEXIST) || refuses_rename(at, to, answer);
    }
    case OpKind::kExchange:
      return refuses_exchange(at, Place(tree, op.other), answer);
    case OpKind::kLink:
      return refuses_link(at, Place(tree, op.other), answer);
    default:
      return false;
  }
}

}  // namespace sisyfs
