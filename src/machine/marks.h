// Marks: rare things that a run should reach, as bits of Outcome::marks.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace sisyfs {

enum MachineMark : uint32_t {
  kPowerCutInOp = 1u << 0,   // writes of an op in flight were lost
  kFsckRepaired = 1u << 1,   // the repair after a power cut repaired something
  kNoSpace = 1u << 2,        // an op was refused for lack of space
  kRefused = 1u << 3,        // an impossible op was refused
  kCutInRecovery = 1u << 4,  // the power went in recovery
  kAccessFailed = 1u << 5,   // a disk access or an allocation failed
  kUndecidedRead = 1u << 6,  // an op read a block that an earlier power cut had left undecided
  kOfTarget = 1u << 8,       // the first of the target's own marks (Vocabulary::marks)
  kLeftOut = 1u << 31,       // ops or crash states were left out by a bound: no pass
};

// The marks that the target reached since they were asked for last.
inline uint32_t marks_of(ReachesMarks* target) {
  return target == nullptr ? 0 : target->take_marks() * uint32_t{kOfTarget} & ~uint32_t{kLeftOut};
}

}  // namespace sisyfs
