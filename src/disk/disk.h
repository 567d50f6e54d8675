// Disk: what a target writes to.
//
// The interface is small so that it can be stacked: a decorator is a Disk over a Disk (FailingDisk,
// TraceDisk), and at the bottom lies one that keeps the content (Media).
//
//   TraceDisk traced(failing, observer);     // sees what the target asked for and what it was told
//   target.mount(traced);
//
// Nothing that a target asks for can harm the checker: an access outside of the disk, or one that is
// not a whole number of blocks, has no effect, returns kOutOfRange and is recorded for the judge.
//
// Raw flash (Geometry::erase_blocks) is a disk too: a write programs pages, which must be erased, and a
// discard erases whole erase units, which then read as 0xFF. Anything else has no effect, returns kMisuse and
// is recorded. What a page holds whose program or erase was cut off by a power cut, crash/device_model.h
// says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "disk/geometry.h"
#include "disk/log.h"

namespace sisyfs {

enum class IoStatus {
  kOk,
  kIoError,     // the device failed; whether this is a fault plan or a real device, the target must cope
  kOutOfRange,  // the target's mistake
  kMisuse,      // the target's mistake: programs a page that is not erased, or erases a part of a unit
};

// What blocks read as that were discarded, on anything but raw flash.
enum class DiscardReads : uint8_t {
  kZeros,
  kOld,      // what they held before: the device did not care
  kGarbage,  // bytes that nobody has written there
};

// How much a target says is stable while one of its calls runs. The values are the numbers of its marks; 0 is
// the promise of a call that has returned, which the checker makes.
enum class Stable : uint8_t {
  kNothing = 0,
  kEarlierCalls = 1,  // all that returned before this call
  kThisCallToo = 2,   // and this call, if it will succeed, although it has not returned
};

class Disk {
 public:
  virtual ~Disk() = default;

  virtual const Geometry& geometry() const = 0;

  // Reads whole blocks from `first` on. Sees every write that returned before, durable or not. Unless
  // it returns kOk, `out` is left as it was. A page of raw flash that is unreadable gives kIoError.
  [[nodiscard]] virtual IoStatus read(BlockAddress first, std::span<std::byte> out) = 0;

  // Writes whole blocks from `first` on. They are durable after a later flush, or at once with fua.
  [[nodiscard]] virtual IoStatus write(BlockAddress first, std::span<const std::byte> bytes,
                                       WriteFlags flags = {}) = 0;

  // On kOk everything written before is durable.
  [[nodiscard]] virtual IoStatus flush() = 0;

  // Gives up the content of blocks: a write of whatever the device lets them read as then. Of raw flash:
  // erases them.
  [[nodiscard]] virtual IoStatus discard(BlockAddress first, BlockCount count) = 0;

  // Records where an op begins or ends or a promise was made. Called by the checker, not by a target.
  virtual void note(const Boundary& boundary) = 0;

  // For a target that commits on its own account: from here on no power cut may lose what it says. Optional,
  // and only a claim: nothing becomes durable by it. What is said while it mounts or repairs counts for
  // nothing, since all that was there is promised then anyway.
  void say_stable(Stable what) { note({BoundaryKind::kPromise, static_cast<uint32_t>(what)}); }
};

}  // namespace sisyfs
