// BatchSink: looks up the successors of states in the visited set, a batch at a time.
//
// A probe of the visited set is a cache miss. So there are two batches. When one is full, all its
// fingerprints are computed and their lines prefetched; then the other batch, whose lines have arrived in
// the meantime, is probed and becomes the one to fill. (Fingerprinting each successor at once would also
// read, in other widths, what was just written, which stalls the processor.)
//
// Most successors that were visited before were visited recently: two tasks that step in either order, or
// power cuts that end in one state. A small cache of recent fingerprints, which compares as many bits as the
// visited set does, drops these before they cost more.
#pragma once

#include <array>

#include "explore/dedup.h"
#include "explore/system.h"
#include "explore/team.h"

namespace sisyfs {

// `Keep` is called as keep(state, tally) for each state that was not visited before, or only at greater
// depths.
template <class System, class DedupPolicy, class Keep>
class BatchSink {
 public:
  using State = typename System::State;

  BatchSink(const System& system, DedupPolicy& seen, Team& team, unsigned worker, Keep keep)
      : system_(system), seen_(seen), team_(team), worker_(worker), keep_(std::move(keep)) {}

  State& next() { return filling_->states[filling_->count]; }

  void commit(Choice, Outcome outcome) {
    ++tally_.transitions;
    tally_.note(outcome, depth_);
    if (++filling_->count == kBatch) turn();
  }

  // A state that was committed before stays visited, unless the depth at which it is reached matters.
  static constexpr bool remembers() { return DedupPolicy::kOnce; }
  void commit_again(Outcome outcome) {
    ++tally_.transitions;
    tally_.note(outcome, depth_);
  }
  typename detail::ScratchOf<System>::Type& scratch() { return scratch_; }

  // Whether the search has ended. Only systems with slow successors ask, so this is also where their counts
  // are reported.
  bool stopped() const {
    team_.report(worker_, tally_);
    return team_.stopped();
  }

  // Probes both batches. To be called before the depth changes and before waiting.
  void drain() {
    turn();
    turn();
  }

  void set_depth(uint32_t depth) { depth_ = depth; }  // of the successors
  Tally& tally() { return tally_; }

  // Between ranges of states: reports the counts, and takes part in maintenance. The counts of the other
  // workers are read only after kLookEach new states, because they are in the caches of other cores.
  void checkpoint() {
    team_.report(worker_, tally_);
    if (tally_.states >= next_look_) {
      next_look_ = tally_.states + kLookEach;
      if (seen_.crowded(team_.states())) team_.request_pause();
    }
    if (team_.pause_wanted()) team_.pause();
  }

 private:
  static constexpr uint32_t kBatch = 32;
  static constexpr uint32_t kRecent = 1 << 14;
  static constexpr uint32_t kLookEach = 512;

  struct Batch {
    uint32_t count = 0;  // states filled in
    uint32_t asked = 0;  // of these, how many were prefetched and are to be probed
    std::array<State, kBatch> states;
    std::array<Digest, kBatch> prints;
    std::array<uint8_t, kBatch> which;  // the state that a fingerprint belongs to
  };

  void turn() {
    request(*filling_);
    filling_ = filling_ == &batches_[0] ? &batches_[1] : &batches_[0];
    probe(*filling_);
  }

  void request(Batch& batch) {
    uint32_t asked = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      const Digest print = system_.fingerprint(batch.states[i]);
      seen_.prefetch(print);
      batch.prints[asked] = print;
      batch.which[asked] = static_cast<uint8_t>(i);
      if constexpr (DedupPolicy::kOnce) {
        uint64_t& recent = recent_[print.hi & (kRecent - 1)];
        asked += recent != print.lo;  // no branch: it would be mispredicted
        recent = print.lo;
      } else {
        ++asked;
      }
    }
    batch.asked = asked;
  }

  // First all insertions, then the states that are new: an insertion among several threads is a locked
  // instruction, which waits for every store before it.
  void probe(Batch& batch) {
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < batch.asked; ++i) {
      Seen seen = seen_.insert(batch.prints[i], depth_);
      while (seen == Seen::kNoRoom && !team_.stopped()) {
        if (seen_.at_limit()) team_.stop(Stop::kMemory);
        team_.request_pause();
        team_.pause();
        seen = seen_.insert(batch.prints[i], depth_);
      }
      if constexpr (!DedupPolicy::kOnce) tally_.states += seen == Seen::kNew;
      batch.which[fresh] = batch.which[i];
      fresh += seen == Seen::kNew || (!DedupPolicy::kOnce && seen == Seen::kSooner);
    }
    if constexpr (DedupPolicy::kOnce) tally_.states += fresh;
    for (uint32_t i = 0; i < fresh; ++i) keep_(batch.states[batch.which[i]], tally_);
    batch.count = batch.asked = 0;
  }

  const System& system_;
  DedupPolicy& seen_;
  Team& team_;
  const unsigned worker_;
  Keep keep_;
  Tally tally_;
  uint32_t depth_ = 0;
  uint64_t next_look_ = 0;
  std::array<Batch, 2> batches_;
  Batch* filling_ = &batches_[0];
  typename detail::ScratchOf<System>::Type scratch_;
  std::vector<uint64_t> recent_ = std::vector<uint64_t>(DedupPolicy::kOnce ? kRecent : 0);
};

}  // namespace sisyfs
