// What the adapter is told (DiskSetup), and what it explores (DiskSystemState, DiskMove).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crash/crash_states.h"
#include "crash/device_model.h"
#include "disk/media.h"
#include "expect/expectation.h"
#include "explore/search.h"
#include "target/target.h"

namespace sisyfs {

struct DiskSetup {
  TargetKind kind;               // what is checked; each worker makes one instance of it
  Bounds bounds;                 // of the workload, in the target's write units; see bounds_for()
  DeviceModel device;            // what a power cut may leave
  EnumerationBound enumeration;  // how many of that are looked at
  bool crashes = true;           // false: the power never goes
  bool lazy = false;             // crash states are told apart only where recovery reads; no bound is needed
  uint32_t nesting = 0;          // the power goes in recovery, in recovery from that, so many times at most
  bool all_nested = false;       // also where recovery has changed nothing that it had read
  bool both_ways = false;        // recovery by the mount alone must bring the same back, where that is enough
  uint32_t failures = 0;         // disk accesses and allocations that fail on a path, at most
  bool fail_disk = true;         // of these, the accesses
  bool fail_memory = true;       // and the allocations, where the target has them fail
  // Why what was found cannot be relied on, if so; asked after a search.
  std::function<std::optional<std::string>()> trouble;
  // The edges of the target's code, if it is instrumented; asked before and after a search.
  std::function<std::optional<EdgeCount>()> edges;
  bool report_repaired = false;  // harmless problems that were repaired are findings; otherwise marks
  bool usability = true;         // after each recovery: can it be worked with (R5)
  // Syncs, remounts, snapshots, restores and power cuts on a path, at most: what such an op does next it has
  // mostly done before.
  uint32_t max_system_ops = UINT32_MAX;
  // Where the search begins: with a new system to which these ops were done. If the disk is damaged then, it
  // begins unmounted, and with the op fsck, which has to bring back what the ops had made; what the damage
  // makes the repair report is no finding, but all that is left after it.
  std::vector<Op> start;
  std::function<void(Disk&)> damage;
  unsigned memo_bits = 12;  // each worker remembers up to 2^this recoveries, and as many walks
};

// A mounted target between two ops, its disk if it has one, and what is right. A value.
struct DiskSystemState {
  // Only to be assigned to.
  DiskSystemState() : disk(Image(Geometry{1, BlockCount(1)})), expectation(Contract::kAtomic, Tree()) {}

  bool damaged = false;  // the start, if that is damaged: not mounted, and fsck comes first
  bool over = false;     // the path ended with a broken promise; the rest is whatever
  Digest print;          // of all that follows, as crash-states say "when two states are one"
  MediaState disk;       // the log holds what is in doubt and nothing else
  Snapshot memory;
  Expectation expectation;
  std::optional<Tree> kept;  // what the op snapshot found, until restore brings it back
  // How it came about, for dedup by shape; not in `print`.
  uint32_t system_ops = 0;  // those that max_system_ops counts, so far
  uint32_t failures = 0;    // disk accesses that failed, so far; this one is in `print`
  Digest shape;             // of the tree now
  uint64_t last_ops = 0;    // kinds, one byte for each, the last one lowest: OpKind plus one, and these bits

  static constexpr uint8_t kOnDirectory = 0x40;  // fsync and rename: of a directory
  static constexpr uint8_t kCut = 0x80;          // the power went during this op, or right after it
};

// What dedup by shape takes for one state: equal shapes of trees, as many ops on the whole system, and
// the same kinds of the last `ops` (at most 8) ops. Coarse: it says nothing of the disk, of the memory or of
// what is in doubt.
Digest shape_print(const DiskSystemState& state, uint32_t ops);

// A choice, taken apart: an op that runs to its end, or a power cut during it.
//
//   bits  0 ..  8   which of the ops that the workload gives from the state, in its order
//   bits  9 .. 18   the end of the op is 0, and the looks (crash/crash_points.h) in its log come next. Where
//   it can
//                   be performed in more than one way (a disk access fails, or a block is read that a power
//                   cut left open) the ends and looks of those follow, in the same manner
//   bits 19 .. 31   of a look: which outcome (judge/power_cuts.h), in their order
//
// All three depend on nothing but the state and the setup. What has a greater number is left out, and the
// mark kLeftOut says so.
struct DiskMove {
  static constexpr uint32_t kOps = 1u << 9, kPositions = 1u << 10, kStates = 1u << 13;

  uint32_t op = 0;
  uint32_t position = 0;
  uint32_t state = 0;

  Choice choice() const { return Choice{op | position << 9 | state << 19}; }
  static DiskMove of(Choice choice) {
    const auto n = static_cast<uint32_t>(choice);
    return {n & (kOps - 1), n >> 9 & (kPositions - 1), n >> 19};
  }
  friend bool operator==(const DiskMove&, const DiskMove&) = default;
};

// Marks, as bits of Outcome::marks.
enum DiskMark : uint32_t {
  kPowerCutInOp = 1u << 0,   // writes of an op in flight were lost
  kFsckRepaired = 1u << 1,   // the check after a power cut mended something
  kNoSpace = 1u << 2,        // an op was refused for lack of space
  kRefused = 1u << 3,        // an impossible op was refused
  kCutInRecovery = 1u << 4,  // the power went in recovery
  kAccessFailed = 1u << 5,   // a disk access failed
  kUndecidedRead = 1u << 6,  // an op read what an earlier power cut had left open
  kOfTarget = 1u << 8,       // and from here on those of the target (Vocabulary::marks)
  kLeftOut = 1u << 31,       // ops or crash states were left out by a bound: no pass
};

}  // namespace sisyfs
