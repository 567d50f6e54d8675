// Disk: what a target writes to.
//
//   disk.write(BlockAddress(3), bytes);
//   disk.flush();
//
// Media (media.h) keeps the content of one or several disks, and each of them is a Disk. The interface is
// small, so that an adapter can put a Disk of its own over one.
//
// Nothing that a target asks for can harm the checker: an access outside of the disk, or one that is
// not a whole number of blocks, has no effect, returns kOutOfRange and is recorded for the judge.
//
// Raw flash (Geometry::erase_blocks) is a disk too: a write programs pages, which must be erased, and a
// discard erases whole erase units, which then read as 0xFF. Any other access has no effect, returns kMisuse
// and is recorded. crash/device_model.h says what a page holds whose program or erase was interrupted by a
// power cut.
//
// NOR (FlashRules::program_bytes) may be programmed again: a program clears bits, and leaves those alone
// where the new byte has ones. A byte of 0xFF asks for nothing. Any other byte that has a 1 where the page
// has a 0 cannot be had; the page then holds both ANDed, as in the chip, the call succeeds, and the mistake
// is recorded. Units may be bad (wear.h): what they refuse returns kIoError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "disk/geometry.h"
#include "disk/log.h"

namespace sisyfs {

enum class IoStatus {
  kOk,
  kIoError,        // the device failed, by a fault plan or really; the target must cope
  kUncorrectable,  // raw flash: a program or erase of this page was cut off, so its content cannot be read
  kOutOfRange,     // the target's mistake
  kMisuse,         // the target's mistake: programs a page that is not erased, or erases a part of a unit
};

// What discarded blocks read as, on anything but raw flash.
enum class DiscardReads : uint8_t {
  kZeros,
  kOld,      // their content before the discard
  kGarbage,  // bytes that were never written there
};

// What a target declares stable while one of its calls runs. The values are the numbers of kPromise
// boundaries; 0 is the promise of a call that has returned, which the checker makes.
enum class Stable : uint8_t {
  kNothing = 0,
  kEarlierCalls = 1,  // all calls that returned before this one
  kThisCallToo = 2,   // and this call, if it will succeed, although it has not returned
};

class Disk {
 public:
  virtual ~Disk() = default;

  // The shape of this disk alone.
  virtual const Geometry& geometry() const = 0;

  // Reads whole blocks from `first` on. Sees every write that returned before, durable or not. Unless
  // it returns kOk, `out` is left as it was. A page of raw flash that is unreadable gives kUncorrectable.
  [[nodiscard]] virtual IoStatus read(BlockAddress first, std::span<std::byte> out) = 0;

  // Writes whole blocks from `first` on. They are durable after a later flush, or at once with fua.
  [[nodiscard]] virtual IoStatus write(BlockAddress first, std::span<const std::byte> bytes,
                                       WriteFlags flags = {}) = 0;

  // On kOk everything written to this disk before is durable.
  [[nodiscard]] virtual IoStatus flush() = 0;

  // Gives up the content of blocks. The device decides what they read as afterwards. On raw flash: erases
  // them.
  [[nodiscard]] virtual IoStatus discard(BlockAddress first, BlockCount count) = 0;

  // Records where an op begins or ends or a promise was made. Called by the checker, not by a target.
  virtual void note(const Boundary& boundary) = 0;

  // For a target that commits on its own: from here on no power cut may lose what it declares stable.
  // Optional, and only a claim: nothing becomes durable by it. A claim made while the target mounts or
  // repairs has no effect, because all that was on the disk is promised then anyway.
  void say_stable(Stable what) { note({BoundaryKind::kPromise, static_cast<uint32_t>(what)}); }
};

}  // namespace sisyfs
