// Recoverer: brings a target back after a power cut, and sees how it came back.
//
// What comes back depends only on what recovery, the walk and the trial of its use read of the disk. So each
// answer is kept under that (judge/read_memo.h), and of a disk whose blocks are in doubt only those are
// decided that are read (crash/lazy_states.h): one run serves every crash state that agrees on them.
//
//   Recoverer recoverer(setup, bounds, target, disk);
//   const Recovered& back = recoverer.recover(crash_state);   // of one crash state
//   while (lazy.next()) recoverer.recover(lazy);               // of all of an epoch
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/crash_states.h"
#include "crash/lazy_states.h"
#include "crash/looks.h"
#include "judge/catalogue.h"
#include "judge/disk_setup.h"
#include "judge/memo.h"
#include "judge/read_memo.h"

namespace sisyfs {

// How a crash state came back. Depends on what was read of its image alone.
struct Recovery {
  uint32_t findings = 0;  // all but those that need an expectation
  uint32_t marks = 0;
  uint16_t work = 0;   // blocks that fsck and mount wrote
  bool alive = false;  // it was mounted and walked; the rest is only then
  Snapshot memory;
  Tree tree;
  Log log;                           // what fsck and mount did to the disk
  uint32_t reads = 0;                // blocks that were read for it; the trial of its use read more
  std::vector<BlockAddress> blocks;  // where power cuts in recovery are looked at: all that were read
};

// The same with the disk that it left, which depends on the whole image.
struct Recovered : Recovery {
  Image start{Geometry{1, BlockCount(1)}};  // what the power cut left
  Log open;                                 // and what of it is open still
  DiskState disk{start};
  Digest disk_print;
};

// What a report wants to know of a recovery beyond that.
struct RecoveryNotes {
  RepairReport repair;  // what fsck found, and mended where it could
  RepairReport check;   // what it finds when it looks again
  int mount_error = 0;
  Walk walk;
  std::string unusable;  // why, if it is
};

class Recoverer {
 public:
  // All are borrowed. The disk holds anything afterwards, and so does the target.
  Recoverer(const DiskSetup& setup, const Bounds& bounds, Target& target, MemDisk& disk);

  // What comes back; lives until the next call.
  const Recovered& recover(CrashState& state);
  // The same where the crash state is decided on the way.
  const Recovered& recover(LazyStates& run);
  // Once more, with all that there is to tell.
  RecoveryNotes notes(CrashState& state);
  RecoveryNotes notes(LazyStates& run);

  // Moves what became durable out of the log, as no look needs it.
  DiskState settle(const DiskState& state);
  // What is durable, open and in doubt on a disk.
  Digest print_of(const DiskState& disk);
  // The rare things that the target did since they were asked for last.
  uint32_t marks_of_target();

  // Recoveries that were carried out, and crash states, built as images, that were new.
  uint64_t runs() const { return runs_; }
  uint64_t images() const { return images_; }

 private:
  void carry_out(Recovery& out, RecoveryNotes* notes);
  void watch(const Image& image, LazyStates* run);
  void finish(Recovered& out, Image start, Log open);
  uint32_t judge_fsck(RecoveryNotes* notes, uint32_t* marks);
  uint32_t finding_of(const Problem& problem) const { return problem_findings_[problem.kind]; }
  uint16_t blocks_written();

  const DiskSetup& setup_;
  const Bounds& bounds_;
  Target& target_;
  const Traits& traits_;
  MemDisk& disk_;
  std::vector<uint32_t> problem_findings_;  // by kind of problem: its bit, or 0
  RepairReport report_, report_again_;
  uint64_t runs_ = 0, images_ = 0;

  Epoch epoch_, rest_;
  Looks settling_;
  std::vector<const Event*> events_;
  Memo<Recovered> by_digest_;
  ReadMemo<Recovery> by_reads_;
  FirstReads reads_;
  Recovered lazily_;
};

}  // namespace sisyfs
