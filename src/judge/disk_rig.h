// DiskRig: one worker's target, disk and tables; what expand() of the adapter works with.
//
// A target is stateful and used by one thread, while a transition system is immutable and shared. So
// everything that changes lives in rigs, which expand() leases from a pool. A rig remembers things between
// leases only to be faster: what it answers depends on the state and the setup alone.
//
//   rig.begin(state);
//   for (uint32_t op = 0; op < rig.ops().size(); ++op) {
//     rig.run(op);
//     do {
//       rig.put_end(successor);
//       while (rig.next_crash()) rig.put_crash(successor);
//     } while (rig.run_again());
//   }
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest_set.h"
#include "judge/catalogue.h"
#include "judge/disk_setup.h"
#include "judge/memo.h"
#include "judge/power_cuts.h"
#include "judge/recoverer.h"
#include "judge/stable_words.h"

namespace sisyfs {

// How much of a successor is wanted: a search that keeps no states looks at fingerprints alone.
enum class Parts : uint8_t {
  kAll,
  kPrint,  // what DiskSystem::fingerprint() looks at
  kShape,  // what shape_print() looks at
};

class DiskRig {
 public:
  // `bounds` are those of the target. The setup outlives the rig.
  DiskRig(const DiskSetup& setup, const Bounds& bounds, const Image& blank);

  // The formatted and mounted target. An errno if it cannot be had.
  int put_initial(DiskSystemState& to);

  // From here, what can be done?
  void begin(const DiskSystemState& from);
  const std::vector<Candidate>& ops() const { return ops_; }

  // Performs one op, and judges it. The state of begin() is still there.
  void run(uint32_t op);
  // Performs it once more in another way: another disk access fails, or a block that a power cut left open
  // holds something else. False if there is no other way.
  bool run_again();
  const Outcome& outcome() const { return outcome_; }
  // How this end of the op is reached again.
  const DiskMove& end_move() const { return end_move_; }
  // The state after it. Only right after run().
  void put_end(DiskSystemState& to, Parts parts = Parts::kAll);
  // The next crash state during the op that makes a difference, recovered and judged; false at the end.
  bool next_crash();
  const DiskMove& crash_move() const { return crash_move_; }
  const Outcome& crash_outcome() const { return crash_outcome_; }
  void put_crash(DiskSystemState& to, Parts parts = Parts::kAll);

  // Does one move from a state, with no look at others. False if there is no such move.
  bool go(const DiskSystemState& from, const DiskMove& move);
  bool follow(const DiskSystemState& from, const DiskMove& move, DiskSystemState& to);
  // After go(): it was a power cut.
  bool is_cut() const { return is_cut_; }

  // For reports, after run(): the answer, what was expected and the log of the op on the disk.
  const OpResult& result() const { return result_; }
  const OpResult& expected() const { return expected_; }
  const Walk& walk_again();
  const Log& log() const { return log_; }
  size_t events_before() const { return events_before_; }
  const Tree& tree_after() const { return after_.now(); }
  // Which access of the op to the disk failed, or which of its allocations, counted from 1; 0: none.
  uint32_t failed_access() const { return failed_ && !fail_memory_ ? fail_ : 0; }
  uint32_t failed_allocation() const { return failed_ && fail_memory_ ? fail_ : 0; }
  // After next_crash(): what was cut, and under which expectation.
  PowerCuts& cuts() { return cuts_; }
  const Expectation& crash_expectation() const { return *crash_expectation_; }
  // Whether the op had returned then.
  bool crash_after_return() const { return promises_before_cut_ > words_.count(); }
  // What the target had said to be stable by then, or by the end of the op.
  Stable stable() const {
    return is_cut_ && !crash_after_return() ? words_.by(promises_before_cut_) : words_.said();
  }
  // Also of the op fsck on a damaged disk, which is judged as a recovery.
  const Recovery& recovered() const { return from_->damaged ? repaired_ : cuts_.recovered(); }
  RecoveryNotes notes();
  Target& target() { return *target_; }
  const TargetKind& kind() const { return kind_; }
  bool from_damaged() const { return from_->damaged; }

  // Crash states since begin().
  const CutCounts& counts() const { return cuts_.counts(); }
  // Of recoveries, ever.
  const Recoverer& recoverer() const { return recoverer_; }

 private:
  struct WalkAnswer {
    int error = 0;
    uint32_t faults = 0;  // findings
    Digest tree;
  };

