// Generations: a search for systems whose states are large.
//
// Large states are stored as their path from the root and rebuilt on demand. A state takes one node of a tree
// of choices (node_tree.h): twelve bytes. To expand a node, its state is rebuilt by following the choices on
// its path. The nodes of a generation are in the order of the tree, and a worker keeps the states along its
// current path. Neighbours share most of their path, so rebuilding a state takes about one choice.
//
// Which successors are new is decided in the order of the tree (harvest.h). So states, counts and traces are
// the same for any number of threads, even where one fingerprint stands for several states.
// docs/design/generations.md gives the reasons.
//
//   SearchOptions options;                                 // breadth-first, or one of the best-first orders
//   options.checkpoint = {.path = "run.checkpoint"};       // optional
//   SearchResult result = run_search(system, options, nullptr);
#pragma once

#include <bit>
#include <deque>

#include "explore/harvest.h"
#include "explore/rendezvous.h"

namespace sisyfs {

namespace detail {

// Picks one choice from all successors: replaces follow() for systems that do not have it.
template <class System>
struct PickSink : FullSink<System> {
  typename System::State& next() { return built; }
  void commit(Choice choice, Outcome) {
    if (choice != wanted || found) return;
    found = true;
    std::swap(built, chosen);
  }
  bool stopped() const { return found || stop.raised(); }
  StopSignal stop;
  Choice wanted{};
  bool found = false;
  typename System::State built, chosen;
};

// The states along the path from the initial state to the current node of a worker.
template <class System>
class PathWalker {
 public:
  using State = typename System::State;
  // `stop` makes go_to() return early.
  PathWalker(const System& system, const NodeTree& tree, StopSignal stop)
      : system_(system), tree_(tree), stop_(stop), path_(1) {
    system_.initial(path_[0].state);
    pick_.stop = stop;
  }

  // The state of `node`, at `depth`. Null when a state on the path does not have its choice any more, or when
  // `stop` was raised.
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
      if (stop_.raised()) return nullptr;
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
    if constexpr (FollowableSystem<System>) {
      return detail::follow(system_, from, choice, to, stop_);
    } else {
      pick_.wanted = choice;
      pick_.found = false;
      system_.expand(from, pick_);
      if (pick_.found) std::swap(to, pick_.chosen);
      return pick_.found;
    }
  }

  const System& system_;
  const NodeTree& tree_;
  const StopSignal stop_;
  std::deque<Step> path_;  // a step keeps its memory when the path gets shorter
  uint32_t length_ = 1;    // steps of path_ in use
  std::vector<uint32_t> chain_;
  PickSink<System> pick_;
};

// Gathers the successors of a node that may be new. It needs every successor, because a trace to a finding
// needs the choice, but of each successor only the fingerprint.
template <class System>
class HandSink : public FullSink<System> {
 public:
  using State = typename System::State;
  static constexpr bool kPrintsOnly = true;
  HandSink(const System& system, Harvest& harvest, unsigned worker)
      : system_(system),
        harvest_(harvest),
        visited_(harvest.visited()),
        dedups_(harvest.dedups()),
        counts_marks_(harvest.agenda().counts_marks()),
        worker_(worker),
        hand_(harvest.hand(worker)),
        recent_(dedups_ ? kRecent : 0) {}

  State& next() { return state_; }
  void commit(Choice choice, Outcome outcome) {
    note(choice, outcome);
    Offspring candidate{{}, choice, parent_, outcome.marks, outcome.work, outcome.new_edges};
    if (dedups_) {
      // A worker expands its nodes in order. So an equal fingerprint that it saw earlier comes first in the
      // order of the tree, and this one is not kept.
      candidate.print = system_.fingerprint(state_);
      uint64_t& recent = recent_[candidate.print.hi & (kRecent - 1)];
      if (recent == candidate.print.lo) return;
      recent = candidate.print.lo;
      if (visited_.contains(candidate.print)) return;
    }
    hand_.candidates.push_back(candidate);
  }

  // Whether the search has ended. Only systems with slow successors ask, so this is also where their counts
  // are reported. Once it was true, the expansion at hand may be incomplete.
  bool stopped() const {
    if (++asked_ % kAskedBeforeReport == 0) harvest_.report_in_node(worker_);
    return told_to_stop_ = told_to_stop_ || harvest_.stopped();
  }
  bool told_to_stop() const { return told_to_stop_; }

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

  static constexpr uint32_t kAskedBeforeReport = 16;

  const System& system_;
  Harvest& harvest_;
  const VisitedSet& visited_;
  const bool dedups_, counts_marks_;
  const unsigned worker_;
  Hand& hand_;
  mutable bool told_to_stop_ = false;
  mutable uint32_t asked_ = 0;
  std::vector<uint64_t> recent_;
  uint32_t parent_ = 0, depth_ = 0;
  State state_;
};

// Looks for one choice that shows a finding.
template <class System>
struct FindingSink : FullSink<System> {
  typename System::State& next() { return built; }
  void commit(Choice choice, Outcome outcome) {
    shown = shown || (choice == wanted && (outcome.findings & finding) != 0);
  }
  bool stopped() const { return shown || stop.raised(); }
  StopSignal stop;
  Choice wanted{};
  FindingBits finding = 0;
  bool shown = false;
  typename System::State built;
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
    if (team_.options().resume != nullptr && !team_.stopped()) show_findings_again();
  }

  // The body of each worker's thread.
  void work(unsigned worker) {
    detail::PathWalker<System> walker(system_, harvest_.tree(), StopSignal::of(team_));
    detail::HandSink<System> sink(system_, harvest_, worker);
    const Tally& tally = harvest_.hand(worker).tally;
    while (!harvest_.over()) {
      for (uint32_t i, end; harvest_.claim(i, end);) {
        const uint64_t before = tally.transitions;
        for (; i < end; ++i) {
          const uint32_t node = harvest_.agenda().node(i), depth = harvest_.depth_of(node);
          const auto* state = walker.go_to(node, depth);
          if (state != nullptr) {
            sink.set_parent(node, depth);
            system_.expand(*state, sink);
            if (!sink.told_to_stop()) continue;
          } else if (!team_.stopped()) {
            harvest_.report_lost(node);
            break;
          }
          harvest_.report_unfinished();
          break;
        }
        harvest_.put_down(tally.transitions - before);
        team_.report(worker, tally);
      }
      rendezvous_.meet([this] { harvest_.close_round(); });
    }
  }

 private:
  struct Interrupt {
    bool stopped() const { return flag != nullptr && flag->load(std::memory_order_relaxed); }
    const std::atomic<bool>* flag;
  };

  // Whether the findings of a checkpoint happen. Only the executions can tell.
  void show_findings_again() {
    const Interrupt interrupt{team_.options().interrupt};
    const StopSignal stop = StopSignal::of(interrupt);
    detail::PathWalker<System> walker(system_, harvest_.tree(), stop);
    FindingBits left = harvest_.hand(0).met.known();
    for (const FirstTransition& met : harvest_.hand(0).met.transitions()) {
      detail::FindingSink<System> sink;
      sink.stop = stop;
      sink.wanted = met.choice;
      sink.finding = left & -left;
      if (const auto* state = walker.go_to(met.parent, met.depth - 1)) system_.expand(*state, sink);
      if (stop.raised()) return;
      if (!sink.shown) return harvest_.refuse_finding(static_cast<uint32_t>(std::countr_zero(left)));
      left &= left - 1;
    }
  }

  const System& system_;
  Harvest& harvest_;
  Team& team_;
  Rendezvous rendezvous_;
};

}  // namespace sisyfs
