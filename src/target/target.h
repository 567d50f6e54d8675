// Target: the system under check, as every system presents itself that is no transition system of its own.
//
// Whoever implements it writes a file system, or an adapter to one; it knows nothing of search, power cuts or
// expectations. The life of a target:
//
//   format(disk)  mount(disk)  apply(op) ...  unmount()
//                              power_cut()               fsck(disk)  mount(disk)  walk() ...
//
// All that a target remembers between calls goes into save() and comes back with load(); all that it
// stores goes to the disk. One without a disk (Traits::has_disk) remembers all that it has. It must be
// deterministic: equal memory, disk and op give equal writes, memory and answer. Errnos are answers, not
// failures of ours: nothing here throws.
//
// A target is used by one thread. Snapshots of one are loaded into others of the same kind and options.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "expect/expectation.h"
#include "target/problem.h"
#include "target/snapshot.h"
#include "tree/tree.h"
#include "workload/op.h"
#include "workload/workload.h"

namespace sisyfs {

class Disk;

// What save() and load() cost, so that a search can choose between them and doing the ops again.
enum class SnapshotCost : uint8_t {
  kCopy,      // about as much as an op, or less
  kModerate,  // as much as many ops: pages are copied, a process forks
  kRemount,   // the target is unmounted and mounted again
  kNone,      // cannot: ops are done again
};

// What a target is and can. Fixed for the life of a target.
struct Traits {
  OpSet ops;                    // what apply() supports; without kMkdir there is one flat directory
  bool durable_ops = false;     // every op is durable when it returns
  bool has_fsck = false;        // fsck() does something
  bool mount_recovers = false;  // after a power cut mount() alone is enough
  bool limited_space = false;   // may answer ENOSPC to an op that needs room; it then changes nothing
  Contract contract = Contract::kAtomic;  // what it claims to keep over a power cut
  bool fsync_names = false;               // fsync keeps the file's name too, and not only what it holds
  bool fails_allocations = false;         // fail_allocation() works
  bool rename_both = false;               // a power cut may leave the old and the new name of a rename
  // fsync, fdatasync and a write with O_SYNC promise what sync does: all that was done before is durable.
  bool fsync_all = false;
  SnapshotCost snapshot_cost = SnapshotCost::kCopy;

  uint32_t block_size = 512;  // of the disk that it wants, in bytes
  uint64_t block_count = 0;   // 0: it wants none; the power never goes then, and any disk will do
  uint32_t erase_blocks = 0;  // blocks of an erase unit, if it wants raw flash; 0: it wants a disk
  bool has_disk() const { return block_count != 0; }

  uint32_t max_files = UINT32_MAX;
  uint32_t max_depth = UINT32_MAX;              // names in a path
  uint32_t write_unit = 1;                      // offsets and lengths are multiples of this, in bytes
  uint64_t max_file_size = FileData::kMaxSize;  // in bytes
  // The only names that it knows, all of which differ to it; empty if any name will do.
  std::vector<std::string> fixed_names;
  // What the block kinds mean that its writes carry, by kind; kind 0 is unknown. Empty if it gives none.
  std::span<const char* const> block_kinds;
  std::span<const ProblemKind> problems;  // what fsck() may report
  std::span<const char* const> marks;     // what the bits of take_marks() mean, by bit
};

// The tree of a mounted target as it was read back, or where that failed.
struct Walk {
  int error = 0;  // an errno: the tree cannot be read
  Path where;     // and on the way to this path
  Tree tree;
};

// What a target did instead of answering a call, as bits.
enum Fault : uint32_t {
  kDied = 1u << 0,           // a signal, a failed assertion, an exit
  kHung = 1u << 1,           // it did not return
  kLeaked = 1u << 2,         // memory is left after unmount; the call itself was answered
  kHeapMisused = 1u << 3,    // a block was freed twice, or written beyond its end
  kTooMuchMemory = 1u << 4,  // it wanted more than it may have
};

enum class FsckMode : uint8_t {
  kCheck,   // only look; the disk is not written
  kRepair,  // mend what can be mended
};

class Target {
 public:
  virtual ~Target() = default;

  virtual const Traits& traits() const = 0;

  // Makes an empty system on the disk. Not while mounted. 0 or an errno.
  virtual int format(Disk& disk) = 0;
  // Starts the system on a disk that outlives its use: until unmount() or power_cut(). Recovery that
  // the system does on its own (journal replay) happens here. 0 or an errno, and then it is not mounted.
  virtual int mount(Disk& disk) = 0;
  // Writes back what is left and forgets everything, also where it fails.
  virtual int unmount() = 0;
  // Forgets everything and touches no disk.
  virtual void power_cut() = 0;

  // One call. Only kinds of traits().ops, never kRemount or kFsck, only while mounted. A call that it refuses
  // changes nothing. Bytes to write come from fill_data(); for a read, OpResult::read() is the answer.
  // kRestore comes only after a kSnapshot, once.
  virtual OpResult apply(const Op& op) = 0;
  // Reads everything back through the system's own reading code. Only while mounted; changes nothing.
  // A link count that the system claims goes into the tree by set_links().
  virtual Walk walk() = 0;

  // The offline check. Not while mounted. Depends on the disk alone, and nothing of it is remembered. Adds to
  // `report`, which the caller has cleared.
  virtual void fsck(Disk& disk, FsckMode mode, RepairReport* report);

  // What a block of the disk holds, for reports: "inode 2", "bitmap". Empty if not known.
  virtual std::string name_block(uint64_t address) const;
  // What these blocks, written from `address` on, say: "file0 absent". Empty if not known.
  virtual std::string describe_write(uint64_t address, std::span<const std::byte> bytes) const;

  // A problem of fsck() in words.
  virtual std::string problem_text(const Problem& problem) const;

  // Faults since the last call, of targets that may have any. A call that ended with one has no answer: what
  // it returned says nothing, and after all but kLeaked only load() and power_cut() may follow.
  virtual uint32_t take_faults() { return 0; }
  // The last fault in words; empty if there was none.
  virtual std::string fault_text() const { return {}; }

  // Lets the allocation with this number, counted from 1 from now on, fail; 0: none. Only of targets that say
  // fails_allocations.
  virtual void fail_allocation(uint32_t number) { (void)number; }
  // Whether it did, since it was set.
  virtual bool allocation_failed() const { return false; }

  // Rare things that it did since the last call, as bits; traits().marks says them. No part of a snapshot.
  virtual uint32_t take_marks() { return 0; }

  // Edges of its code that it reached since the last call and never before, of targets that are instrumented.
  // No part of a snapshot.
  virtual uint64_t take_new_edges() { return 0; }

  // All that is remembered, mounted or not. The digest covers what can make a difference to any later call.
  virtual Snapshot save() const = 0;
  // Remembers what was saved, by this or another instance; the disk, whose content the caller has
  // brought back too, takes the place of the one that was mounted then.
  virtual void load(const Snapshot& snapshot, Disk& disk) = 0;
};

// The bounds as they apply to a target. Sizes and offsets in `wanted` count its write units; what it does not
// support is left out, what it limits is limited, and fixed names replace the pool.
Bounds bounds_for(const Traits& traits, Bounds wanted);

}  // namespace sisyfs
