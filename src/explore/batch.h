// BatchSink: takes the successors of a state, a few at a time, on the way to the visited set.
//
// A probe of the visited set is a cache miss. So each successor's fingerprint is computed and its line
// requested as it is committed, and the probes are made a batch later, when the lines have come.
#pragma once

#include <array>

#include "explore/dedup.h"
#include "explore/system.h"
#include "explore/team.h"

namespace sisyfs {

// `Keep` is called as keep(state, tally) for each state that was not seen before.
template <class System, class DedupPolicy, class Keep>
class BatchSink {
 public:
  using State = typename System::State;

  BatchSink(const System& system, DedupPolicy& seen, Team& team, Keep keep)
      : system_(system), seen_(seen), team_(team), keep_(std::move(keep)) {}

  State& next() { return states_[count_]; }

  void commit(Choice, Outcome outcome) {
    ++tally_.transitions;
    if ((outcome.findings | outcome.marks) != 0) tally_.note(outcome, depth_);
    const Digest print = system_.fingerprint(states_[count_]);
    seen_.prefetch(print);
    prints_[count_] = print;
    if (++count_ == kBatch) drain();
  }

  // Probes what is left. To be called before the depth changes and before waiting.
  void drain() {
    for (uint32_t i = 0; i < count_; ++i) {
      Seen seen = seen_.insert(prints_[i], depth_);
      while (seen == Seen::kNoRoom && !team_.stopping()) {
        if (seen_.at_limit()) team_.stop(Stop::kMemory);
        team_.request_pause();
        team_.pause();
        seen = seen_.insert(prints_[i], depth_);
      }
      if (seen != Seen::kNew) continue;
      ++tally_.states;
      keep_(states_[i], tally_);
    }
    count_ = 0;
  }

  void set_depth(uint32_t depth) { depth_ = depth; }  // of the successors
  Tally& tally() { return tally_; }

  // Between batches: hands over the counts, and takes part in maintenance.
  void checkpoint(unsigned worker) {
    team_.report(worker, tally_);
    if (seen_.crowded(team_.states())) team_.request_pause();
    if (team_.pause_wanted()) team_.pause();
  }

 private:
  static constexpr uint32_t kBatch = 24;

  const System& system_;
  DedupPolicy& seen_;
  Team& team_;
  Keep keep_;
  Tally tally_;
  uint32_t depth_ = 0;
  uint32_t count_ = 0;
  std::array<State, kBatch> states_;
  std::array<Digest, kBatch> prints_;
};

}  // namespace sisyfs
