// traces_by_paths: the first shortest trace to each kind of finding, for systems that store their states.
//
// A breadth-first search on one thread. For each state, in the order of discovery, it stores the number of
// the parent and the choice that leads to the state. It ends when every wanted kind has been found. (A system
// that can follow a choice is searched by generations instead, which store parents and choices anyway:
// find_traces in run.h.)
#pragma once

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <vector>

#include "explore/search.h"
#include "explore/visited.h"

namespace sisyfs {

namespace detail {

// The paths of a breadth-first search, as parents and choices.
class Paths {
 public:
  void add(uint64_t parent, Choice choice) { steps_.push_back({parent, choice}); }
  uint64_t size() const { return steps_.size(); }
  size_t bytes() const { return steps_.size() * sizeof(Step); }
  // The choices from the initial state (number 0) to `state`, then `last`.
  Trace to(uint64_t state, Choice last) const;
  // A path to `state` itself.
  Trace to(uint64_t state) const;

 private:
  struct Step {
    uint64_t parent : 40;
    Choice choice;
  };
  std::deque<Step> steps_;
};

// The sink of this search.
template <class System>
class PathSink : public FullSink<System> {
 public:
  using State = typename System::State;
  PathSink(const System& system, VisitedSet& seen, size_t memory_bytes, Paths& paths,
           std::deque<State>& queue, FindingBits wanted, const std::function<bool()>& pulse)
      : system_(system),
        seen_(seen),
        memory_bytes_(memory_bytes),
        paths_(paths),
        queue_(queue),
        wanted_(wanted),
        pulse_(pulse) {}

  State& next() { return state_; }
  void commit(Choice choice, Outcome outcome) {
    ++transitions_;
    for (FindingBits hit = outcome.findings & wanted_; hit != 0; hit &= hit - 1) {
      const auto kind = static_cast<uint32_t>(std::countr_zero(hit));
      found_.push_back({kind, paths_.to(parent_, choice)});
      wanted_ &= ~(FindingBits{1} << kind);
    }
    Seen seen = seen_.insert(system_.fingerprint(state_));
    while (seen == Seen::kNoRoom && grow()) seen = seen_.insert(system_.fingerprint(state_));
    if (seen == Seen::kNoRoom) full_ = true;
    if (seen != Seen::kNew) return;
    paths_.add(parent_, choice);
    queue_.push_back(state_);
    if (seen_.crowded(paths_.size())) grow();
  }
  // Whether the search was interrupted. Only systems with slow successors ask.
  bool stopped() const { return pulse_(); }
  void set_parent(uint64_t parent) { parent_ = parent; }
  Progress progress() const {
    Progress p;
    p.states = paths_.size();
    p.transitions = transitions_;
    p.depth = static_cast<uint32_t>(paths_.to(parent_).size());
    p.memory_bytes = seen_.bytes() + others();
    p.findings = wanted_;
    p.tracing = true;
    return p;
  }
  bool complete() const { return wanted_ == 0; }
  bool full() const { return full_ || seen_.bytes() + others() > memory_bytes_; }
  std::vector<FoundTrace> take() {
    std::sort(found_.begin(), found_.end(), [](const FoundTrace& a, const FoundTrace& b) {
      return std::pair(a.trace.size(), a.kind) < std::pair(b.trace.size(), b.kind);
    });
    return std::move(found_);
  }

 private:
  // Memory of the paths and of the states in the queue.
  size_t others() const { return paths_.bytes() + queue_.size() * sizeof(State); }
  // The visited set may use what the others leave, with a reserve for them of their present size.
  bool grow() { return seen_.grow(memory_bytes_ - std::min(memory_bytes_, 2 * others())); }

  const System& system_;
  VisitedSet& seen_;
  size_t memory_bytes_;
  Paths& paths_;
  std::deque<State>& queue_;
  FindingBits wanted_;
  const std::function<bool()>& pulse_;
  bool full_ = false;
  uint64_t transitions_ = 0;
  uint64_t parent_ = 0;
  State state_;
  std::vector<FoundTrace> found_;
};

// Shortest traces to the kinds in `wanted`, each the first in breadth-first order. Of the bounds only that on
// memory counts, and options.interrupt.
template <TransitionSystem System>
FoundTraces traces_by_paths(const System& system, const SearchOptions& options, FindingBits wanted,
                            const ProgressFn& show) {
  VisitedSet seen(options.bounds.memory_bytes, false, true);
  if (!seen.ok()) return {{}, Stop::kMemory, {}};
  Paths paths;
  std::deque<typename System::State> queue(1);
  system.initial(queue.front());
  seen.insert(system.fingerprint(queue.front()));
  paths.add(0, Choice{0});
  const auto interrupted = [&options] {
    return options.interrupt != nullptr && options.interrupt->load(std::memory_order_relaxed);
  };
  const auto start = std::chrono::steady_clock::now();
  auto next_show = start + kShowEach;
  const auto show_if_due = [&](const PathSink<System>& sink) {
    const auto now = std::chrono::steady_clock::now();
    if (!show || now < next_show) return;
    Progress progress = sink.progress();
    progress.elapsed = now - start;
    show(progress);
    next_show = now + kShowEach;
  };
  const PathSink<System>* shown = nullptr;
  const std::function<bool()> pulse = [&] {
    show_if_due(*shown);
    return interrupted();
  };
  PathSink<System> sink(system, seen, options.bounds.memory_bytes, paths, queue, wanted, pulse);
  shown = &sink;
  Stop stopped = Stop::kNo;
  for (uint64_t number = 0; !queue.empty() && !sink.complete(); ++number) {
    if (interrupted())
      stopped = Stop::kInterrupted;
    else if (sink.full())
      stopped = Stop::kMemory;
    if (stopped != Stop::kNo) break;
    const typename System::State state = std::move(queue.front());
    queue.pop_front();
    sink.set_parent(number);
    system.expand(state, sink);
    if (number % 16 == 0) show_if_due(sink);
  }
  // An interrupt in the last expansion may have hidden successors.
  if (stopped == Stop::kNo && !sink.complete() && interrupted()) stopped = Stop::kInterrupted;
  return {sink.take(), stopped, {}};
}

}  // namespace detail

}  // namespace sisyfs
