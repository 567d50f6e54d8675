// Tree::Lookup: follows a path through a tree as Linux does. A handle leads to its file. Private to src/tree.
#pragma once

#include <string>
#include <string_view>

#include "tree/tree.h"

namespace sisyfs {

class Tree::Lookup {
 public:
  enum Last { kFollow, kKeep };  // whether to follow a symbolic link in the last component

  Lookup(const Tree& tree, std::string_view path, Last last);
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // 0 or the errno of the walk. A missing last component is not an error.
  int error() const { return error_; }
  bool found() const { return node_ != kNoNode; }
  NodeId node() const { return node_; }
  // The directory and name of the last component, whether it exists or not. The root, and a link that ends in
  // "..", and a handle, have no name and no parent.
  bool named() const { return !name_.empty(); }
  NodeId parent() const { return parent_; }
  std::string_view name() const { return name_; }

 private:
  void walk(const Tree& tree, std::string_view path, Last last);

  int error_ = 0;
  NodeId node_ = kNoNode;
  NodeId parent_ = kNoNode;
  std::string_view name_;
  std::string rest_;  // the remaining path after a symbolic link was followed
};

}  // namespace sisyfs
