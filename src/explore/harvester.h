// Harvester: one worker's hands in a search in generations. It takes the successors of a node, one by one.
//
// The node is the unit: what was counted counts only when its last successor is in. If memory gives out
// in the middle, or the state of the search is saved just then, the node is simply expanded again later:
// its candidates are the same ones with the same order, and adding them twice changes nothing.
//
// A probe is a cache miss, so successors wait in a small batch while their lines come.
#pragma once

#include <array>
#include <vector>

#include "explore/candidates.h"
#include "explore/team.h"

namespace sisyfs {

// Where a kind of finding was met. The least one tells the trace.
struct Found {
  uint32_t depth = ~uint32_t{0};  // of the finding; none, if it has this value
  uint32_t parent = 0;            // the node that was expanded
  uint32_t sequence = 0;          // of the commit
  Choice choice{};

  bool before(const Found& o) const {
    if (depth != o.depth) return depth < o.depth;
    return parent != o.parent ? parent < o.parent : sequence < o.sequence;
  }
};

// What has been seen, in nodes that were expanded to the end.
struct Yield {
  Tally tally;
  std::array<Found, SearchResult::kKinds> first;
  std::array<uint64_t, 32> marks_seen{};  // transitions that reached each mark, where they are ranked by that

  void add(const Yield& other);
};

class alignas(128) Harvester {
 public:
  // `visited` is null where every successor is kept.
  Harvester(unsigned writer, SearchOrder order, const VisitedSet* visited, Candidates& candidates, Team& team)
      : writer_(writer), order_(order), visited_(visited), candidates_(candidates), team_(team) {}

  // The positions of the generation that are this worker's and not done yet.
  uint32_t next = 0, end = 0;

  void begin_node(uint32_t position, uint32_t node, uint32_t depth) {
    order_base_ = uint64_t{position} << 32;
    node_ = node;
    depth_ = depth + 1;
    sequence_ = pending_ = 0;
    events_.clear();
    full_ = false;
  }

  void add(Choice choice, Outcome outcome, const Digest& print) {
    const uint32_t sequence = sequence_++;
    if ((outcome.findings | outcome.marks) != 0) events_.push_back({outcome, sequence, choice});
    uint32_t value = 0;
    if (order_ != SearchOrder::kBreadthFirst)
      value = order_ == SearchOrder::kRarest ? outcome.marks : outcome.work;
    batch_[pending_++] = {print, order_base_ | sequence, choice, value};
    if (visited_ != nullptr) visited_->prefetch(print);
    candidates_.prefetch(print);
    if (pending_ == kBatch) flush();
  }

  // False where memory gave out and the node is not done.
  bool end_node() {
    flush();
    if (full_) return false;
    yield_.tally.transitions += sequence_;
    for (const Event& event : events_) note(event);
    return true;
  }

  const Yield& yield() const { return yield_; }
  void report() { team_.report(writer_, yield_.tally); }

 private:
  static constexpr uint32_t kBatch = 16;
  struct Event {
    Outcome outcome;
    uint32_t sequence;
    Choice choice;
  };

  void flush() {
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < pending_; ++i) {
      if (visited_ != nullptr && visited_->contains(batch_[i].print)) continue;
      candidates_.prefetch_record(batch_[i].print);
      if (fresh != i) batch_[fresh] = batch_[i];
      ++fresh;
    }
    for (uint32_t i = 0; i < fresh && !full_; ++i) {
      if (!candidates_.has_place(writer_) && !wait_for_room()) break;
      if (candidates_.add(writer_, batch_[i]) != Candidates::Added::kNew) continue;
      ++yield_.tally.states;
      yield_.tally.depth = std::max(yield_.tally.depth, depth_);
    }
    pending_ = 0;
  }
  bool wait_for_room();
  void note(const Event& event);

  const unsigned writer_;
  const SearchOrder order_;
  const VisitedSet* const visited_;
  Candidates& candidates_;
  Team& team_;
  uint64_t order_base_ = 0;
  uint32_t node_ = 0, depth_ = 0, sequence_ = 0, pending_ = 0;
  bool full_ = false;
  std::array<Candidate, kBatch> batch_;
  std::vector<Event> events_;  // of this node
  Yield yield_;
};

}  // namespace sisyfs
