// Walker: takes one random walk. WalksMet: what walks have found.
//
// A search takes its walks with a Walker in this process, and a worker elsewhere with one of its own; they
// differ in what becomes of each judged successor, which is for the Watch.
//
//   WalksMet met;
//   Walker<System, Watch> walker(system, options, watch);
//   for (uint64_t number = 0; number < options.walks; ++number) walker.walk(number, options.length);
#pragma once

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

#include "explore/search.h"
#include "explore/swarm.h"
#include "explore/system.h"

namespace sisyfs::detail {

// The best walk to each kind of finding: least depth, then least number.
class WalksMet {
 public:
  void note(FindingBits kinds, uint64_t walk, const Trace& before, Choice last) {
    for (FindingBits left = kinds; left != 0; left &= left - 1) {
      const int kind = std::countr_zero(left);
      Met& met = met_[static_cast<size_t>(kind)];
      const std::tuple rank(before.size() + 1, walk);
      if ((known_ >> kind & 1) != 0 && std::tuple(met.trace.size(), met.walk) <= rank) continue;
      known_ |= FindingBits{1} << kind;
      met.walk = walk;
      met.trace = before;
      met.trace.push_back(last);
    }
  }
  void merge(const WalksMet& other) {
    for (FindingBits left = other.known_; left != 0; left &= left - 1) {
      const Met& met = other.met_[static_cast<size_t>(std::countr_zero(left))];
      note(left & -left, met.walk, Trace(met.trace.begin(), met.trace.end() - 1), met.trace.back());
    }
  }
  // Calls use(kind, walk, trace) for each kind that was found.
  template <class Use>
  void each(Use use) const {
    for (FindingBits left = known_; left != 0; left &= left - 1) {
      const int kind = std::countr_zero(left);
      const Met& met = met_[static_cast<size_t>(kind)];
      use(static_cast<uint32_t>(kind), met.walk, met.trace);
    }
  }
  std::vector<FoundTrace> traces(FindingBits wanted) const {
    std::vector<FoundTrace> found;
    for (FindingBits left = known_ & wanted; left != 0; left &= left - 1) {
      const auto kind = static_cast<uint32_t>(std::countr_zero(left));
      found.push_back({kind, met_[kind].trace});
    }
    std::stable_sort(found.begin(), found.end(), [](const FoundTrace& a, const FoundTrace& b) {
      return a.trace.size() < b.trace.size();
    });
    return found;
  }

 private:
  struct Met {
    uint64_t walk = 0;
    Trace trace;
  };
  FindingBits known_ = 0;
  std::array<Met, SearchResult::kKinds> met_;
};

// Judges the successors of a state, and takes one of them: each replaces the one taken so far with the
// probability of its share of the weights so far.
//
// A Watch has:
//   judged(walk, before, choice, outcome, print)   each successor; `before` is the trace of the state
//   step_done()                                    the walk has taken a successor
//   cut()                                          whether to break off this walk
//   stopped()                                      the same, asked by systems with slow successors
template <class System, class Watch>
class Walker : public FullSink<System> {
 public:
  using State = typename System::State;

  // Borrows all three.
  Walker(const System& system, const WalkOptions& options, Watch& watch)
      : system_(system), options_(options), watch_(watch) {}

  void walk(uint64_t number, uint32_t length) {
    number_ = number;
    random_ = WalkRandom(options_.seed, number);
    swarm_.begin(random_);
    trace_.clear();
    system_.initial(here_);
    while (trace_.size() < length && !watch_.cut()) {
      weights_ = 0;
      system_.expand(here_, *this);
      if (weights_ == 0) return;
      std::swap(here_, taken_);
      trace_.push_back(choice_);
      watch_.step_done();
    }
  }

  // As a sink.
  bool picks() const { return options_.swarm; }
  template <class GroupOf>
  uint32_t pick(uint32_t ops, GroupOf group_of) {
    return swarm_.pick(ops, group_of, random_);
  }
  State& next() { return built_; }
  void commit(Choice choice, Outcome outcome) {
    watch_.judged(number_, trace_, choice, outcome, system_.fingerprint(built_));
    const uint64_t weight = weight_of(choice);
    weights_ += weight;
    if (random_.below(weights_) >= weight) return;
    std::swap(built_, taken_);
    choice_ = choice;
  }
  bool stopped() const { return watch_.stopped(); }

 private:
  uint64_t weight_of([[maybe_unused]] Choice choice) const {
    if constexpr (requires { System::is_setback(choice); })
      if (System::is_setback(choice)) return 1;
    return options_.setbacks_rarer;
  }

  const System& system_;
  const WalkOptions& options_;
  Watch& watch_;
  WalkRandom random_{0, 0};
  Swarm swarm_;
  uint64_t number_ = 0;
  Trace trace_;
  uint64_t weights_ = 0;  // of the successors so far
  State here_, built_, taken_;
  Choice choice_{};
};

}  // namespace sisyfs::detail
