// Depth-first search on all workers, with stealing.
//
// Each worker has a stack of states that are visited and not yet expanded. While its stack is deep it
// offers the oldest (shallowest) part of it to the others. With a bound on depth the visited set stores
// depths, and a state that is reached again at a smaller depth is expanded again. So the set of visited
// states is that of all paths within the bound, in whatever order the workers took them.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "explore/batch.h"
#include "explore/frontier.h"

namespace sisyfs {

template <TransitionSystem System, class DedupPolicy>
class DepthFirst {
 public:
  using State = typename System::State;

  DepthFirst(const System& system, DedupPolicy& seen, Team& team)
      : system_(system),
        seen_(seen),
        team_(team),
        pool_(team),
        offers_(team.size()),
        tallies_(team.size()),
        working_(team.size()) {
    auto first = std::make_unique<Stretch>(pool_.get(0));
    Entry& entry = first->items[first->size++];
    system_.initial(entry.state);
    entry.depth = 0;
    seen_.insert(system_.fingerprint(entry.state), 0);
    tallies_[0].states = 1;
    tallies_[0].unexpanded = team.options().bounds.depth == 0;
    offer(0, std::move(first));
  }

  void work(unsigned worker) {
    std::deque<std::unique_ptr<Stretch>> stack;
    uint32_t depth = 0;
    const uint32_t bound = team_.options().bounds.depth;
    BatchSink sink(system_, seen_, team_, worker, [&](State& state, Tally& tally) {
      tally.depth = std::max(tally.depth, depth + 1);
      if (depth + 1 >= bound) {
        ++tally.unexpanded;
        return;
      }
      if (stack.empty() || stack.back()->full())
        stack.push_back(std::make_unique<Stretch>(pool_.get(worker)));
      Stretch& top = *stack.back();
      top.items[top.size].state = std::move(state);
      top.items[top.size++].depth = depth + 1;
    });
    sink.tally() = tallies_[worker];
    Entry entry;
    uint32_t until_checkpoint = kGrain;
    while (find_work(worker, stack)) {
      entry = std::move(stack.back()->items[--stack.back()->size]);
      if (stack.back()->size == 0) {
        pool_.put(worker, std::move(stack.back()->items));
        stack.pop_back();
      }
      depth = entry.depth;
      if (depth >= bound) continue;
      sink.set_depth(depth + 1);
      system_.expand(entry.state, sink);
      sink.drain();
      if (--until_checkpoint != 0) continue;
      until_checkpoint = kGrain;
      sink.checkpoint();
      team_.heed(team_.progress().findings);
      if (stack.size() > 1 && offers_[worker].count.load(std::memory_order_relaxed) == 0) {
        offer(worker, std::move(stack.front()));
        stack.pop_front();
      }
    }
    tallies_[worker] = sink.tally();
    team_.report(worker, sink.tally());
    team_.rest();  // the growth of the visited set does not wait for a worker that is done
  }

  void conclude(SearchResult& result) const {
    for (const Tally& tally : tallies_) tally.merge_into(result);
    result.exhausted = !team_.stopped() && result.unexpanded == 0;
  }

 private:
  struct Entry {
    State state;
    uint32_t depth = 0;
  };
  using Stretch = Chunk<Entry>;
  struct alignas(128) Offer {
    std::mutex mutex;
    std::deque<std::unique_ptr<Stretch>> stretches;
    std::atomic<size_t> count{0};
  };
  static constexpr uint32_t kGrain = std::clamp<uint32_t>(8192 / sizeof(State), 1, 64);

  void offer(unsigned worker, std::unique_ptr<Stretch> stretch) {
    Offer& mine = offers_[worker];
    const std::lock_guard lock(mine.mutex);
    mine.stretches.push_back(std::move(stretch));
    mine.count.store(mine.stretches.size(), std::memory_order_relaxed);
  }

  std::unique_ptr<Stretch> take(unsigned worker) {
    for (size_t i = 0; i < offers_.size(); ++i) {
      Offer& from = offers_[(worker + i) % offers_.size()];
      const std::lock_guard lock(from.mutex);
      if (from.stretches.empty()) continue;
      std::unique_ptr<Stretch> stretch = std::move(from.stretches.front());
      from.stretches.pop_front();
      from.count.store(from.stretches.size(), std::memory_order_relaxed);
      return stretch;
    }
    return nullptr;
  }

  // Waits until there is a state to expand. False when no worker has one, or the search has ended.
  bool find_work(unsigned worker, std::deque<std::unique_ptr<Stretch>>& stack) {
    if (team_.stopped()) return false;
    if (!stack.empty()) return true;
    if (auto stretch = take(worker)) {
      stack.push_back(std::move(stretch));
      return true;
    }
    working_.fetch_sub(1, std::memory_order_acq_rel);
    team_.rest();
    bool found = false;
    while (!team_.stopped()) {
      // A worker counts itself as working before it takes a stretch. So no other worker can see "none works
      // and nothing is offered" while a stretch is between two workers.
      working_.fetch_add(1, std::memory_order_acq_rel);
      if (auto stretch = take(worker)) {
        stack.push_back(std::move(stretch));
        found = true;
        break;
      }
      if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    team_.resume();
    return found;
  }

  const System& system_;
  DedupPolicy& seen_;
  Team& team_;
  BufferPool<Entry> pool_;
  std::vector<Offer> offers_;
  std::vector<Tally> tallies_;
  std::atomic<unsigned> working_;
};

}  // namespace sisyfs
