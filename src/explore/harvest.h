// Harvest: what a search by generations knows: the tree, the visited set, the agenda, and what was found.
//
// The workers expand the nodes of a generation in rounds. In a round each of them claims ranges of the
// generation, in order, and gathers in its own hand the successors that are not in the visited set yet.
// When all have put down their ranges, close_round() takes the hands together in the order of parents,
// inserts, and of equal fingerprints keeps the first. Where a round ends is up to time and chance; but
// what comes earlier in the order is always taken first, so the outcome is the same as if one worker had
// taken the successors one by one.
//
// Between two rounds the whole search is in this object, and can be saved and restored.
#pragma once

#include <mutex>
#include <span>

#include "explore/agenda.h"
#include "explore/checkpoint.h"
#include "explore/node_tree.h"
#include "explore/team.h"

namespace sisyfs {

// A successor that may be new.
struct Offspring {
  Digest print;
  uint32_t parent;
  Choice choice;
  uint32_t marks;
  uint16_t work;
  uint16_t new_edges;
};

// The first of the shallowest transitions that showed each kind of finding.
class FirstMet {
 public:
  void note(uint32_t kinds, uint32_t depth, uint32_t parent, Choice choice);
  void merge(const FirstMet& other);
  // Traces to the kinds in `wanted`, sorted by length, then kind.
  std::vector<FoundTrace> traces(const NodeTree& tree, uint32_t wanted) const;
  void save(Encoder& out) const;
  bool restore(Decoder& in, uint32_t nodes);

 private:
  struct Met {
    uint32_t depth, parent;
    Choice choice;
  };
  uint32_t known_ = 0;
  std::array<Met, SearchResult::kKinds> met_{};
};

// What one worker gathers.
struct alignas(128) Hand {
  std::vector<Offspring> candidates;  // of this round, in the order of parents
  Agenda::MarkCounts marks{};         // of this round
  Tally tally;                        // of all rounds
  FirstMet met;                       // of all rounds
};

class Harvest {
 public:
  Harvest(const SearchOptions& options, Team& team);
  bool ok() const { return tree_.ok() && (!dedup_ || visited_.ok()); }

  // Starts with the initial state, or from options.resume. What cannot be done is in trouble().
  void start(const Digest& initial);

  // For workers, in a round.
  bool claim(uint32_t& begin, uint32_t& end);
  void put_down(uint64_t transitions) { round_.fetch_add(transitions, std::memory_order_relaxed); }
  // A node could not be reached again.
  void report_lost(uint32_t node);
  Hand& hand(unsigned worker) { return hands_[worker]; }
  const NodeTree& tree() const { return tree_; }
  const Agenda& agenda() const { return agenda_; }
  const VisitedSet& visited() const { return visited_; }
  bool dedups() const { return dedup_; }
  uint32_t depth_of(uint32_t node) const {
    return tree_.with_depth() ? tree_.depth(node) : agenda_.generation();
  }

  // Between rounds, by one worker while the others wait.
  void close_round();
  bool over() const { return over_; }

  void conclude(SearchResult& result) const;
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kGrain = 8;                  // nodes claimed at once
  static constexpr uint64_t kRound = uint64_t{1} << 16;  // transitions after which no more are claimed

  void collect();
  void absorb();
  bool keep(const Offspring& candidate);
  Seen insert(const Digest& print);
  void turn();
  void measure();
  void save_if_due(bool first);
  Status save() const;
  void save_visited(CheckpointWriter& out) const;
  Status restore(const LoadedCheckpoint& from);
  // The depth of each node; nothing when they are not nodes of a tree.
  std::vector<uint32_t> restore_nodes(std::span<const std::byte> nodes, std::span<const std::byte> depths);
  bool restore_visited(std::span<const std::byte> bytes);
  void fail(Error error);
  double seconds() const;

  const SearchOptions& options_;
  Team& team_;
  const bool dedup_;
  const uint32_t depth_bound_;
  VisitedSet visited_;
  NodeTree tree_;
  Agenda agenda_;
  std::vector<Hand> hands_;
  std::vector<Offspring> pending_;  // collected and not yet absorbed, from head_ on
  size_t head_ = 0;
  std::atomic<uint64_t> cursor_{0};  // in the generation; all before it is expanded
  std::atomic<uint64_t> round_{0};   // transitions in this round
  std::atomic<size_t> bytes_{0};
  bool ended_ = false;  // no node waits
  bool over_ = false;
  std::mutex trouble_mutex_;
  std::optional<Error> trouble_;
  bool broken_ = false;  // a range was not finished: nothing of this round may be saved
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point saved_ = started_;
  double seconds_before_ = 0;
  uint32_t saves_ = 0;
};

}  // namespace sisyfs
