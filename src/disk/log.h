// Log: what was done to the disks of one system since an image, in issue order, as a value.
//
// A log holds writes, discards and flushes, accesses that the disk refused (strays), and boundaries: where an
// op begins or ends and where the target promised durability. Copying a log is O(1) and appending to it is
// O(1). No byte is copied: a write holds references to the same blocks as the image to which it was applied.
//
//   log.add_boundary({BoundaryKind::kOpBegin});
//   log.add_write(BlockAddress(3), blocks, {.fua = true});
//   for (const Event* event : log.events(scratch)) use(*event, log.serial_of(*event));
//
// Serial numbers. Each event has a serial number: its position among all events of a run, counted from 0 at
// the beginning of the run. It never changes. A log that was trimmed to the writes still in doubt keeps their
// serial numbers and the next one to give out. Runs of one write that are logged as tied events share its
// number. An event stores its number relative to the base of its log, so the log of a recovery, which many
// states share, is put on top of each of them by setting the base: rebase() is O(1) and copies no event.
// Serial numbers are no part of any digest.
//
// Inside, a log is a list that grows at its end and whose nodes point backwards, so that logs with a
// common past share it. Threads: as for images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/digest.h"
#include "base/ref.h"
#include "disk/block.h"
#include "disk/geometry.h"

namespace sisyfs {

enum class EventKind : uint8_t {
  kWrite,
  kFlush,    // on completion everything written to this disk before is durable
  kDiscard,  // a write of the content that the device returns for discarded blocks; on raw flash an erase
  kBoundary,
  kStray,  // an access outside of the disk, or a misuse of raw flash; it had no effect (but see kSetBits)
};

enum class BoundaryKind : uint8_t {
  kOpBegin,
  kOpEnd,    // the op has returned
  kPromise,  // the target has promised durability: by a call that returned, or as Stable (disk.h) says
  // A power cut, in a log of undecided writes only: each of the writes before it survived or was lost, and
  // nothing has read which. Has no serial number of its own.
  kPowerCut,
};

struct Boundary {
  BoundaryKind kind = BoundaryKind::kOpBegin;
  uint32_t number = 0;  // kPromise: a value of Stable (disk.h)

  friend bool operator==(const Boundary&, const Boundary&) = default;
};

// Properties of a write besides its bytes.
struct WriteFlags {
  bool fua = false;  // this write is durable when it returns
};

enum class Access : uint8_t {
  kRead,
  kWrite,
  kDiscard,
  kProgramAgain,  // a misuse: programs a page that is not erased
  kErasePart,     // a misuse: erases less than a whole erase unit
  kSetBits,       // a misuse of NOR: programs bits to 1 that are 0. The write comes before it in the log
};
constexpr bool is_misuse(Access access) {
  return access == Access::kProgramAgain || access == Access::kErasePart || access == Access::kSetBits;
}

// One entry of a log. Immutable; lives as long as a log that holds it.
struct Event {
  RefCount refs;
  uint32_t number = 0;  // serial number, relative to the base of the log
  uint32_t disk = 0;    // the disk of the access; 0 for a boundary
  EventKind kind = EventKind::kFlush;
  Access access = Access::kWrite;  // kStray: the access that was refused
  WriteFlags flags;                // kWrite
  bool tied_to_previous = false;   // kWrite, kDiscard: a further run of blocks of the event before it
  Boundary boundary;               // kBoundary
  // kWrite, kDiscard: in the address space of all disks. kStray: the address on its disk.
  BlockAddress first;
  BlockCount count;

  // The content that the write or discard gives to block first + i; null is zero.
  const Block* block(uint64_t i) const { return blocks()[i]; }
  bool changes_blocks() const { return kind == EventKind::kWrite || kind == EventKind::kDiscard; }

  static void destroy(const Event* event);

 private:
  friend class Log;
  const Block** blocks() const {
    return reinterpret_cast<const Block**>(reinterpret_cast<std::byte*>(const_cast<Event*>(this)) +
                                           sizeof(Event));
  }
  size_t bytes() const { return sizeof(Event) + (changes_blocks() ? count.value * sizeof(Block*) : 0); }

  const Event* previous_ = nullptr;  // owned
};

class Log {
 public:
  Log() = default;
  // An empty log whose first event gets this serial number.
  explicit Log(uint64_t next_serial) : base_(next_serial) {}

  // Adds a write of these blocks from `first` on; the references are moved from. With
  // `tied_to_previous` it is one write with the event before it, on blocks at higher addresses (not
  // necessarily adjacent ones); FUA then is not allowed.
  void add_write(BlockAddress first, std::span<BlockRef> blocks, WriteFlags flags = {}, uint32_t disk = 0,
                 bool tied_to_previous = false);
  // Adds a discard in the same way; the blocks are the content that is read there afterwards.
  void add_discard(BlockAddress first, std::span<BlockRef> blocks, uint32_t disk = 0,
                   bool tied_to_previous = false);
  void add_flush(uint32_t disk = 0);
  void add_boundary(const Boundary& boundary);
  // `first` is the address on the disk.
  void add_stray(Access access, BlockAddress first, BlockCount count, uint32_t disk = 0);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t strays() const { return strays_; }    // accesses outside of a disk
  size_t misuses() const { return misuses_; }  // of raw flash
  size_t promises() const { return promises_; }

  // All events in issue order, in `out`, which is overwritten and returned. O(size).
  const std::vector<const Event*>& events(std::vector<const Event*>& out) const;

  // The serial number that Event::number counts from.
  uint64_t base() const { return base_; }
  uint64_t serial_of(const Event& event) const { return base_ + event.number; }
  // The serial number of the next event.
  uint64_t next_serial() const { return base_ + next_; }
  // Sets it. Not below base(), unless the log is empty.
  void set_next_serial(uint64_t serial);
  // The events of this log, which was recorded on its own from serial number 0 on, follow an event with
  // number base - 1. O(1).
  void rebase(uint64_t base) { base_ = base; }

  // The digest of the writes, discards and flushes in their order. Boundaries, strays and serial numbers do
  // not change what a disk may hold and do not count.
  const Digest& digest() const { return digest_; }

 private:
  Event* append(EventKind kind, BlockAddress first, BlockCount count, uint32_t disk);
  // For a further run of the write before it: shares its number.
  void tie(Event* event);
  void add_blocks(Event* event, std::span<BlockRef> blocks, Digest content);
  void count_in(const Digest& event_digest);

  Ref<Event> last_;
  uint32_t size_ = 0;
  uint32_t effects_ = 0;  // events that count for the digest
  uint32_t strays_ = 0;
  uint32_t misuses_ = 0;
  uint32_t promises_ = 0;
  uint32_t next_ = 0;  // Event::number of the next event
  uint64_t base_ = 0;
  Digest digest_;
};

}  // namespace sisyfs
