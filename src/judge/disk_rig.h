// DiskRig: one worker's target, disk and tables; what expand() of the adapter works with.
//
// A target is stateful and used by one thread, while a transition system is immutable and shared. So
// everything that changes lives in rigs, which expand() leases from a pool. A rig remembers things between
// leases only to be faster: what it answers depends on the state and the setup alone.
//
//   rig.begin(state);
//   for (uint32_t op = 0; op < rig.ops().size(); ++op) {
//     rig.run(op);
//     rig.put_end(successor);
//     while (rig.next_crash()) rig.put_crash(successor);
//   }
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crash/looks.h"
#include "judge/catalogue.h"
#include "judge/digest_set.h"
#include "judge/disk_setup.h"
#include "judge/memo.h"
#include "judge/recoverer.h"

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
  const Outcome& outcome() const { return outcome_; }
  // The state after it. Only right after run().
  void put_end(DiskSystemState& to, Parts parts = Parts::kAll);
  // The next crash state during the op that makes a difference, recovered and judged; false at the end.
  bool next_crash();
  const DiskMove& crash_move() const { return crash_move_; }
  const Outcome& crash_outcome() const { return crash_outcome_; }
  void put_crash(DiskSystemState& to, Parts parts = Parts::kAll);

  // Does one move from a state, with no look at others. False if there is no such move.
  bool follow(const DiskSystemState& from, const DiskMove& move, DiskSystemState& to);

  // For reports, after run(): the answer, what was expected and the log of the op on the disk.
  const OpResult& result() const { return result_; }
  const OpResult& expected() const { return expected_; }
  const Walk& walk_again();
  const Log& log() const { return log_; }
  size_t events_before() const { return events_before_; }
  const Tree& tree_after() const { return after_.now(); }
  // After next_crash(): what was cut, and under which expectation. notes() recovers once more.
  CrashState& crash_state() { return *crash_state_; }
  // The event of log() before which the power went; what comes after it was not issued.
  size_t crash_event() const { return crash_event_; }
  const Expectation& crash_expectation() const { return *crash_expectation_; }
  const Recovery& recovered() const { return *recovered_; }
  RecoveryNotes notes() { return recoverer_.notes(crash_state_->image()); }
  const Target& target() const { return *target_; }

  // Crash states that bounds left out since begin().
  const StateCount& left_out() const { return left_out_; }

 private:
  struct WalkAnswer {
    int error = 0;
    Digest tree;
  };

  OpResult perform(const Op& op);
  void judge_op();
  bool next_look();
  bool next_state();
  void judge_crash();
  // What the walk of the target as it stands gives; known walks are not repeated.
  const WalkAnswer& walk(const Snapshot& memory);
  // Whether the expectation allows that this came back; what is known is not worked out again.
  bool is_allowed(const Tree& tree);
  // Moves what became durable out of the log, as no look needs it.
  DiskState settle(const DiskState& state);
  Digest print_of(const DiskState& disk);
  Digest print_of(const Digest& memory, const Digest& disk, const Expectation& expectation,
                  const std::optional<Tree>& kept, uint32_t system_ops) const;

  const DiskSetup& setup_;
  const Bounds& bounds_;
  std::unique_ptr<Target> target_;
  const Traits& traits_;
  Workload workload_;
  MemDisk disk_;
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
  Snapshot memory_;
  Walk walk_;

  // Its power cuts.
  Epoch epoch_;  // for digests
  Looks looks_;
  CrashStates states_;
  bool looking_ = false;  // states_ has more, perhaps
  uint32_t look_number_ = 0, state_number_ = 0;
  StateCount left_out_;
  DiskMove crash_move_;
  Outcome crash_outcome_;
  CrashState* crash_state_ = nullptr;
  size_t crash_event_ = 0;
  const Expectation* crash_expectation_ = nullptr;
  Digest crash_expectation_digest_;
  const Recovery* recovered_ = nullptr;
  bool crash_over_ = false;
  DigestSet seen_looks_, seen_crashes_;  // since begin()

  Looks settling_;
  std::vector<const Event*> events_;
  Recoverer recoverer_;
  Memo<Digest> crash_prints_;  // by crash state: of the disk that its recovery leaves
  Memo<WalkAnswer> walks_;
  Memo<bool> allowed_;  // by expectation and what came back
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

  // Crash states that were left out by all expansions so far; sticks at its largest value.
  uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }
  void add_left_out(const StateCount& more);

 private:
  static constexpr size_t kSlots = 64;
  std::unique_ptr<DiskRig> take();
  void give(std::unique_ptr<DiskRig> rig);

  DiskSetup setup_;
  Bounds bounds_;
  Image blank_;
  std::array<std::atomic<DiskRig*>, kSlots> free_{};
  std::atomic<uint64_t> left_out_{0};
};

}  // namespace sisyfs
