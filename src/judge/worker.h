// Worker: one worker's machine and judges; what expand() of the transition system works with.
//
// A target is stateful and used by one thread, while a transition system is immutable and shared. So
// everything that changes lives in workers, which expand() leases from a pool. A worker remembers things
// between leases only to be faster: what it answers depends on the state and the setup alone.
//
//   worker.begin(state);
//   for (uint32_t op = 0; op < worker.ops().size(); ++op) {
//     worker.run(op);
//     do {
//       worker.put_end(successor);
//       while (worker.next_crash()) worker.put_crash(successor);
//     } while (worker.run_again());
//   }
#pragma once

#include <memory>
#include <vector>

#include "base/digest_set.h"
#include "judge/access_judge.h"
#include "judge/check_judge.h"
#include "judge/reference_judge.h"
#include "judge/system_state.h"
#include "machine/machine.h"
#include "workload/workload.h"

namespace sisyfs {

// How much of a successor is wanted: a search that keeps no states uses only fingerprints.
enum class Parts : uint8_t {
  kAll,
  kPrint,  // what DiskSystem::fingerprint() uses
  kShape,  // what shape_print() uses
  kTree,   // what tree_print() uses
};

// What all workers of a check share. Immutable.
struct CheckPlan {
  // Bad input where bounds, device and target do not fit.
  static Result<CheckPlan> make(DiskSetup setup, MakeJudges further = {});

  DiskSetup setup;
  Bounds bounds;  // of the target
  Image blank;
  CheckRules rules;
  KindTable kinds;
  MakeJudges further = {};  // judges beyond those that every check has
};

class Worker {
 public:
  // Borrows the plan.
  explicit Worker(const CheckPlan& plan);

  // The formatted and mounted target. An errno if it cannot be had.
  int put_initial(DiskSystemState& to);

  // Lists what can be done from here. Borrows the state. Once `stop` is raised there are no more crash
  // states.
  void begin(const DiskSystemState& from, StopSignal stop = {});
  bool stopped() const { return stop_.raised(); }
  const std::vector<Candidate>& ops() const { return ops_; }

  // Performs one op and judges it.
  void run(uint32_t op);
  // Performs it once more in another way (machine/ways.h). False if there is no other way.
  bool run_again();
  const Outcome& outcome() const { return op_.outcome; }
  // The choice that leads to this end of the op.
  const DiskMove& end_move() const { return op_.end; }
  // The state after it. Only right after run() or run_again().
  void put_end(DiskSystemState& to, Parts parts = Parts::kAll);
  // The next crash state during the op that makes a difference, recovered and judged; false at the end.
  bool next_crash();
  const DiskMove& crash_move() const { return crash_.move; }
  const Outcome& crash_outcome() const { return crash_.outcome; }
  void put_crash(DiskSystemState& to, Parts parts = Parts::kAll);

  // Does one move again, without its siblings. False if there is no such move.
  bool go(const DiskSystemState& from, const DiskMove& move, StopSignal stop = {});
  bool follow(const DiskSystemState& from, const DiskMove& move, DiskSystemState& to, StopSignal stop = {});
  // After go(): it was a power cut.
  bool is_cut() const { return crash_.is_cut; }

  // Performs a named op with a named failure, for a replay. False if the failure did not come about.
  bool run(const DiskSystemState& from, const Op& op, const InjectedFailure& failure);
  // Judges what came back from a power cut after so many promises, for a replay, and gives the state after
  // it.
  const Outcome& judge(const Recovery& recovery, size_t promises, const Tree* uninterrupted,
                       const Tree* with_write);
  void put_comeback(const Recovery& recovery, const MediaState& disk, DiskSystemState& to);

  Machine& machine() { return machine_; }
  const ReferenceJudge& reference() const { return reference_; }
  const CheckPlan& plan() const { return plan_; }
  const DiskSystemState& from() const { return *from_; }
  bool from_damaged() const { return from_->damaged; }
  // The path ends with the op at hand.
  bool op_is_over() const { return op_.over; }

 private:
  // Where an op of a script, or of a workload of ACE, leads to.
  struct ScriptPlace {
    uint32_t next = 0;  // position behind it
    bool may_cut = true;
    bool cut_after = false;  // only after a promise
  };
  // The op at hand.
  struct OpAtHand {
    Outcome outcome;
    bool over = false;  // the path ends with this op
    uint8_t letter = 0;
    uint32_t position = 0;
    DiskMove end;
    OpKind kind{};
    ScriptPlace place;
  };
  // The power cut at hand.
  struct CrashAtHand {
    bool at_point = false;  // there may be more outcomes at this crash point
    bool is_cut = false;
    bool over = false;
    uint32_t number = 0;  // of the next outcome
    DiskMove move;
    Outcome outcome;
  };

  void list_script(const DiskSystemState& from);
  void list_ace(const DiskSystemState& from);
  void begin_op(const Op& op);
  bool run_this_way(const Op& op);
  void run_repair();
  void judge_op();
  bool next_point();
  bool next_state();
  void judge_crash();
  Opinion opinion_of(const Comeback& back);
  // Digest by which each distinct outcome of a power cut is reported once.
  Digest crash_digest();
  bool begin_comeback(const Recovery& recovery, DiskSystemState& to) const;
  void expect_comeback(const Recovery& recovery, DiskSystemState& to) const;
  void end_comeback(const Recovery& recovery, const Digest& disk_print, DiskSystemState& to) const;
  void set_known(DiskSystemState& state) const;
  // After set_known().
  static void set_print(const Digest& disk, DiskSystemState& state);

  const CheckPlan& plan_;
  const DiskSetup& setup_;
  Workload workload_;
  RememberingMachine machine_;
  RememberingReferenceJudge reference_;
  CheckJudge check_;
  AccessJudge access_;
  std::vector<std::unique_ptr<Judge>> further_;
  std::vector<Candidate> ops_;
  std::vector<ScriptPlace> places_;          // with a script or ACE: of each of these ops
  std::vector<AceWorkload::Next> ace_next_;  // scratch
  const DiskSystemState* from_ = nullptr;
  StopSignal stop_;
  OpAtHand op_;
  CrashAtHand crash_;
  DigestSet seen_points_, seen_crashes_;  // since begin()
  Memo<Digest> crash_prints_;  // by crash state: the fingerprint of the disk that its recovery leaves
  std::vector<const Event*> events_;
};

}  // namespace sisyfs
