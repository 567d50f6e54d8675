// Target: one instance of a system under check.
//
// A target is a file system, or an adapter to one. It knows nothing of search, power cuts or expectations.
// Its life:
//
//   format(media)  mount(media)  apply(op) ...  unmount()
//                                power_cut()               fsck(media)  mount(media)  walk() ...
//
// What a target stores goes to its disks; what it remembers between calls it can save and load, if it
// implements SavesMemory. It must be deterministic: equal memory, disks and op give equal writes, memory and
// answer. Errnos are answers of the target, not failures of the checker; nothing here throws.
//
// Facts that hold for every instance (claims, limits, geometry) are in TargetKind (target_kind.h). Abilities
// that not every target has are interfaces of their own; a target that implements one returns itself from the
// accessor:
//
//   class MyTarget : public Target, public SavesMemory {
//     SavesMemory* saves_memory() override { return this; }
//     ...
//
// An instance is used by one thread. Snapshots of one are loaded into others of the same kind and options.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "target/problem.h"
#include "target/snapshot.h"
#include "target/target_kind.h"
#include "tree/tree.h"
#include "workload/op.h"

namespace sisyfs {

class Media;

// The tree of a mounted target as it was read back, or where that failed.
struct Walk {
  int error = 0;  // an errno, or an OwnError (op.h): the tree cannot be read
  Path where;     // the path at which that happened
  Tree tree;
};

// "/a cannot be read: EIO", of a walk that ended with an error.
std::string error_text(const Walk& walk);

// What a target did instead of answering a call, as bits.
enum Fault : uint32_t {
  kDied = 1u << 0,           // a signal, a failed assertion, an exit
  kHung = 1u << 1,           // it did not return
  kLeaked = 1u << 2,         // memory is left after unmount; the call itself was answered
  kHeapMisused = 1u << 3,    // a block was freed twice, or written beyond its end
  kTooMuchMemory = 1u << 4,  // it wanted more than it may have
  kComplained = 1u << 5,     // it says itself that something is wrong; the call was answered
};
// Whether these faults leave nothing to judge: the call has no answer.
constexpr bool is_dead(uint32_t faults) { return (faults & ~uint32_t{kLeaked | kComplained}) != 0; }

enum class FsckMode : uint8_t {
  kCheck,   // report only; the disks are not written
  kRepair,  // repair what can be repaired
  // Repair what is surely harmless to repair, and report all else as not repaired. Only where
  // TargetKind::has_preen says that there is such a mode.
  kPreen,
};

// --- optional abilities ----------------------------------------------------------------------------

// Saving memory: the explorer can then go back to any earlier state.
class SavesMemory {
 public:
  // All that is remembered, mounted or not. The digest covers what can make a difference to any later call.
  virtual Snapshot save() const = 0;
  // Remembers what was saved, by this or another instance. The media, whose content the caller has brought
  // back too, replace those that were mounted then.
  virtual void load(const Snapshot& snapshot, Media& media) = 0;

 protected:
  ~SavesMemory() = default;
};

// An offline check that can repair.
class ChecksOffline {
 public:
  // Not while mounted. Depends on the disks alone, and remembers nothing. Adds to `report`, which the caller
  // has cleared.
  virtual void fsck(Media& media, FsckMode mode, RepairReport* report) = 0;
  // A problem of fsck() in words; empty if the table of the kind is enough. Callers use to_text() below.
  virtual std::string problem_text(const Problem& problem) const {
    (void)problem;
    return {};
  }

 protected:
  ~ChecksOffline() = default;
};

// Naming blocks, for reports.
class NamesBlocks {
 public:
  // What a block of a disk holds: "inode 2", "bitmap". Empty if not known. `media` hold what the disks held
  // right after the block was written. Changes nothing that the target remembers.
  virtual std::string name_block(uint64_t address, Media& media) const {
    (void)address, (void)media;
    return {};
  }
  // What these blocks, written from `address` on, say: "file0 absent". Empty if not known.
  virtual std::string describe_write(uint64_t address, std::span<const std::byte> bytes) const = 0;

 protected:
  ~NamesBlocks() = default;
};

// Failing allocations.
class FailsAllocations {
 public:
  // Lets the allocation with this number, counted from 1 from now on, fail; 0: none.
  virtual void fail_allocation(uint32_t number) = 0;
  // Whether it did, since it was set.
  virtual bool allocation_failed() const = 0;

 protected:
  ~FailsAllocations() = default;
};

// Foreign code, whose calls may end with a fault.
class HasFaults {
 public:
  // Faults since the last call. A call that ended with one has no answer: what it returned says nothing, and
  // after all but kLeaked and kComplained only load() and power_cut() may follow.
  virtual uint32_t take_faults() = 0;
  // The last fault in words; empty if there was none.
  virtual std::string fault_text() const = 0;
  // Where its code was then: "rename_entry (notesfs.c:123) in libnotesfs.so", the innermost function first.
  // Empty where that is not known.
  virtual std::vector<std::string> fault_frames() const { return {}; }

 protected:
  ~HasFaults() = default;
};

// Rare things that a run should reach.
class ReachesMarks {
 public:
  // What was reached since the last call, as bits of Vocabulary::marks. No part of a snapshot.
  virtual uint32_t take_marks() = 0;

 protected:
  ~ReachesMarks() = default;
};

// Instrumented code.
class CoversCode {
 public:
  // Edges of the code that were reached since the last call and never before. No part of a snapshot.
  virtual uint64_t take_new_edges() = 0;

 protected:
  ~CoversCode() = default;
};

// ---------------------------------------------------------------------------------------------------

class Target {
 public:
  virtual ~Target() = default;

  // Makes an empty system on the media. Not while mounted. 0 or an errno.
  virtual int format(Media& media) = 0;
  // Starts the system on media that outlive its use: until unmount() or power_cut(). Recovery that the system
  // does on its own (journal replay) happens here. 0 or an errno, and then it is not mounted.
  virtual int mount(Media& media) = 0;
  // Writes back what is left and forgets everything, also where it fails.
  virtual int unmount() = 0;
  // Forgets everything and touches no disk.
  virtual void power_cut() = 0;

  // One call. Only kinds of TargetKind::ops, never kRemount or kFsck, only while mounted. A call that it
  // refuses changes nothing. Bytes to write come from fill_data(); for a read, OpResult::read() is the
  // answer. kRestore comes only after a kSnapshot, once. kWriteMapped answers EINVAL without a store if a
  // byte lies behind the end of the file, and ENOSPC only if nothing was stored. kCommit does the work of
  // kSync, and nothing is written back on the system's own account but in it and in calls that make room.
  virtual OpResult apply(const Op& op) = 0;
  // Reads everything back through the system's own reading code. Only while mounted; changes nothing.
  // A link count that the system claims goes into the tree by set_links().
  virtual Walk walk() = 0;

  // Optional abilities; null: not there.
  virtual SavesMemory* saves_memory() { return nullptr; }
  virtual ChecksOffline* checks_offline() { return nullptr; }
  virtual NamesBlocks* names_blocks() { return nullptr; }
  virtual FailsAllocations* fails_allocations() { return nullptr; }
  virtual HasFaults* has_faults() { return nullptr; }
  virtual ReachesMarks* reaches_marks() { return nullptr; }
  virtual CoversCode* covers_code() { return nullptr; }
};

// A problem that the offline check of `target` reported, in words.
std::string to_text(const Problem& problem, const TargetKind& kind, Target& target);

}  // namespace sisyfs
