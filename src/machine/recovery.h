// Recovery: how a crash state came back, as facts. What they mean is said by the judges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "disk/image.h"
#include "disk/log.h"
#include "target/target.h"

namespace sisyfs {

// What the target's own offline check said. A bit stands for a kind of problem (Vocabulary::problems).
struct CheckFacts {
  uint64_t found = 0;     // the repair reported it and did not repair it
  uint64_t repaired = 0;  // the repair reported and repaired it
  uint64_t left = 0;      // the check after the repair reported it
  bool failed = false;    // the repair or the check could not be carried out
};

// Which problems count against a recovered system. Masks of kinds of problems.
struct CheckRules {
  uint64_t named = 0;            // the catalogue has a finding for it
  uint64_t critical = 0;         // something is lost by it
  bool report_repaired = false;  // harmless problems count too

  // The named problems that count. Where the disk was damaged before, what was repaired does not.
  uint64_t counted(const CheckFacts& facts, bool damaged) const;
  // The check after the repair was not clean, for another reason than a named problem.
  bool is_unclean(const CheckFacts& facts) const {
    return facts.failed || (facts.left & ~(named & critical)) != 0;
  }
  bool is_sound(const CheckFacts& facts, bool damaged) const {
    return counted(facts, damaged) == 0 && !is_unclean(facts);
  }
};

// Depends on what was read of the crash state alone.
struct Recovery {
  CheckFacts check;
  uint32_t faults = 0;        // of the target, as bits of Fault
  uint32_t marks = 0;         // reached, as bits of Outcome::marks
  uint16_t work = 0;          // blocks that the repair and the mount wrote
  bool alive = false;         // it was mounted and walked
  bool mount_failed = false;  // without a fault
  bool walk_failed = false;   // without a fault
  bool out_of_range = false;  // an access beyond the disk
  bool flash_misused = false;
  bool unusable = false;      // the trial of use failed
  bool two_outcomes = false;  // two ways of recovery that are compared brought back different trees
  bool sound = false;         // alive, and nothing above speaks against it
  // The rest is valid where it is alive.
  Snapshot memory;
  Tree tree;
  Log log;             // events of the repair and the mount
  uint32_t reads = 0;  // blocks that were read for it, without the trial of use
  // With RecoverySetup::with_first_write: the events of the repair, the mount and then the first write, and
  // the tree after it. The log is empty where there is none.
  Log log_with_write;
  Tree tree_with_write;
  // All blocks that were read. Only where power cuts in recovery are tried.
  std::vector<BlockAddress> blocks;
};

// What a trial of use did, for reports.
struct TrialNotes {
  struct Call {
    std::string call;           // "append /b 512", "unmount"
    std::string answer;         // "0", "EIO", "finds ..."; empty: the call has no answer
    size_t begin = 0, end = 0;  // its events in the log
    Image disk;                 // before it
  };
  std::string why;          // it failed; empty if it did not
  std::vector<Call> calls;  // all, up to the one that failed
  Log log;                  // of the recovery and then of these calls
};

// Texts and details of one recovery, for reports.
struct RecoveryNotes {
  RepairReport repair;  // what the repair reported
  RepairReport check;   // what the check after it reported
  int mount_error = 0;
  Walk walk;
  TrialNotes trial;
  std::string fault;                      // the fault of the target, in words
  std::vector<std::string> fault_frames;  // and where its code was
  Walk other_way;           // where the other way of recovery that is compared brought something else back
  bool other_mode = false;  // it was the cautious mode of the repair; else the mount without it, or with it
  // The part of the recovery that made accesses that are not allowed.
  const char* strayed = "recovery";
  Log log;  // with these accesses
};

}  // namespace sisyfs
