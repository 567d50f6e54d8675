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

#include "explore/harvest.h"
#include "explore/remote_worker.h"
#include "explore/rendezvous.h"
#include "explore/state_path.h"

namespace sisyfs {

namespace detail {

// The states along the path from the initial state to the current node of a worker.
template <class System>
class PathWalker {
 public:
  using State = typename System::State;
  // `stop` makes go_to() return early.
  PathWalker(const System& system, const NodeTree& tree, StopSignal stop)
      : tree_(tree), path_(system, stop), nodes_(1) {}

  // The state of `node`, at `depth`. Null when a state on the path does not have its choice any more, or when
  // `stop` was raised.
  const State* go_to(uint32_t node, uint32_t depth) {
    chain_.clear();
    uint32_t level = depth, at = node;
    while (level >= nodes_.size() || nodes_[level] != at) {
      chain_.push_back(at);
      at = tree_.at(at).parent;
      --level;
    }
    nodes_.resize(level + 1);
    for (; !chain_.empty(); chain_.pop_back()) {
      const uint32_t next = chain_.back();
      if (!path_.follow(static_cast<uint32_t>(nodes_.size()), tree_.at(next).choice)) return nullptr;
      nodes_.push_back(next);
    }
    return &path_.at(depth);
  }

 private:
  const NodeTree& tree_;
  StatePath<System> path_;
  std::vector<uint32_t> nodes_;  // of the path, by level
  std::vector<uint32_t> chain_;
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

// Expands states in this process.
template <class System>
class LocalWorker {
 public:
  LocalWorker(const System& system, Harvest& harvest, Team& team, unsigned worker)
      : system_(system),
        harvest_(harvest),
        team_(team),
        number_(worker),
        walker_(system, harvest.tree(), StopSignal::of(team)),
        sink_(system, harvest, worker) {}

  // Expands nodes until the round ends.
  void work_round() {
    const Tally& tally = harvest_.hand(number_).tally;
    for (uint32_t i, end; harvest_.claim(i, end);) {
      const uint64_t before = tally.transitions;
      while (i < end && expand(harvest_.agenda().node(i))) ++i;
      harvest_.put_down(tally.transitions - before);
      team_.report(number_, tally);
    }
  }

 private:
  bool expand(uint32_t node) {
    const uint32_t depth = harvest_.depth_of(node);
    const auto* state = walker_.go_to(node, depth);
    if (state != nullptr) {
      sink_.set_parent(node, depth);
      system_.expand(*state, sink_);
      if (!sink_.told_to_stop()) return true;
    } else if (!team_.stopped()) {
      harvest_.report_lost(node);
      return false;
    }
    harvest_.report_unfinished();
    return false;
  }

  const System& system_;
  Harvest& harvest_;
  Team& team_;
  const unsigned number_;
  PathWalker<System> walker_;
  HandSink<System> sink_;
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
    if (team_.options().start_worker) {
      RemoteWorker remote(harvest_, team_, worker);
      work_with(remote);
      remote.finish();
    } else {
      detail::LocalWorker<System> local(system_, harvest_, team_, worker);
      work_with(local);
    }
  }

 private:
  struct Interrupt {
    bool stopped() const { return flag != nullptr && flag->load(std::memory_order_relaxed); }
    const std::atomic<bool>* flag;
  };

  template <class Worker>
  void work_with(Worker& worker) {
    while (!harvest_.over()) {
      worker.work_round();
      rendezvous_.meet([this] { harvest_.close_round(); });
    }
  }

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
