// GenerationSearch: what a search in generations knows, without the states themselves.
//
// A generation is a sorted list of nodes to expand: a whole layer of a breadth-first search. Workers claim
// contiguous ranges of it in ascending order and hand in the successors through their Harvester. When all
// are done, the candidates become nodes in order and the next generation is chosen (next_generation()).
// What is kept does not depend on the number of workers, nor on who was first: also where states are taken
// for one that are not equal. docs/design/generations.md has the reasons; generations.h the other half,
// which makes states of nodes.
#pragma once

#include <memory>
#include <optional>

#include "explore/harvester.h"
#include "explore/state_tree.h"

namespace sisyfs {

class GenerationSearch {
 public:
  GenerationSearch(const SearchOptions& options, Team& team);

  // Takes the fingerprint of the initial state and begins. False where memory was refused.
  bool begin(const Digest& initial);

  const StateTree& tree() const { return tree_; }
  const VisitedSet* visited() const { return visited_ ? &*visited_ : nullptr; }
  Harvester& harvester(unsigned worker) { return *harvesters_[worker]; }

  // Whether there is a generation to expand.
  bool open() const { return open_; }
  // Claims the next range for a worker. False when the generation has been claimed.
  bool claim(unsigned worker);
  uint32_t node_at(uint32_t position) const { return first_ + position; }
  uint32_t depth_at(uint32_t) const { return depth_; }

  // While all workers stand still: makes room.
  void maintain();
  // When all workers have met at the end of a generation: makes nodes of its candidates and turns to the
  // next one.
  void next_generation();
  // A node that could not be had again. From any worker.
  void break_at(uint32_t node);

  void conclude(SearchResult& result) const;
  // Visited set, tree and candidates. May be asked at any time.
  size_t bytes() const;

 private:
  bool harvest();
  void advance();
  bool keep(const Candidate& candidate);
  Yield sum() const;
  void set_candidate_limit();
  size_t left_of_bound(size_t used) const;

  const SearchOptions& options_;
  Team& team_;
  StateTree tree_;
  std::optional<VisitedSet> visited_;
  Candidates candidates_;
  std::vector<std::unique_ptr<Harvester>> harvesters_;

  // The generation: nodes first_ to first_ + size_, all at depth_.
  uint32_t first_ = 0, size_ = 0, depth_ = 0;
  std::atomic<uint64_t> cursor_{0};  // positions before it are claimed
  uint32_t grain_ = 1;
  bool open_ = false;
  bool ended_ = false;  // there is nothing left to expand
  uint64_t unexpanded_ = 0;
  std::atomic<size_t> tree_bytes_{0};
  std::atomic<uint64_t> broken_{~uint64_t{0}};
};

}  // namespace sisyfs
