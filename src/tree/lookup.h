// Tree::Lookup: follows a path through a tree as Linux does. Private to src/tree.
#pragma once

#include <string>
#include <string_view>

#include "tree/tree.h"

namespace sisyfs {

class Tree::Lookup {
 public:
  enum Last { kFollow, kKeep };  // what to do where the last component is a symbolic link

  Lookup(const Tree& tree, std::string_view path, Last last);
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // 0 or the errno of the walk. A last component that does not exist is no error here.
  int error() const { return error_; }
  bool found() const { return node_ != kNoNode; }
  NodeId node() const { return node_; }
  // Where the last component is, or would be. Without a name (the root, or a link that ends
  // in "..") there is no parent either.
  bool named() const { return !name_.empty(); }
  NodeId parent() const { return parent_; }
  std::string_view name() const { return name_; }

 private:
  void walk(const Tree& tree, std::string_view path, Last last);

  int error_ = 0;
  NodeId node_ = kNoNode;
  NodeId parent_ = kNoNode;
  std::string_view name_;
  std::string rest_;  // what is left of the path once a symbolic link was followed
};

}  // namespace sisyfs
