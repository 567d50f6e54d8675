// NodeTree: the kept states of a search as a tree of choices, without the states.
//
// A node is its parent's number and the choice that led from there: eight bytes. Nodes are numbered in
// the order in which they are added, the initial state is number 0, and a parent comes before its
// children. A state is had again by following the choices of its path.
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

struct Node {
  uint32_t parent;
  Choice choice;
};

class NodeTree {
 public:
  // A tree of at most `most` nodes that holds the initial state. `with_depth` keeps two bytes more a node.
  NodeTree(uint64_t most, bool with_depth)
      : most_(static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, kMost))),
        nodes_(most_ * sizeof(Node)),
        with_depth_(with_depth) {
    if (with_depth) depths_ = Reservation(most_ * sizeof(uint16_t));
  }
  bool ok() const { return nodes_.data() != nullptr && (!with_depth_ || depths_.data() != nullptr); }

  uint32_t size() const { return size_; }
  bool full() const { return size_ == most_; }
  const Node& at(uint32_t node) const { return reinterpret_cast<const Node*>(nodes_.data())[node]; }
  // Only with depth; capped at 65535.
  uint32_t depth(uint32_t node) const { return reinterpret_cast<const uint16_t*>(depths_.data())[node]; }

  // The tree must not be full.
  void add(uint32_t parent, Choice choice, uint32_t depth) {
    SISYFS_ASSERT(!full() && parent < size_, "a node has room and a parent");
    reinterpret_cast<Node*>(nodes_.data())[size_] = {parent, choice};
    if (with_depth_)
      reinterpret_cast<uint16_t*>(depths_.data())[size_] =
          static_cast<uint16_t>(std::min<uint32_t>(depth, kDeepest));
    ++size_;
  }

  Trace path_to(uint32_t node) const {
    Trace trace;
    for (; node != 0; node = at(node).parent) trace.push_back(at(node).choice);
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
