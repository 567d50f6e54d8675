// DiskSetup: what the check of a target is told: the target, the workload, what may go wrong.
//
//   DiskSetup setup;
//   setup.kind = my_kind();
//   setup.bounds.max_files = 2;
//   setup.cuts.lazy = true;
//   Result<std::unique_ptr<Check>> check = make_disk_check(setup);   // finding/disk_check.h
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crash/crash_states.h"
#include "crash/device_model.h"
#include "disk/media.h"
#include "explore/search.h"
#include "machine/recording.h"
#include "machine/start_image.h"
#include "target/target_kind.h"
#include "workload/ace.h"
#include "workload/script.h"

namespace sisyfs {

// Power cuts.
struct CutSetup {
  bool enabled = true;           // false: the power never goes
  DeviceModel device;            // what a power cut may leave
  EnumerationBound enumeration;  // how many crash states are built, where they are built one by one
  bool lazy = false;             // crash states are decided as recovery reads; no bound is needed
  // The power goes only right after a call that promised something has returned, and nothing that was written
  // is lost. All other crash states are left out.
  bool persisted = false;
  uint32_t nesting = 0;     // power cuts in recovery, in the recovery from that, and so on, at most
  bool all_nested = false;  // also where recovery has changed nothing that it had read
};

// Calls into the system below that fail.
struct FailureSetup {
  uint32_t most = 0;                // on a path
  bool disk = true;                 // disk accesses fail
  bool memory = true;               // allocations fail, where the target supports that
  std::vector<uint32_t> bad_units;  // raw flash: erase units that are bad from the start
};

// What is demanded of a recovery.
struct RecoverySetup {
  bool usability = true;  // after each recovery: can the system be used (R5)
  // The mount recovers without the repair, and the check afterwards must find nothing to do (R4). Otherwise
  // the repair comes before each mount.
  bool mount_alone = false;
  // With nesting: the first write after a recovery counts as a part of it, and the power goes in it too.
  bool with_first_write = false;
  bool both_ways = false;  // the mount alone must bring back what the repair and the mount do (R7)
  // The cautious mode of the repair must bring back what the repair does, or say that it cannot repair (R7).
  bool both_modes = false;
  bool report_repaired = false;  // harmless problems that were repaired are findings; otherwise marks
};

// Where a search begins: with a new system to which these ops were done. If the disk is damaged then, the
// search begins unmounted, with the op fsck, which has to bring back what the ops had made. What the damage
// makes the repair report is no finding; what is left after the repair is.
struct StartSetup {
  std::vector<Op> ops;
  StartImage image = StartImage::kNew;  // after these ops
  // Without ops and damage: the search begins before the first mount. Nothing that format left unflushed is
  // durable, and the first step is the mount (remount).
  bool unmounted = false;
  std::function<void(Disk&)> damage;
};

// How much of a state is tried at most. Beyond that something is left out, and the run says so.
struct MoveLimits {
  uint32_t ops = 1u << 16;        // of a state
  uint32_t positions = 1u << 20;  // ends of an op and crash points in it
  uint32_t outcomes = 1u << 28;   // of a crash point
};

struct DiskSetup {
  TargetKind kind;
  Bounds bounds;  // of the workload, in the target's write units; see bounds_for()
  CutSetup cuts;
  FailureSetup failures;
  RecoverySetup recovery;
  StartSetup start;
  // Syncs, remounts, snapshots, restores and power cuts on a path, at most.
  uint32_t max_system_ops = UINT32_MAX;
  MoveLimits limits;
  std::shared_ptr<const Script> script;        // its ops are tried instead of those of `bounds`; null: none
  std::shared_ptr<const AceWorkload> ace;      // likewise the workloads of ACE; null: none
  std::shared_ptr<const Recording> recording;  // what the ops play of the script play; null: they are calls
  unsigned memo_bits = 12;  // each worker remembers up to 2^this recoveries, and as many walks
  // Names of the options of the target: a report suggests only these.
  std::vector<std::string> options;
  // Why what was found cannot be relied on, if so; asked after a search.
  std::function<std::optional<std::string>()> trouble;
  // The edges of the target's code, if it is instrumented; asked before and after a search.
  std::function<std::optional<EdgeCount>()> edges;
};

}  // namespace sisyfs
