#include "models/verifs/path.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace sisyfs::verifs {

PathWalk::PathWalk(Core& core, std::string_view path, Last last) { error_ = walk(core, path, last); }

std::string_view PathWalk::prepend(const Inode& link, std::string_view rest) {
  // The rest is either the caller's path, or lies here already, at the end.
  const bool mine = start_ != rest_.size();
  if (!mine) rest.copy(rest_.data() + rest_.size() - rest.size(), rest.size());
  start_ = static_cast<unsigned>(rest_.size() - rest.size() - link.size);
  std::memcpy(rest_.data() + start_, link.buffer.data(), link.size);
  return {rest_.data() + start_, link.size + rest.size()};
}

int PathWalk::walk(Core& core, std::string_view path, Last last) {
  Ino here = kRootIno;
  unsigned followed = 0;
  while (true) {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    if (path.empty()) {
      ino_ = here;
      return 0;
    }
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    if (name == ".") continue;
    if (name == "..") {
      here = core.inode(here).parent;
      continue;
    }
    if (name.size() > kNameLength) return ENAMETOOLONG;
    const Ino next = core.lookup(here, name);
    if (next == kNoIno && !path.empty()) return ENOENT;
    const Kind kind = next == kNoIno ? Kind::kFile : core.inode(next).kind;
    if (kind == Kind::kSymlink && (!path.empty() || last == kFollow)) {
      if (++followed > kMaxFollowed) return ELOOP;
      core.mark(kFollowed);
      path = prepend(core.inode(next), path);
      if (path.front() == '/') here = kRootIno;
      continue;
    }
    if (path.empty()) {
      ino_ = next;
      parent_ = here;
      name_ = name;
      return 0;
    }
    if (kind == Kind::kFree) return ESTALE;
    if (kind != Kind::kDirectory) return ENOTDIR;
    here = next;
  }
}

}  // namespace sisyfs::verifs
