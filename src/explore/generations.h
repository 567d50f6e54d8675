// Generations: a search that keeps no states, for systems whose states are heavy.
//
// What is kept of a state is its place in a tree of choices (node_tree.h): eight bytes. To expand a node,
// its state is had again by following choices. The nodes of a generation come in the order of the tree,
// and a worker keeps the states along its present path, so that neighbours share their ancestors and a
// node costs about one choice more. What is new is decided in the order of the tree (harvest.h): states,
// representatives, numbers and traces are the same for any number of threads, even where a fingerprint
// stands for more than one state. The note docs/design/generations.md has the reasons.
//
//   SearchOptions options;                                 // breadth-first, or one of the best-first orders
//   options.checkpoint = {.path = "run.checkpoint"};       // if it shall be saved
//   SearchResult result = run_search(system, options, nullptr);
#pragma once

#include <bit>
#include <deque>

#include "explore/harvest.h"
#include "explore/rendezvous.h"

namespace sisyfs {

namespace detail {

// Takes one choice from all successors: how a system that cannot follow is made to.
template <class System>
struct PickSink : FullSink<System> {
  typename System::State& next() { return built; }
  void commit(Choice choice, Outcome) {
    if (choice != wanted || found) return;
    found = true;
    std::swap(built, chosen);
  }
  Choice wanted{};
  bool found = false;
  typename System::State built, chosen;
};

// The states along the path from the initial state to the node where a worker is.
template <class System>
class PathWalker {
 public:
  using State = typename System::State;
  PathWalker(const System& system, const NodeTree& tree) : system_(system), tree_(tree), path_(1) {
    system_.initial(path_[0].state);
  }

  // The state of `node`, at `depth`; null when a choice on the way is not there any more.
  const State* go_to(uint32_t node, uint32_t depth) {
    chain_.clear();
    uint32_t level = depth, at = node;
    while (level >= length_ || path_[level].node != at) {
      chain_.push_back(at);
      at = tree_.at(at).parent;
      --level;
    }
    while (path_.size() <= depth) path_.emplace_back();
    length_ = level + 1;
    for (; !chain_.empty(); chain_.pop_back(), ++length_) {
      const uint32_t next = chain_.back();
      if (!follow(path_[length_ - 1].state, tree_.at(next).choice, path_[length_].state)) return nullptr;
      path_[length_].node = next;
    }
    return &path_[depth].state;
  }

 private:
  struct Step {
    uint32_t node = 0;
    State state;
  };
  bool follow(const State& from, Choice choice, State& to) {
    if constexpr (FollowableSystem<System>) return system_.follow(from, choice, to);
    pick_.wanted = choice;
    pick_.found = false;
    system_.expand(from, pick_);
    if (pick_.found) std::swap(to, pick_.chosen);
    return pick_.found;
  }

  const System& system_;
  const NodeTree& tree_;
  std::deque<Step> path_;  // a step keeps its memory when the path gets shorter
  uint32_t length_ = 1;
  std::vector<uint32_t> chain_;
  PickSink<System> pick_;
};

// Takes the successors of a node and gathers those that may be new. It has to see each one, as a finding's
// trace needs its choice, but of each only the fingerprint.
template <class System>
class HandSink : public FullSink<System> {
 public:
  using State = typename System::State;
  static constexpr bool kPrintsOnly = true;
  HandSink(const System& system, const Harvest& harvest, Hand& hand)
      : system_(system),
        visited_(harvest.visited()),
        dedups_(harvest.dedups()),
        counts_marks_(harvest.agenda().counts_marks()),
        hand_(hand),
        recent_(dedups_ ? kRecent : 0) {}

  State& next() { return state_; }
  void commit(Choice choice, Outcome outcome) {
    note(choice, outcome);
    Offspring candidate{{}, parent_, choice, outcome.marks, outcome.work, outcome.new_edges};
    if (dedups_) {
      // One worker's nodes come in order. So what it met before came first, and this is not the one to keep.
      candidate.print = system_.fingerprint(state_);
      uint64_t& recent = recent_[candidate.print.hi & (kRecent - 1)];
      if (recent == candidate.print.lo) return;
      recent = candidate.print.lo;
      if (visited_.contains(candidate.print)) return;
    }
    hand_.candidates.push_back(candidate);
  }

  void set_parent(uint32_t node, uint32_t depth) {
    parent_ = node;
    depth_ = depth + 1;
  }

 private:
  static constexpr uint32_t kRecent = 1 << 14;

  void note(Choice choice, Outcome outcome) {
    ++hand_.tally.transitions;
    hand_.tally.note(outcome, depth_);
    if (outcome.findings != 0) hand_.met.note(outcome.findings, depth_, parent_, choice);
    if (!counts_marks_) return;
    for (uint32_t left = outcome.marks; left != 0; left &= left - 1) ++hand_.marks[std::countr_zero(left)];
  }

  const System& system_;
  const VisitedSet& visited_;
  const bool dedups_, counts_marks_;
  Hand& hand_;
  std::vector<uint64_t> recent_;
  uint32_t parent_ = 0, depth_ = 0;
  State state_;
};

}  // namespace detail

template <TransitionSystem System>
class Generations {
 public:
  Generations(const System& system, Harvest& harvest, Team& team)
      : system_(system), harvest_(harvest), team_(team), rendezvous_(team) {
    typename System::State initial;
    system_.initial(initial);
    harvest_.start(system_.fingerprint(initial));
  }

  // The body of each worker's thread.
  void work(unsigned worker) {
    detail::PathWalker<System> walker(system_, harvest_.tree());
    detail::HandSink<System> sink(system_, harvest_, harvest_.hand(worker));
    const Tally& tally = harvest_.hand(worker).tally;
    while (!harvest_.over()) {
      for (uint32_t i, end; harvest_.claim(i, end);) {
        const uint64_t before = tally.transitions;
        for (; i < end; ++i) {
          const uint32_t node = harvest_.agenda().node(i), depth = harvest_.depth_of(node);
          const auto* state = walker.go_to(node, depth);
          if (state == nullptr) {
            harvest_.report_lost(node);
            break;
          }
          sink.set_parent(node, depth);
          system_.expand(*state, sink);
        }
        harvest_.put_down(tally.transitions - before);
        team_.report(worker, tally);
      }
      rendezvous_.meet([this] { harvest_.close_round(); });
    }
  }

 private:
  const System& system_;
  Harvest& harvest_;
  Team& team_;
  Rendezvous rendezvous_;
};

}  // namespace sisyfs
