#include "tree/lookup.h"

#include <algorithm>
#include <cerrno>

namespace sisyfs {
namespace {

constexpr int kMaxFollowed = 40;

bool canonical(std::string_view path) {
  if (path == "/") return true;
  if (path.empty() || path.front() != '/') return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name == "." || name == "..") return false;
    path.remove_prefix(name.size());
  }
  return true;
}

}  // namespace

Tree::Lookup::Lookup(const Tree& tree, std::string_view path, Last last) {
  if (const uint32_t handle = handle_in(path); handle != kHandles) {
    node_ = tree.behind(handle);
    if (node_ == kNoNode) error_ = EBADF;
    return;
  }
  SISYFS_ASSERT(canonical(path), "a path is absolute and has no empty, . or .. component");
  walk(tree, path, last);
}

void Tree::Lookup::walk(const Tree& tree, std::string_view path, Last last) {
  NodeId here = kRootNode;
  int followed = 0;
  while (true) {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    if (path.empty()) {
      node_ = here;
      return;
    }
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    if (name == ".") continue;
    if (name == "..") {
      here = tree.node(here).parent;
      continue;
    }
    if (name.size() > Name::kMaxSize) {
      error_ = ENAMETOOLONG;
      return;
    }
    const NodeId next = tree.child(here, name);
    const bool exists = next != kNoNode;
    if (!exists && !path.empty()) {
      error_ = ENOENT;
      return;
    }
    const FileType type = exists ? tree.node(next).type : FileType::kFile;
    if (exists && type == FileType::kSymlink && (!path.empty() || last == kFollow)) {
      if (++followed > kMaxFollowed) {
        error_ = ELOOP;
        return;
      }
      rest_ = tree.node(next).data.text().append(path);
      path = rest_;
      if (path.front() == '/') here = kRootNode;
      continue;
    }
    if (path.empty()) {
      node_ = next;
      parent_ = here;
      name_ = name;
      return;
    }
    if (type != FileType::kDirectory) {
      error_ = ENOTDIR;
      return;
    }
    here = next;
  }
}

}  // namespace sisyfs
