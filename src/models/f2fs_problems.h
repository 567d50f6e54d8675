// What the offline check of the F2FS model can find, as a table; ProblemNumber is a position in it.
#pragma once

#include "target/problem.h"

namespace sisyfs::f2fs {

enum ProblemNumber : uint16_t {
  kDeadBlock,
  kLostBlock,
  kLogOverBlock,
  kDoublePointer,
  kDeadNode,
  kSharedNode,
  kLostNode,
  kBadEntry,
  kBadDentryBlock,
  kBadInode,
  kBadCount,
  kStaleSummary,
};

inline constexpr ProblemKind kProblems[] = {
    {"M1", "dead-block", Severity::kRepairable, "main block {0} is valid in the SIT and belongs to no file"},
    {"M2", "lost-block", Severity::kCritical,
     "block {1} of file {0} is main block {2}, which is not valid in the SIT"},
    {"M2", "lost-block", Severity::kCritical,
     "log {0} is about to write over main block {1}, which is valid"},
    {"M3", "double-pointer", Severity::kCritical,
     "block {1} of file {0} is main block {2}, where another pointer leads too"},
    {"M5", "dead-node", Severity::kRepairable, "node {0} has a place in the NAT and belongs to no file"},
    {"M6", "shared-node", Severity::kCritical, "node {0} belongs to file {1} and to another file too"},
    {"M7", "lost-node", Severity::kCritical,
     "node {0} of file {1}: the NAT leads to main block {2}, which is not valid or is no such node"},
    {"M8", "bad-entry", Severity::kCritical, "entry {2} in block {1} of directory {0} makes no sense"},
    {"M8", "bad-entry", Severity::kCritical, "block {1} of directory {0} is no dentry block"},
    {"M8", "bad-entry", Severity::kCritical, "inode {0} does not fit its entry or the entries below it"},
    {"M1", "dead-block", Severity::kRepairable,
     "segment {0} counts {1} valid blocks in the SIT, its bitmap has {2}"},
    // Not in the catalogue: nothing is wrong for a user until garbage is collected, and it is rebuilt.
    {"S1", "stale-summary", Severity::kRepairable, "the SSA names another owner of main block {0}"},
};

}  // namespace sisyfs::f2fs
