// Agenda: which nodes of the tree are expanded next.
//
// A generation is a list of nodes in ascending order. Breadth-first it is a layer of the tree. In the
// best-first orders it is the best few hundred of the nodes that wait, where "best" is a class: how much
// work recovery had (most first), the rarest mark that the transition reached (the one seen least
// often when the generation was chosen first), or how many edges of the code it reached before any other
// (most first). In a class the older node comes first.
//
// A node with new edges shall not wait for others. So by coverage a generation is short: the nodes with new
// edges alone, and where there are none a few of the others.
//
//   Agenda agenda(SearchOrder::kBreadthFirst);
//   do {
//     for (uint32_t i = 0; i < agenda.size(); ++i) expand(agenda.node(i));    // add() what is kept
//   } while (agenda.turn());
//
// Nothing here depends on threads: add() is called in the order of nodes, turn() between generations.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "explore/search.h"

namespace sisyfs {

class Encoder;
class Decoder;

class Agenda {
 public:
  static constexpr uint32_t kGeneration = 512;      // nodes in a generation of a best-first order
  static constexpr uint32_t kShortGeneration = 16;  // the same by coverage, where no node has new edges

  explicit Agenda(SearchOrder order);  // the first generation is the initial state

  uint32_t size() const { return by_layer_ ? end_ - first_ : static_cast<uint32_t>(list_.size()); }
  uint32_t node(uint32_t i) const { return by_layer_ ? first_ + i : list_[i]; }
  uint32_t generation() const { return generation_; }  // breadth-first it is the depth

  // Whether a node is among the first `count` of this generation.
  bool is_among_first(uint32_t node, uint64_t count) const;

  // A node to be expanded in a later generation. Nodes are added in ascending order.
  void add(uint32_t node, Outcome led_there);
  // Turns to the next generation. False when no node waits.
  bool turn();

  bool counts_marks() const { return order_ == SearchOrder::kRarest; }
  using MarkCounts = std::array<uint64_t, 32>;
  void count_marks(const MarkCounts& more);

  size_t bytes() const;
  void save(Encoder& out) const;
  // False when what was saved is not an agenda of this order over a tree whose nodes lie so deep.
  bool restore(Decoder& in, const std::vector<uint32_t>& depths);

 private:
  static constexpr uint32_t kClasses = 256;
  static constexpr uint32_t kUnmarked = 32;  // the class of transitions without marks
  struct Queue {
    std::vector<uint32_t> nodes;
    size_t head = 0;
  };

  uint32_t class_of(Outcome outcome) const;
  bool layers_fit(const std::vector<uint32_t>& depths) const;
  size_t most_of(uint32_t which) const;
  std::vector<uint32_t> classes_best_first() const;

  SearchOrder order_;
  bool by_layer_;
  uint32_t generation_ = 0;
  uint32_t first_ = 0, end_ = 1, later_ = 1;  // breadth-first: this layer, and the end of the next
  std::vector<uint32_t> list_;                // best-first: this generation
  std::vector<Queue> queues_;                 // by class
  MarkCounts counts_{};                       // up to now
  MarkCounts counts_then_{};                  // when the generation was chosen
};

}  // namespace sisyfs
