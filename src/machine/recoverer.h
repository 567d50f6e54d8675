// Recoverer: brings a target back after a power cut and says what it saw. It does not judge.
//
// A recovery is: repair by the target's own check, check again, mount, walk, and, where all that went well, a
// trial whether the system can be used. With RecoverySetup::mount_alone it is: mount, walk, trial, and then,
// on the same crash state, mount, unmount and check. A Recoverer carries out each of them;
// RememberingRecoverer (remembering_recoverer.h) is the same and repeats nothing that is known.
//
//   Recoverer recoverer(setup, bounds, rules, target, blank);
//   const Recovery& recovery = recoverer.recover(crash_state);
//
// The crash states of an epoch may also be decided as they are read (crash/lazy_states.h): one recovery then
// stands for every crash state that agrees on what was read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/crash_state.h"
#include "crash/lazy_states.h"
#include "disk/first_reads.h"
#include "machine/recovery.h"
#include "machine/setup.h"

namespace sisyfs {

class Recoverer {
 public:
  // Borrows all but the blank image, which gives the size of the disks. `bounds` are those of the target.
  Recoverer(const DiskSetup& setup, const Bounds& bounds, const CheckRules& rules, Target& target,
            const Image& blank);
  Recoverer(const Recoverer&) = delete;
  Recoverer& operator=(const Recoverer&) = delete;
  virtual ~Recoverer() = default;

  // How this crash state comes back. Lives until the next call. The target is used up.
  virtual const Recovery& recover(CrashState& state);
  // How the crash states of a run come back; reads decide which they are.
  virtual const Recovery& recover(LazyStates& run);

  // Recovers once more and takes notes.
  RecoveryNotes notes(CrashState& state);
  RecoveryNotes notes(LazyStates& run);

  // The same for a disk that was damaged before the search began.
  Recovery repair(const Image& image);
  RecoveryNotes notes_of_repair(const Image& image);

  const CheckRules& rules() const { return rules_; }
  // Recoveries that were carried out, and images of crash states that were new.
  uint64_t runs() const { return runs_; }
  uint64_t images() const { return images_; }

 protected:
  // The offline check with the marks that it reached.
  struct Checked {
    CheckFacts facts;
    uint32_t faults = 0;
    uint32_t marks = 0;
  };
  // The trial of use.
  struct Trial {
    uint32_t faults = 0;
    bool unusable = false, out_of_range = false, flash_misused = false;
  };

  // Parts of a recovery that a decorator may know. Called only where the image says all: not for lazy crash
  // states and not where notes are taken.
  virtual Checked check(const Image& image);
  virtual Walk walk();
  virtual Trial use(const Recovery& recovery);
  virtual const Snapshot& save();

  // The image is that of a crash state, or of a run what is not in doubt.
  void carry_out(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes);
  Checked run_check(RecoveryNotes* notes);
  Trial run_trial(const Tree& tree, TrialNotes* notes);
  Snapshot save_now() const { return saves_ == nullptr ? Snapshot() : saves_->save(); }
  uint32_t take_faults() { return faults_ == nullptr ? 0 : faults_->take_faults(); }

  const DiskSetup& setup_;
  Target& target_;
  Media media_;
  FirstReads reads_;
  Recovery recovery_;  // the one at hand
  uint64_t runs_ = 0, images_ = 0;

 private:
  // Loads the disk once more as the power cut left it. What reads decided stays decided.
  void load_again(const Image& image, LazyStates* run);
  // Mounts, unmounts and checks, without any repair. Adds to `out`.
  void check_after_mount(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes);
  // Mounts after the cautious mode of the repair, if that repairs all, and compares. Adds to `out`.
  void compare_modes(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes);
  void compare_mount(Recovery& out, RecoveryNotes* notes);
  // Mounts the other way, without the repair or with it, and compares. Adds to `out`.
  void compare_ways(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes);
  // Recovers once more and then does the first write, for power cuts in it.
  void write_first(const Image& image, LazyStates* run, Recovery& out);
  uint16_t blocks_written();

  const Bounds& bounds_;
  const CheckRules& rules_;
  SavesMemory* const saves_;
  ChecksOffline* const check_;
  HasFaults* const faults_;
  ReachesMarks* const marks_;
  RepairReport report_, report_again_;
  Snapshot memory_;
  std::vector<const Event*> events_;
  bool damaged_ = false;  // the disk at hand was damaged before the search
  bool alone_ = false;    // at hand: the mount recovers without the repair
};

}  // namespace sisyfs
