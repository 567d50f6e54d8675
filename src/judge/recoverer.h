// Recoverer: brings a target back after a power cut, and judges how it came back.
//
// Most crash states come back as others did. So nothing is done twice that can be known: an image that came
// before, what agrees with one that came before in all that was read of it, and the same for the two dear
// parts of a recovery, the target's own check and the trial whether it can be worked with.
// docs/design/adapter.md has the figures.
//
//   Recoverer recoverer(setup, bounds, target, blank);
//   const Recovery& recovery = recoverer.recover(crash_state);
//   if (recovery.alive && !expectation.crash_allowed(recovery.tree)) ...
//
// Of an epoch whose crash states are decided on the way (crash/lazy_states.h) each run is recovered in the
// same manner: one recovery then serves every crash state that agrees on what was read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/crash_state.h"
#include "crash/lazy_states.h"
#include "judge/catalogue.h"
#include "judge/disk_setup.h"
#include "judge/memo.h"
#include "judge/read_memo.h"

namespace sisyfs {

// How a crash state came back. Depends on what was read of its image alone.
struct Recovery {
  uint32_t findings = 0;  // all but R3
  uint32_t marks = 0;
  uint16_t work = 0;   // blocks that fsck and mount wrote
  bool alive = false;  // it was mounted and walked; the rest is only then
  Snapshot memory;
  Tree tree;
  Log log;                           // what fsck and mount did to the disk
  uint32_t reads = 0;                // blocks that were read for it; the trial of its use read more
  std::vector<BlockAddress> blocks;  // where power cuts in recovery are looked at: all that were read
};

// What a report wants to know of a recovery beyond that.
struct RecoveryNotes {
  RepairReport repair;  // what fsck found, and mended where it could
  RepairReport check;   // what it finds when it looks again
  int mount_error = 0;
  Walk walk;
  std::string unusable;  // why, if it is
  std::string fault;     // of the target, if it had one
  Walk mounted_alone;    // where that brings something else back
  // Who has made accesses that must not be, if there were any.
  const char* strayed = "recovery";
  Log log;  // with these accesses
};

// The rare things that the target did since they were asked for last, as marks of an outcome.
uint32_t marks_of(Target& target);

// Faults of targets (target/target.h), as findings.
uint32_t findings_of_faults(uint32_t faults);
// The faults of the target since they were asked for last, as findings.
uint32_t faults_of(Target& target);
// Whether these findings leave nothing to judge.
constexpr bool found_dead(uint32_t findings) {
  return (findings & (bit(FindingKind::kTargetDied) | bit(FindingKind::kTargetHung) |
                      bit(FindingKind::kHeapMisuse) | bit(FindingKind::kRunawayMemory))) != 0;
}

// What the target asked of the disk and must not.
uint32_t findings_of(const Log& log);

class Recoverer {
 public:
  // All are borrowed but the blank image, which says how large a disk is. `bounds` are those of the target.
  Recoverer(const DiskSetup& setup, const Bounds& bounds, Target& target, const Image& blank);

  // How this crash state comes back. Lives until the next call. The target is used up.
  const Recovery& recover(CrashState& state);
  // How the crash states of a run come back, which is decided on the way.
  const Recovery& recover(LazyStates& run);
  // Recovers once more, to tell about it.
  RecoveryNotes notes(CrashState& state);
  RecoveryNotes notes(LazyStates& run);

  // The same for a disk that was damaged: what is reported and mended is no finding.
  Recovery repair(const Image& image);
  RecoveryNotes notes_of_repair(const Image& image);

  // Recoveries that were carried out, and crash states, built as images, that were new.
  uint64_t runs() const { return runs_; }
  uint64_t images() const { return images_; }

 private:
  // What the check says of a disk that it leaves as it is.
  struct Checked {
    uint32_t findings = 0;
    uint32_t marks = 0;
  };
  struct Known {
    const ReadMemo<Recovery>::Entry* entry = nullptr;
    Digest key;  // of the entry, as long as it holds this recovery
  };

  // Bits more than the setup says. Measured on f2fs; each ReadMemo has 512 bytes of nodes for an answer.
  static constexpr unsigned kByImage = 2, kByReads = 1;

  // The image is that of a crash state, or of a run what is not in doubt there.
  void carry_out(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes);
  const Snapshot& save();
  Walk watched_walk();
  Checked check(const Image& image);
  Checked judge_fsck(RecoveryNotes* notes);
  // Findings of the trial whether it can be worked with; `known_use` does not repeat a known one.
  uint32_t try_use(const Tree& tree, std::string* why);
  uint32_t known_use(const Recovery& recovery);
  uint32_t finding_of(const Problem& problem) const { return problem_findings_[problem.kind]; }
  uint32_t compare_ways(const Image& image, LazyStates* run, const Tree& tree, RecoveryNotes* notes);
  // Blocks written since the disk was loaded.
  uint16_t blocks_written();

  const DiskSetup& setup_;
  const Bounds& bounds_;
  Target& target_;
  const TargetKind& kind_;
  SavesMemory& saves_;
  ChecksOffline* offline_;                  // null: it has none
  std::vector<uint32_t> problem_findings_;  // by kind of problem: its bit, or 0
  Media disk_;
  RepairReport report_, report_again_;
  Recovery recovery_;  // the one at hand
  std::vector<const Event*> events_;

  Memo<Snapshot> memories_;         // by digest: most recoveries lead to what others led to
  Memo<Known> known_;               // by image
  ReadMemo<Recovery> recoveries_;   // by what was read of it
  ReadMemo<Checked> checks_;        // by what the check read
  ReadMemo<uint32_t> trials_;       // by what was in memory and what the walk and the trial read
  FirstReads reads_, trial_reads_;  // of the whole, and of the walk with the trial
  bool damaged_ = false;            // the disk at hand was, before
  uint64_t runs_ = 0, images_ = 0;
};

}  // namespace sisyfs
