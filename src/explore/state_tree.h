// StateTree: the kept states of a search as the ways to them, eight bytes each.
//
// A node is a state that was kept; it has the number of its parent and the choice that led from there to
// it. Node 0 is the initial state. Nodes are only ever added, and a parent has a smaller number than its
// children, so the tree may be read by all workers while none adds to it.
//
//   const uint32_t node = tree.add(parent, choice);
//   Trace trace = tree.trace_to(node);
#pragma once

#include <span>

#include "explore/system.h"
#include "explore/visited.h"

namespace sisyfs {

class StateTree {
 public:
  struct Node {
    uint32_t parent = 0;
    Choice choice{};
  };
  static constexpr uint64_t kMost = (uint64_t{1} << 32) - 1;  // nodes; numbers have 32 bits

  // A tree that will never use more than `max_bytes`. Ready to use if ok().
  explicit StateTree(size_t max_bytes);
  bool ok() const { return nodes_.data() != nullptr; }

  uint32_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(Node); }
  // Whether there is room for `more` nodes.
  bool fits(uint64_t more) const { return size_ + more <= capacity_; }
  uint32_t add(uint32_t parent, Choice choice) {
    data()[size_] = {parent, choice};
    return size_++;
  }
  void add(std::span<const Node> nodes);

  const Node& operator[](uint32_t node) const { return data()[node]; }
  std::span<const Node> nodes() const { return {data(), size_}; }
  uint32_t depth_of(uint32_t node) const;
  Trace trace_to(uint32_t node) const;

 private:
  Node* data() const { return reinterpret_cast<Node*>(nodes_.data()); }

  Reservation nodes_;
  uint64_t capacity_ = 0;
  uint32_t size_ = 0;
};

}  // namespace sisyfs