  // A start with a past, or a damaged one (damaged_start.cc).
  int prepare(Tree* tree);
  void run_repair();
  OpResult perform(const Op& op);
  // Begins the op once more; false if what it was begun for did not come about.
  bool run_this_way();
  // Lets the access or allocation with this number fail; 0: none.
  void set_failure(uint32_t number);
  bool memory_failed();
  void judge_answer(const Op& op, Tree tree);
  // The expectations once the target has said, in the middle of the op, that it is stable.
  void heed_words(const Tree& after, bool may_be_done);
  const Expectation& expectation_after(size_t promises) const;
  void judge_op();
  void judge_death(uint32_t findings);
  bool is_refusal() const;
  FindingKind wrong_effect() const;
  void watch_open();
  bool next_point();
  bool next_state();
  void judge_crash();
  // What the walk of the target as it stands gives; known walks are not repeated.
  const WalkAnswer& walk(const Snapshot& memory);
  // Whether the expectation allows that this came back; what is known is not worked out again.
  bool is_allowed(const Tree& tree);
  // What is told once of an outcome of a power cut.
  Digest crash_digest();
  // The disk that the recovery at hand leaves, and what it is known by.
  MediaState crash_disk();
  // Moves what became durable out of the log, as no look needs it.
  MediaState settle(const MediaState& state);
  Digest print_of(const MediaState& disk);
  Digest print_of(const Digest& disk, const DiskSystemState& state) const;

  const DiskSetup& setup_;
  const Bounds& bounds_;
  std::unique_ptr<Target> target_;
  const TargetKind& kind_;
  SavesMemory& saves_;
  Workload workload_;
  Media disk_;
  Recoverer recoverer_;
  std::vector<Candidate> ops_;

  // The op at hand.
  const DiskSystemState* from_ = nullptr;
  OpResult result_, expected_;
  Outcome outcome_;
  bool over_ = false;  // the path ends with this op
  uint8_t letter_ = 0;
  Log log_;
  size_t events_before_ = 0;
  Expectation during_, after_;  // what is right during the op and once it has returned
  StableWords words_;           // and in between, where the target says more:
  Expectation earlier_stable_, this_stable_;
  Snapshot memory_;
  Walk walk_;

  // The ways in which it can be performed.
  Epoch open_, open_after_;  // what power cuts have left open, before and after it
  LazyStates open_states_;
  FirstReads reads_;
  uint32_t fail_ = 0;  // the access or allocation that is to fail, from 1
  bool fail_memory_ = false;
  bool failed_ = false;      // it did
  bool failed_yet_ = false;  // in some way the access was reached
  uint32_t position_ = 0;
  DiskMove end_move_;

  // Its power cuts.
  PowerCuts cuts_;
  bool looking_ = false;  // there is more in this look, perhaps
  uint32_t state_number_ = 0;
  bool is_cut_ = false;
  DiskMove crash_move_;
  Outcome crash_outcome_;
  const Expectation* crash_expectation_ = nullptr;
  size_t promises_before_cut_ = 0;
  Digest crash_expectation_digest_;
  Recovery repaired_;  // of a damaged start
  bool crash_over_ = false;
  DigestSet seen_points_, seen_crashes_;  // since begin()

  Epoch epoch_;  // for digests
  CrashPoints settling_;
  std::vector<const Event*> events_;
  Memo<Digest> crash_prints_;  // by crash state: of the disk that its recovery leaves
  Memo<WalkAnswer> walks_;
  WalkAnswer strayed_walk_;  // one that is not kept
  Memo<bool> allowed_;       // by expectation and what came back
};

// Rigs that nobody uses at the moment. Threads usually find the one that they used before.
class RigPool {
 public:
  RigPool(DiskSetup setup, Bounds bounds, Image blank)
      : setup_(std::move(setup)), bounds_(std::move(bounds)), blank_(std::move(blank)) {}
  RigPool(const RigPool&) = delete;
  RigPool& operator=(const RigPool&) = delete;
  ~RigPool();

  class Lease {
   public:
    explicit Lease(RigPool& pool) : pool_(pool), rig_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give(std::move(rig_)); }
    DiskRig* operator->() const { return rig_.get(); }
    DiskRig& operator*() const { return *rig_; }

   private:
    RigPool& pool_;
    std::unique_ptr<DiskRig> rig_;
  };

  // Crash states of all expansions so far; counts stick at their largest value.
  uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }
  uint64_t sampled() const { return sampled_.load(std::memory_order_relaxed); }
  uint64_t stood_for() const { return stood_for_.load(std::memory_order_relaxed); }
  uint64_t runs() const { return runs_.load(std::memory_order_relaxed); }
  uint64_t images() const { return images_.load(std::memory_order_relaxed); }
  void add(const CutCounts& counts, uint64_t runs, uint64_t images);

 private:
  static constexpr size_t kSlots = 64;
  std::unique_ptr<DiskRig> take();
  void give(std::unique_ptr<DiskRig> rig);

  DiskSetup setup_;
  Bounds bounds_;
  Image blank_;
  std::array<std::atomic<DiskRig*>, kSlots> free_{};
  std::atomic<uint64_t> left_out_{0}, sampled_{0}, stood_for_{0}, runs_{0}, images_{0};
};

}  // namespace sisyfs
