// Harvest: the data of a search by generations: the tree, the visited set, the agenda, and the findings.
//
// The workers expand the nodes of a generation in rounds. In a round each worker claims ranges of the
// generation, in order, and gathers in its own Hand the successors that are not in the visited set. When all
// ranges are finished, close_round() merges the hands in the order of parents and inserts the successors; of
// equal fingerprints the first is kept. Where a round ends depends on time and chance. But successors that
// come earlier in the order are always inserted earlier, so the result is the same as if one worker had
// inserted the successors one by one.
//
// Between two rounds the whole search is in this object, and can be saved and restored. A search that is
// stopped in the middle of a node has an unfinished round: its successors and findings go into the result,
// but the checkpoint that is written then holds the search as it was at the start of that round.
#pragma once

#include <mutex>
#include <span>

#include "explore/agenda.h"
#include "explore/checkpoint.h"
#include "explore/node_tree.h"
#include "explore/team.h"
#include "explore/worker_messages.h"

namespace sisyfs {

// For each kind of finding, the first of the shallowest transitions that showed it.
class FirstMet {
 public:
  void note(FindingBits kinds, uint32_t depth, uint32_t parent, Choice choice);
  void merge(const FirstMet& other);
  // Traces to the kinds in `wanted`, sorted by length, then kind.
  std::vector<FoundTrace> traces(const NodeTree& tree, FindingBits wanted) const;
  void save(CheckpointSummary& to) const;
  // False when a transition starts from a node that the tree does not have, or not at that depth.
  bool restore(const CheckpointSummary& from, const std::vector<uint32_t>& depths);
  FindingBits known() const { return known_; }
  // Those of the kinds in known(), in their order.
  std::vector<FirstTransition> transitions() const;

 private:
  FindingBits known_ = 0;
  std::array<FirstTransition, SearchResult::kKinds> met_{};
};

// What one worker gathers.
struct alignas(128) Hand {
  std::vector<Offspring> candidates;  // of this round, in the order of parents
  Agenda::MarkCounts marks{};         // of this round
  Tally tally;                        // of all rounds
  FirstMet met;                       // of all rounds
  Tally tally_before;                 // `tally` and `met` at the start of this round
  FirstMet met_before;
};

class Harvest {
 public:
  Harvest(const SearchOptions& options, Team& team);
  bool ok() const { return tree_.ok() && (!dedup_ || visited_.ok()); }

  // Starts with the initial state, or from options.resume. An error ends the search and is in its result.
  void start(const Digest& initial);

  // For workers, in a round. claim() gives the next range of the generation, false when the round ends;
  // put_down() says how many transitions a finished range had.
  bool claim(uint32_t& begin, uint32_t& end);
  void put_down(uint64_t transitions) {
    round_.transitions.fetch_add(transitions, std::memory_order_relaxed);
  }
  // The nodes of this round take long.
  bool claims_one_by_one() const { return round_.one_by_one; }
  // The state of a node could not be rebuilt.
  void report_lost(uint32_t node);
  // An error outside of the target, which ends the search.
  void report_trouble(Error error);
  bool is_broken() const { return broken_.load(std::memory_order_relaxed); }
  // What a worker elsewhere did in all.
  void add(const CrashCounts& counts);
  void add(const message::Account& account);
  // The fingerprint of the initial state.
  const Digest& initial() const { return elsewhere_.initial; }
  // A finding of the checkpoint does not happen. Before the first round.
  void refuse_finding(uint32_t kind);
  // The search ended before a claimed range was finished.
  void report_unfinished() { round_.unfinished.store(true, std::memory_order_relaxed); }
  bool stopped() const { return team_.stopped(); }
  // For a worker in the middle of a node with slow successors: reports its counts, and stops a slow round
  // that has enough states.
  void report_in_node(unsigned worker);
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
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kGrain = 8;  // nodes claimed at once
  // For workers elsewhere, which have to be asked: at most, and the time that they should take.
  static constexpr uint32_t kMostGrain = 256;
  static constexpr double kGrainSeconds = 0.002;
  static constexpr uint64_t kRound = uint64_t{1} << 16;  // transitions after which no more are claimed
  // A round with fewer transitions than kSlowRound in kSlowTime is slow. It ends after kSlowTime, so that
  // states are counted and the bound on states is checked; and nodes are then claimed one by one.
  static constexpr uint64_t kSlowRound = 4096;
  static constexpr std::chrono::milliseconds kSlowTime{200};

  struct Round {
    uint64_t first = 0;  // cursor_ at its start
    Clock::time_point started = Clock::now();
    std::atomic<uint64_t> transitions{0};  // of finished ranges
    std::atomic<bool> unfinished{false};   // a claimed range was not finished
    bool one_by_one = true;  // nodes are claimed singly: the round before was slow, or there was none
    uint32_t grain = 1;      // nodes that are claimed at once
  };
  struct Saves {
    uint32_t written = 0;
    uint32_t resumed_nodes = 0;  // nodes of the checkpoint that was resumed
  };
  struct Times {
    Clock::time_point started = Clock::now(), saved = started;
    double seconds_before = 0;  // spent before the checkpoint that was resumed
  };

  // The first error outside of the target. The mutex also guards what workers elsewhere report.
  struct Trouble {
    std::mutex mutex;
    std::optional<Error> error;
  };
  // For workers elsewhere, and what they reported.
  struct Elsewhere {
    Digest initial;  // the fingerprint of the initial state
    CrashCounts counts;
    std::optional<EdgeCount> edges;
  };

  bool is_slow(uint64_t transitions) const {
    return transitions < kSlowRound && Clock::now() - round_.started >= kSlowTime;
  }
  void begin_round();
  void save_and_abandon_round();
  void absorb_hands();
  void absorb_pending();
  bool keep(const Offspring& candidate);
  Seen insert(const Digest& print);
  void turn();
  void set_grain(double nodes_per_s);
  void measure();
  void save_if_due(bool first);
  Status save() const;
  void save_visited(CheckpointWriter& out) const;
  // From a checkpoint, of which nothing is trusted: a file with a right checksum may still be forged.
  Status restore(const LoadedCheckpoint& from);
  bool has_all_sections(const LoadedCheckpoint& from) const;
  bool summary_fits(const CheckpointSummary& summary, const std::vector<uint32_t>& depths) const;
  // Gives the depth of each node.
  Status restore_nodes(const LoadedCheckpoint& from, std::vector<uint32_t>& depths);
  Status restore_visited(std::span<const std::byte> bytes, uint64_t states);
  bool restore_pending(std::span<const std::byte> bytes, const CheckpointSummary& summary);
  static Error contradiction(const std::string& what);
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
  std::vector<Offspring> pending_;  // that a bound left over, from head_ on
  size_t head_ = 0;
  std::atomic<uint64_t> cursor_{0};  // in the generation; between rounds all nodes before it are expanded
  Round round_;
  std::atomic<size_t> bytes_{0};
  bool ended_ = false;  // no node is left to expand
  bool over_ = false;
  Trouble trouble_;
  std::atomic<bool> broken_{false};  // a state could not be rebuilt: nothing is saved any more
  Times times_;
  Saves saves_;
  Elsewhere elsewhere_;
};

}  // namespace sisyfs
