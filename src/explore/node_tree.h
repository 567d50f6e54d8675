// NodeTree: the states of a search, stored as a tree of choices.
//
// A node is the number of its parent and the choice that leads from there: twelve bytes, packed. Nodes are
// numbered in the order in which they are added, the initial state is number 0, and a parent has a smaller
// number than its children. A state is rebuilt by following the choices on its path from the root.
//
//   NodeTree tree(most, false);
//   tree.add(0, Choice{3}, 1);         // number 1
//   Trace trace = tree.path_to(1);     // {3}
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "explore/system.h"
#include "explore/visited.h"

namespace sisyfs {

// Packed: with the alignment of a 64-bit number a node would take 16 bytes.
struct [[gnu::packed]] Node {
  uint32_t parent;
  Choice choice;
};
static_assert(sizeof(Node) == 12);

class NodeTree {
 public:
  // A tree of at most `most` nodes that holds the initial state. `with_depth` stores the depth too, in two
  // bytes.
  NodeTree(uint64_t most, bool with_depth)
      : most_(static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, kMost))),
        nodes_(most_ * sizeof(Node)),
        with_depth_(with_depth) {
    if (with_depth) depths_ = Reservation(most_ * sizeof(uint16_t));
  }
  bool ok() const { return nodes_.data() != nullptr && (!with_depth_ || depths_.data() != nullptr); }

  uint32_t size() const { return size_; }
  bool full() const { return size_ == most_; }
  Node at(uint32_t node) const { return nodes()[node]; }
  const Node* nodes() const { return reinterpret_cast<const Node*>(nodes_.data()); }
  // Only with depth; capped at 65535.
  uint32_t depth(uint32_t node) const { return reinterpret_cast<const uint16_t*>(depths_.data())[node]; }

  // The tree must not be full.
  void add(uint32_t parent, Choice choice, uint32_t depth) {
    SISYFS_ASSERT(!full() && parent < size_, "the tree has room and the parent is in it");
    reinterpret_cast<Node*>(nodes_.data())[size_] = {parent, choice};
    if (with_depth_)
      reinterpret_cast<uint16_t*>(depths_.data())[size_] =
          static_cast<uint16_t>(std::min<uint32_t>(depth, kDeepest));
    ++size_;
  }

  Trace path_to(uint32_t node) const {
    Trace trace;
    while (node != 0) {
      const auto [parent, choice] = at(node);
      trace.emplace_back(choice);
      node = parent;
    }
    std::reverse(trace.begin(), trace.end());
    return trace;
  }

  const uint16_t* depths() const { return reinterpret_cast<const uint16_t*>(depths_.data()); }
  bool with_depth() const { return with_depth_; }
  size_t bytes() const { return size_t{size_} * (sizeof(Node) + (with_depth_ ? sizeof(uint16_t) : 0)); }

  static constexpr uint32_t kDeepest = std::numeric_limits<uint16_t>::max();

 private:
  static constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max() - 1;

  uint32_t most_;
  uint32_t size_ = 1;
  Reservation nodes_;
  Reservation depths_;
  bool with_depth_;
};

}  // namespace sisyfs
