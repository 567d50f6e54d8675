// SameShape: compares the names, types, links, attributes and targets of symbolic links of two trees, walking
// both in parallel. Bytes of files are not compared.
//
//   SameShape shape(tree, recovered, SameShape::Sizes::kEqual);
//   if (shape.holds()) compare(tree.node(shape.partner(id)), recovered.node(id));
#pragma once

#include <vector>

#include "tree/tree.h"

namespace sisyfs {

class SameShape {
 public:
  enum class Sizes : uint8_t { kEqual, kAny };  // of files

  // Borrows both trees.
  SameShape(const Tree& tree, const Tree& recovered, Sizes sizes);

  bool holds() const { return holds_; }
  // The node of `tree` that corresponds to a node of `recovered`, or kNoNode; only if it holds.
  NodeId partner(NodeId recovered) const { return partner_[static_cast<uint32_t>(recovered)]; }

 private:
  bool same(NodeId mine, NodeId theirs);

  const Tree& tree_;
  const Tree& recovered_;
  Sizes sizes_;
  std::vector<NodeId> partner_;  // by node of recovered_
  std::vector<bool> taken_;      // by node of tree_
  bool holds_ = false;
};

}  // namespace sisyfs
