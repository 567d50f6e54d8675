// PathWalk: follows a path through a VeriFS as Linux does, by the kernel's cache of names.
//
//   const PathWalk at(core, "/d/a", PathWalk::kKeep);
//   if (at.error() != 0) return at.error();
//   if (at.found()) ... at.ino() ... else ... at.name() can be made in at.parent()
//
// Allocates nothing: the rest of the path after a link is stored in the walk itself.
#pragma once

#include <array>
#include <string_view>

#include "models/verifs/core.h"

namespace sisyfs::verifs {

class PathWalk {
 public:
  enum Last { kFollow, kKeep };  // what to do where the last component is a symbolic link

  PathWalk(Core& core, std::string_view path, Last last);
  PathWalk(const PathWalk&) = delete;
  PathWalk& operator=(const PathWalk&) = delete;

  // 0, or an errno. It is no error if the last component does not exist.
  int error() const { return error_; }
  bool found() const { return ino_ != kNoIno; }
  Ino ino() const { return ino_; }
  // The directory and name of the last component, whether it exists or not. The root and a link that ends in
  // ".." have no name.
  bool named() const { return !name_.empty(); }
  Ino parent() const { return parent_; }
  std::string_view name() const { return name_; }

 private:
  static constexpr unsigned kMaxFollowed = 40;

  int walk(Core& core, std::string_view path, Last last);
  // Puts the target of a link in front of what is left.
  std::string_view prepend(const Inode& link, std::string_view rest);

  int error_ = 0;
  Ino ino_ = kNoIno;
  Ino parent_ = kNoIno;
  std::string_view name_;
  unsigned start_ = sizeof(rest_);
  std::array<char, 64 + (kMaxFollowed + 1) * kBufferSize> rest_;  // filled from its end
};

}  // namespace sisyfs::verifs
