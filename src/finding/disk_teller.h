// DiskTeller: executes the steps of a finding on a worker, and tells them: ops with their writes, what a
// power cut left of them, what recovery saw, and what should have been there.
//
//   DiskTeller teller(workers);
//   Replayed replayed = teller.run(initial, steps);
//
// Power cuts are executed eagerly: the lost events are named, so the crash state is one image. A step that
// cannot be executed ends the replay with the reason: the op has fewer events than the cut comes after, a
// lost event is another one than the name says, or it was durable by then. A name of a step that is not in
// the list any more is passed over.
//
// The work is linear in the number of steps: nothing is done again for each step that came before.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "finding/check.h"
#include "finding/event_names.h"
#include "finding/write_history.h"
#include "judge/worker_pool.h"

namespace sisyfs {

class DiskTeller {
 public:
  explicit DiskTeller(WorkerPool& workers);
  Replayed run(const DiskSystemState& initial, std::span<const Step> steps);

 private:
  // A power cut that was executed, and what came back.
  struct CutAtHand {
    CrashState* state = nullptr;
    uint64_t next_serial = 0;  // events from here on had not been issued
    size_t promises = 0;       // of the op, when the power went in it
  };

  // Executes and tells one step; false if it cannot be.
  bool do_step(const Step& step, DiskSystemState& state);
  void begin(const DiskSystemState& initial, std::span<const Step> steps);
  bool can_begin(const Step& step, const Op& op, const DiskSystemState& state);
  bool do_cuts(const Step& step, const Op& op, DiskSystemState& state);
  // Builds the crash state of one power cut in the events of a log from `from` on.
  bool build_cut(const Step& step, uint32_t level, const MediaState& disk, size_t from, CrashPoints& points,
                 CrashState& out, CutAtHand& cut);
  bool mark_lost(const Step& step, const PowerCut& cut, const std::vector<uint64_t>& unissued,
                 CrashState& out);
  bool cannot(std::string why);

  void tell_op(const Op& op, const Step& named);
  void tell_repair(const Step& named, const Op& op);
  void tell_writes(StoryStep& step, const Log& log, size_t from, const Image& before);
  void tell_trial(StoryStep& step, const TrialNotes& trial, bool died);
  void tell_recovery(StoryStep& step, FindingBits findings, const Recovery& recovery,
                     const RecoveryNotes& notes, const Tree* uninterrupted);
  // Which promise the tree that came back breaks; empty if no single one.
  std::string broken_promise(const Tree& tree) const;
  // Of a problem with a block: the write that wrote the block last, and the write before that.
  std::string history_of_block(const Problem& problem, const ProblemKind& kind);
  void persist_what_is_durable();
  bool found(FindingBits findings, FindingKind kind) const {
    return worker_->plan().kinds.has(findings, kind);
  }
  std::string fault_text() const;
  std::vector<std::string> fault_frames() const;
  // That a file of the tree holds bytes of the fresh disk; empty if none does.
  std::string stale_text(const Tree& tree) const;

  WorkerPool::Lease worker_;
  const TargetKind& kind_;
  Story story_;
  FindingBits findings_ = 0;
  std::string cannot_happen_;
  std::set<uint32_t> ids_;  // of all steps
  WriteHistory writes_;
  EventNames names_;
  std::vector<Tree> past_;                        // trees before the one that is right now
  std::vector<std::string> calls_;                // "'fsync /a' (step 3)", by the number in the expectation
  std::string before_calls_ = "the first mount";  // what promised the tree before the first call
  uint64_t played_ = 0;                           // of a recording: up to this entry
  std::vector<const Event*> events_;
};

}  // namespace sisyfs
