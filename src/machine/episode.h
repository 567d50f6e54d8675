// Episode: what one op on a machine showed: answer, faults, promises, and where its events begin in the log.
//
// The tree that can be read back afterwards is a part of it too. Reading it costs a walk, so the machine does
// that when it is asked for (Machine::read_back()).
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "machine/stable_words.h"
#include "machine/step.h"
#include "target/target.h"

namespace sisyfs {

// What a successful call promises about durability.
enum class PromiseScope : uint8_t {
  kNone,
  kAll,      // everything that was done before
  kFile,     // the file or directory: fsync
  kData,     // the data of the file: fdatasync
  kWrite,    // the bytes that were written: O_SYNC
  kChanges,  // what the call has changed
};
PromiseScope promise_of(const TargetKind& kind, OpKind op);

struct Episode {
  Op op;
  OpResult answer;
  InjectedFailure failure;    // what was to fail
  bool failed = false;        // and did
  bool write_failed = false;  // it was a write, an erase or a flush of the device
  bool bad_units = false;     // raw flash: the op answered an error, and some unit of the flash is bad
  uint32_t faults = 0;        // as bits of Fault
  uint32_t marks = 0;         // reached, as bits of Outcome::marks
  uint16_t new_edges = 0;     // of instrumented code
  size_t events_before = 0;   // events of the media's log that are older than the op
  size_t events_judged =
      0;  // those of them whose crash points an earlier op has had: all or, of a first mount, none
  StableWords words;      // what the target said to be stable in the middle of the op
  bool promised = false;  // the op returned and made a promise: the last one of its log

  // The call has no answer.
  bool is_dead() const { return sisyfs::is_dead(faults); }
  // A call that changes something may be refused while some unit of the flash is bad.
  bool is_refused_by_bad_units() const {
    static constexpr OpSet kReads(OpKind::kRead, OpKind::kReaddir, OpKind::kStat, OpKind::kOpen,
                                  OpKind::kGetxattr, OpKind::kListxattr);
    return bad_units && !kReads.has(by_path(op.kind)) &&
           (answer.error == EIO || answer.error == ENOSPC || answer.error == EROFS);
  }
  // The answer is the error that the injected failure, or a bad unit, makes right.
  bool is_refusal() const {
    if (is_refused_by_bad_units()) return true;
    if (!failed) return false;
    if (failure.kind == InjectedFailure::Kind::kAllocation)
      return answer.error == ENOMEM || answer.error == ENOBUFS;
    return answer.error == EIO || answer.error == EROFS;
  }
  // The answer says that the device has not written something: what is not durable may be given up.
  bool reports_lost_write() const { return (write_failed && is_refusal()) || is_refused_by_bad_units(); }
  // The failure kept the system from being mounted again: there is nothing to read back.
  bool is_gone() const { return is_refusal() && op.kind == OpKind::kRemount; }
};

// What a walk after the op read back.
struct ReadBack {
  int error = 0;        // an errno: the tree cannot be read
  uint32_t faults = 0;  // of the walk, as bits of Fault
  Digest tree;          // Tree::seen_digest()
};

}  // namespace sisyfs
