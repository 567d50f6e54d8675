// Log: what was done to a disk since an image, in issue order, as a value.
//
// A log holds writes, flushes and discards, and marks that say where ops begin and end and where the
// target made a promise. Copying is O(1), appending is O(1), and no byte is copied: a write holds
// references to the same blocks as the image it went to.
//
//   log.add_boundary({BoundaryKind::kOpBegin, 7});
//   log.add_write(BlockAddress(3), blocks, {.fua = true});  // belongs to op 7
//   for (const Event* event : log.events(scratch)) ...
//
// Inside, a log is a list that grows at its end and whose nodes point backwards, so that logs with a
// common past share it. Threads: as for images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.h"
#include "base/ref.h"
#include "disk/block.h"
#include "disk/geometry.h"

namespace sisyfs {

enum class EventKind : uint8_t {
  kWrite,
  kFlush,    // everything before it is durable once it is done
  kDiscard,  // a write of what the device lets discarded blocks read as; of raw flash: an erase
  kBoundary,
  kStray,  // an access outside of the disk, or a misuse of raw flash; it had no effect
};

enum class BoundaryKind : uint8_t {
  kOpBegin,   // op `number` begins; writes from here on belong to it
  kOpEnd,     // op `number` has returned
  kPromise,   // the target has promised durability: by a call that returned, or as Stable (disk.h) says
  kPowerCut,  // the power went and came back: what came before is on the disk or not, unseen
};

struct Boundary {
  BoundaryKind kind = BoundaryKind::kOpBegin;
  uint32_t number = 0;

  friend bool operator==(const Boundary&, const Boundary&) = default;
};

// What a block is for (superblock, inode, file data), as an id that the target's naming gives out.
enum class BlockKind : uint16_t { kUnknown = 0 };

// What a write says about itself besides its bytes.
struct WriteFlags {
  bool fua = false;  // this write is durable when it returns
  BlockKind block_kind = BlockKind::kUnknown;
};

enum class Access : uint8_t {
  kRead,
  kWrite,
  kDiscard,
  kProgramAgain,  // a misuse: to program a page that is not erased
  kErasePart,     // a misuse: to erase less than a whole erase unit
};
constexpr bool is_misuse(Access access) {
  return access == Access::kProgramAgain || access == Access::kErasePart;
}

inline constexpr uint32_t kNoOp = UINT32_MAX;

// One entry of a log. Immutable; lives as long as a log that holds it.
struct Event {
  RefCount refs;
  EventKind kind = EventKind::kFlush;
  Access access = Access::kWrite;  // kStray: what was tried
  WriteFlags flags;                // kWrite
  bool tied_to_previous = false;   // kWrite, kDiscard: a further run of blocks of the event before it
  Boundary boundary;               // kBoundary
  uint32_t op = kNoOp;             // the op during which it was issued
  BlockAddress first;              // kWrite, kDiscard, kStray
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

  // Adds a write of these blocks from `first` on; the references are moved from. With
  // `tied_to_previous` it is one write with the event before it, on blocks further up (not necessarily
  // adjacent ones); FUA then is not allowed.
  void add_write(BlockAddress first, std::span<BlockRef> blocks, WriteFlags flags = {},
                 bool tied_to_previous = false);
  // The same for a discard; the blocks are what is read there afterwards.
  void add_discard(BlockAddress first, std::span<BlockRef> blocks, bool tied_to_previous = false);
  void add_flush();
  void add_boundary(const Boundary& boundary);
  void add_stray(Access access, BlockAddress first, BlockCount count);

  // The op to which what is added next belongs; marks set it as ops begin and end.
  uint32_t op() const { return op_; }
  void set_op(uint32_t op) { op_ = op; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t strays() const { return strays_; }    // accesses outside of the disk
  size_t misuses() const { return misuses_; }  // of raw flash
  size_t promises() const { return promises_; }

  // All events in issue order, in `out`, which is overwritten and returned. O(size).
  const std::vector<const Event*>& events(std::vector<const Event*>& out) const;

  // The digest of the writes, discards and flushes in their order. Marks, ops and block kinds have no
  // effect on what a disk may hold and do not count.
  const Digest& digest() const { return digest_; }

 private:
  Event* append(EventKind kind, BlockAddress first, BlockCount count);
  void add_blocks(Event* event, std::span<BlockRef> blocks, Digest content);
  void count_in(const Digest& event_digest);

  Ref<Event> last_;
  uint32_t size_ = 0;
  uint32_t effects_ = 0;  // events that count for the digest
  uint32_t strays_ = 0;
  uint32_t misuses_ = 0;
  uint32_t promises_ = 0;
  uint32_t op_ = kNoOp;
  Digest digest_;
};

}  // namespace sisyfs
