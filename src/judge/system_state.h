// What a search of a target explores: states (DiskSystemState) and the choices between them (DiskMove).
#pragma once

#include <optional>
#include <vector>

#include "disk/media.h"
#include "expect/expectation.h"
#include "explore/system.h"
#include "target/snapshot.h"

namespace sisyfs {

// A mounted target between two ops, its disks if it has any, and what is right. A value.
struct DiskSystemState {
  // Only to be assigned to.
  DiskSystemState() : disk(Image(Geometry{1, BlockCount(1)})), expectation(Contract::kAtomic, Tree()) {}

  bool damaged = false;    // a start with a damaged disk: not mounted, and fsck comes first
  bool unmounted = false;  // a start before the first mount, which comes first as the op remount
  bool over = false;       // the path ended with a broken promise; the rest says nothing
  Digest print;     // fingerprint of disk, memory, expectation, saved tree, failures and judges' values
  MediaState disk;  // the log holds what is in doubt and nothing else
  Snapshot memory;
  Expectation expectation;
  std::optional<Tree> saved_tree;  // what the op snapshot kept, until restore brings it back
  std::vector<Snapshot> values;    // of further judges, in their order
  Digest known;                    // the part of `print` that does not come from disk and memory
  // How it came about, for dedup by shape and tree; not in `print`.
  uint32_t system_ops = 0;  // those that max_system_ops counts, so far
  uint32_t failures = 0;    // injected failures so far; this one is in `print`
  uint32_t script_at = 0;   // with a script or ACE: the position in it; in `print`
  Digest shape;             // of the tree now
  uint64_t last_ops = 0;    // kinds, one byte for each, the last one lowest: OpKind plus one, and these bits

  // In script_at, of a script that demands answers: the power has gone, so that none is demanded any more.
  static constexpr uint32_t kAfterCut = 1u << 31;

  static constexpr uint8_t kOnDirectory = 0x40;  // fsync and rename: of a directory
  static constexpr uint8_t kCut = 0x80;          // the power went during this op, or right after it
};

// The fingerprint of all states in which a path ended.
inline constexpr Digest kOverPrint{0x6f766572, 1};

// The kinds of the last `ops` ops.
inline uint64_t last_kinds(const DiskSystemState& state, uint32_t ops) {
  return ops >= 8 ? state.last_ops : state.last_ops & ((uint64_t{1} << (8 * ops)) - 1);
}

// What dedup by shape takes for one state: equal shapes of trees, as many ops on the whole system, and the
// same kinds of the last `ops` (at most 8) ops. Coarse: it says nothing of disk, memory or what is in doubt.
inline Digest shape_print(const DiskSystemState& state, uint32_t ops) {
  if (state.over) return kOverPrint;
  const uint64_t last = last_kinds(state, ops);
  const Digest script = state.script_at == 0 ? Digest() : digest_at(4, Digest{0, state.script_at});
  return digest_at(state.damaged ? 3 : 1, state.shape) + digest_at(2, Digest{state.system_ops, last}) +
         script;
}

// What dedup by tree takes for one state: equal trees and expectations, and the same kinds of the last `ops`
// (at most 8) ops; and all else in a fingerprint that does not come from disk and memory.
inline Digest tree_print(const DiskSystemState& state, uint32_t ops) {
  if (state.over) return kOverPrint;
  return digest_at(state.damaged     ? 3
                   : state.unmounted ? 2
                                     : 1,
                   state.known) +
         digest_at(4, Digest{0, last_kinds(state, ops)});
}

// A choice, taken apart: an op that runs to its end, or a power cut during it.
//
//   bits  0 .. 15   which of the ops that the workload gives from the state, in its order
//   bits 16 .. 35   position: 0 is the end of the op, and the crash points of its log come next. Where the op
//                   can go in more than one way (machine/ways.h), the ends and crash points of the other ways
//                   follow in the same manner
//   bits 36 .. 63   of a crash point: the index of the outcome (machine/power_cuts.h), in enumeration order
//
// All three depend on nothing but the state and the setup. What has a greater number is left out, and the
// mark kLeftOut says so. Choices never leave the process, except in checkpoints: a finding names its steps.
struct DiskMove {
  static constexpr uint32_t kOps = 1u << 16, kPositions = 1u << 20, kStates = 1u << 28;

  uint32_t op = 0;
  uint32_t position = 0;
  uint32_t state = 0;

  Choice choice() const { return Choice{op | uint64_t{position} << 16 | uint64_t{state} << 36}; }
  static DiskMove of(Choice choice) {
    const auto n = static_cast<uint64_t>(choice);
    return {static_cast<uint32_t>(n & (kOps - 1)), static_cast<uint32_t>(n >> 16 & (kPositions - 1)),
            static_cast<uint32_t>(n >> 36)};
  }
  friend bool operator==(const DiskMove&, const DiskMove&) = default;
};

}  // namespace sisyfs
