// Breadth-first search, layer by layer, on all workers.
//
// The workers expand a layer together, wait for each other, and swap. Every state is expanded once, at
// its least depth, so the numbers of states and transitions, the visited set, the kinds of findings and
// their least depths are the same for any number of workers.
#pragma once

#include <memory>

#include "base/mutant.h"
#include "explore/batch.h"
#include "explore/frontier.h"
#include "explore/rendezvous.h"

namespace sisyfs {

template <TransitionSystem System, class DedupPolicy>
class BreadthFirst {
 public:
  using State = typename System::State;

  BreadthFirst(const System& system, DedupPolicy& seen, Team& team)
      : system_(system),
        seen_(seen),
        team_(team),
        pool_(team),
        now_(team.size()),
        later_(team.size()),
        rendezvous_(team),
        tallies_(team.size()) {
    Chunk<State>& chunk = now_.add(0, pool_.get(0));
    system_.initial(chunk.items[chunk.size++]);
    seen_.insert(system_.fingerprint(chunk.items[0]), 0);
    tallies_[0].states = 1;
    tallies_[0].unexpanded = team.options().bounds.depth == 0;
  }

  // The body of each worker's thread.
  void work(unsigned worker) {
    Chunk<State>* out = nullptr;
    const uint32_t bound = team_.options().bounds.depth - (mutant(Mutant::kBoundIsOneLess) ? 1 : 0);
    bool last_layer = bound == 0;
    BatchSink sink(system_, seen_, team_, worker, [&](State& state, Tally&) {
      if (last_layer) return;
      if (out == nullptr || out->full()) out = &later_.add(worker, pool_.get(worker));
      out->items[out->size++] = std::move(state);
    });
    sink.tally() = tallies_[worker];
    for (uint32_t depth = 0; depth < bound; ++depth) {
      last_layer = depth + 1 == bound;
      out = nullptr;
      sink.set_depth(depth + 1);
      const uint64_t before = sink.tally().states;
      while (!team_.stopped()) {
        const auto range = now_.claim(worker, kGrain);
        if (range.chunk == nullptr) break;
        for (uint32_t i = range.begin; i < range.end; ++i) {
          if (i + kAhead < range.chunk->size) __builtin_prefetch(&range.chunk->items[i + kAhead]);
          system_.expand(range.chunk->items[i], sink);
        }
        now_.finish(worker, range, pool_);
        sink.checkpoint();
      }
      sink.drain();
      if (sink.tally().states != before) sink.tally().depth = depth + 1;
      if (last_layer) sink.tally().unexpanded = sink.tally().states - before;
      tallies_[worker] = sink.tally();
      team_.report(worker, sink.tally());
      if (!next_layer(worker)) break;
    }
    tallies_[worker] = sink.tally();
  }

  void conclude(SearchResult& result) const {
    for (const Tally& tally : tallies_) tally.merge_into(result);
    result.exhausted = !team_.stopped() && result.unexpanded == 0 && ended_;
    if (mutant(Mutant::kInterruptedIsComplete)) result.exhausted = result.unexpanded == 0;
  }

 private:
  static constexpr uint32_t kAhead = 8;  // states that are prefetched before they are expanded
  static constexpr uint32_t kGrain = std::clamp<uint32_t>(8192 / sizeof(State), 1, 64);

  // Waits for all workers and makes the next layer the current one. False when the search is over.
  bool next_layer(unsigned worker) {
    rendezvous_.meet([this, worker] {
      now_.clear(worker, pool_);
      now_.swap(later_);
      ended_ = now_.count() == 0;
      FindingBits findings = 0;
      for (const Tally& tally : tallies_) findings |= tally.findings;
      if (!ended_) team_.heed(findings);
      over_ = ended_ || team_.stopped();
    });
    return !over_;
  }

  const System& system_;
  DedupPolicy& seen_;
  Team& team_;
  BufferPool<State> pool_;
  Layer<State> now_, later_;
  Rendezvous rendezvous_;
  std::vector<Tally> tallies_;
  bool ended_ = false;
  bool over_ = false;
};

}  // namespace sisyfs
