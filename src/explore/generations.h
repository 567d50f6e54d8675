// Generations: the search for systems with heavy states. It keeps ways to states, not states.
//
// A file system with its disk takes kilobytes, an op of it microseconds: a frontier of such states fills
// the memory long before the time is up, and making one again is cheap. So the frontier holds numbers of
// nodes in a tree of choices (state_tree.h), and each worker makes states by following choices. It walks
// its range of the generation in order and keeps the states along the way from the root to where it is, so
// that neighbours share their ancestors and a node costs about one choice.
//
// A state that is made again must be what it was: its fingerprint must be among the visited ones, and the
// choices that led to it must exist. If not, the system is not deterministic, and the search says so and
// stops (Stop::kBroken), because nothing it found could be relied on.
#pragma once

#include <deque>

#include "explore/generation_search.h"
#include "explore/rendezvous.h"

namespace sisyfs {

// The states along the way from the initial state to a node.
template <FollowableSystem System>
class PathWalker {
 public:
  using State = typename System::State;

  PathWalker(const System& system, const StateTree& tree) : system_(system), tree_(tree) {
    system_.initial(states_.emplace_back());
    path_.push_back(0);
  }

  // Goes to a node at `depth`. Null where a choice on the way is not there.
  const State* go(uint32_t node, uint32_t depth) {
    while (states_.size() <= depth) states_.emplace_back();
    if (path_.size() <= depth) path_.resize(depth + 1, kNowhere);
    uint32_t from = depth;
    for (uint32_t at = node; path_[from] != at; at = tree_[at].parent) path_[from--] = at;
    for (uint32_t i = from; i < depth; ++i) {
      if (system_.follow(states_[i], tree_[path_[i + 1]].choice, states_[i + 1])) continue;
      std::fill(path_.begin() + i + 1, path_.end(), kNowhere);
      return nullptr;
    }
    // What lay below belongs to another way now.
    for (size_t i = depth + 1; from != depth && i < path_.size() && path_[i] != kNowhere; ++i)
      path_[i] = kNowhere;
    return &states_[depth];
  }

 private:
  static constexpr uint32_t kNowhere = ~uint32_t{0};  // no node has this number

  const System& system_;
  const StateTree& tree_;
  std::vector<uint32_t> path_;  // the node of each state
  std::deque<State> states_;
};

template <FollowableSystem System>
class Generations {
 public:
  Generations(const System& system, GenerationSearch& search, Team& team)
      : system_(system), search_(search), team_(team), rendezvous_(team) {}

  // The body of each worker's thread.
  void work(unsigned worker) {
    PathWalker<System> walker(system_, search_.tree());
    Sink sink(system_, search_.harvester(worker));
    while (search_.open()) {
      while (!team_.stopping() && search_.claim(worker)) {
        expand_range(walker, sink);
        search_.harvester(worker).report();
      }
      rendezvous_.meet([this] { search_.next_generation(); });
    }
    team_.rest();  // a pause that is asked for from now on need not wait for this worker
  }

 private:
  using State = typename System::State;

  struct Sink : detail::FullSink<System> {
    Sink(const System& s, Harvester& h) : system(s), harvester(h) {}
    State& next() { return built; }
    void commit(Choice choice, Outcome outcome) { harvester.add(choice, outcome, system.fingerprint(built)); }
    const System& system;
    Harvester& harvester;
    State built;
  };

  void expand_range(PathWalker<System>& walker, Sink& sink) {
    Harvester& mine = sink.harvester;
    while (mine.next < mine.end && !team_.stopping()) {
      if (team_.pause_wanted()) team_.pause();
      const uint32_t node = search_.node_at(mine.next), depth = search_.depth_at(mine.next);
      const State* const state = walker.go(node, depth);
      const VisitedSet* const visited = search_.visited();
      if (state == nullptr || (visited != nullptr && !visited->contains(system_.fingerprint(*state)))) {
        search_.break_at(node);
        return;
      }
      mine.begin_node(mine.next, node, depth);
      system_.expand(*state, sink);
      if (!mine.end_node()) return;
      ++mine.next;
    }
  }

  const System& system_;
  GenerationSearch& search_;
  Team& team_;
  Rendezvous rendezvous_;
};

}  // namespace sisyfs
