// TargetKind: what is known of a target before there is an instance of it.
//
// A check needs to know what a target claims, how large its disks are and which words it uses long before it
// runs the target, and an instance may be a booted kernel. So these facts are a value of their own, and
// make() gives an instance where one is needed: one for each worker of a search.
//
//   TargetKind kind;
//   kind.ops = OpSet(OpKind::kCreate, OpKind::kAppend, OpKind::kSync);
//   kind.claims.contract = Contract::kAtomic;
//   kind.disks = {.block_size = 512, .block_count = BlockCount(64)};
//   kind.make = [config] { return std::make_unique<MyTarget>(config); };
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "disk/geometry.h"
#include "expect/contract.h"
#include "target/problem.h"
#include "tree/file_data.h"
#include "workload/op.h"
#include "workload/workload.h"

namespace sisyfs {

class Target;

// What a target promises to keep, and what it may answer.
struct Claims {
  Contract contract = Contract::kAtomic;  // what a power cut may leave
  // Ops that are durable when they return. All of them: each with everything that was done before it. Some:
  // each with what it has changed itself (Expectation::promise_changes). kCommit and kWriteMapped never are.
  OpSet durable;
  bool fsync_names = false;     // fsync of a file makes its names durable too
  bool fsync_all = false;       // fsync, fdatasync and O_SYNC writes promise what sync promises
  bool rename_both = false;     // a power cut may leave the old and the new name of a rename
  bool mount_recovers = false;  // after a power cut mount() alone is enough
  bool limited_space = false;   // may answer ENOSPC to an op that needs room, and then changes nothing
  bool split_writes = false;    // a power cut may leave the first write units of one write
  bool stale_data = false;      // a power cut may leave any bytes where a file was written for the first time
  // After a call failed because the device did, a later fsync or sync covers what that one has not written.
  bool retries_sync = true;

  bool all_durable() const { return durable == OpSet::all(); }
};

// What a target cannot hold. The workload stays within these limits.
struct Limits {
  uint32_t max_files = UINT32_MAX;
  uint32_t max_depth = UINT32_MAX;              // names in a path
  uint32_t write_unit = 1;                      // offsets and lengths are multiples of this, in bytes
  bool any_byte = false;                        // ... or not: then write_unit is what the workload counts in
  uint32_t whole_unit = 0;                      // bytes that the device must not tear; 0: a block
  uint32_t max_name = UINT32_MAX;               // bytes in a name
  uint64_t max_file_size = FileData::kMaxSize;  // in bytes
  // The only names that the target knows, all different to it. Empty: any name.
  std::vector<std::string> fixed_names;
};

// The words in which a target speaks of itself in reports.
struct Vocabulary {
  std::span<const ProblemKind> problems;  // what the offline check may report
  std::span<const char* const> marks;     // what the bits of ReachesMarks::take_marks() mean, by bit
};

// Where instances may run.
enum class Isolation : uint8_t {
  kNone,     // any number of instances, on any threads of this process
  kProcess,  // foreign code: one instance in a process, which may die; a supervisor runs that process
};

struct TargetKind {
  OpSet ops;  // what Target::apply() supports; without kMkdir there is one flat directory
  Claims claims;
  Limits limits;
  Vocabulary words;
  // All disks together (disk/geometry.h). A block count of 0: no disk, and the power never goes.
  Geometry disks{.block_size = 512, .block_count = BlockCount(0)};
  bool has_fsck = false;    // instances implement ChecksOffline
  bool has_preen = false;   // and have a cautious mode of repair, FsckMode::kPreen
  bool fsck_notes = false;  // a repair may write to a disk that needs none, to note that it was there
  uint32_t faults = 0;      // the faults (target.h) that an instance may have, as bits
  Isolation isolation = Isolation::kNone;
  std::string version;  // of the system under check, where several exist: "Linux 6.1.176"
  std::string repairs;  // how a repair tool reaches the disk, as a sentence; empty: there is no such program
  std::string snapshots;  // how memory is saved, as a sentence; empty: by a plain copy
  // A new instance, each time the same. Called from several threads unless isolated.
  std::function<std::unique_ptr<Target>()> make;

  bool has_disk() const { return disks.block_count.value != 0; }
};

// The bounds as they apply to a kind of target. Sizes and offsets in `wanted` count its write units; what it
// does not support is left out, what it limits is limited, and fixed names or the names of a style replace
// the pool. With `odd`, a write of two bytes and the offset of the last byte of the first unit are added.
Bounds bounds_for(const TargetKind& kind, Bounds wanted);

}  // namespace sisyfs
