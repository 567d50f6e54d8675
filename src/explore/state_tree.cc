#include "explore/state_tree.h"

#include <algorithm>
#include <cstring>

namespace sisyfs {

StateTree::StateTree(size_t max_bytes)
    : nodes_(std::clamp<size_t>(max_bytes, 4096, kMost * sizeof(Node))),
      capacity_(std::min<uint64_t>(nodes_.size() / sizeof(Node), kMost)) {}

void StateTree::add(std::span<const Node> nodes) {
  SISYFS_ASSERT(fits(nodes.size()), "the caller has asked whether the nodes fit");
  std::memcpy(data() + size_, nodes.data(), nodes.size_bytes());
  size_ += static_cast<uint32_t>(nodes.size());
}

uint32_t StateTree::depth_of(uint32_t node) const {
  uint32_t depth = 0;
  for (; node != 0; node = data()[node].parent) ++depth;
  return depth;
}

Trace StateTree::trace_to(uint32_t node) const {
  Trace trace;
  for (; node != 0; node = data()[node].parent) trace.push_back(data()[node].choice);
  std::reverse(trace.begin(), trace.end());
  return trace;
}

}  // namespace sisyfs
