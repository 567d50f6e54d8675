// Epoch: what is durable and what is in doubt at a moment, under a device model.
//
// One scheme covers every device model. A pending write falls into *pieces*. The device writes a piece
// completely or not at all. Pieces are strung on *chains*. A power cut keeps a prefix of each chain, chosen
// independently of the other chains. If the kept pieces give one block several contents, the content issued
// last wins.
//
// clang-format off
//     model             pieces                    chains
//     in order          one per write, or per     one per disk, with all its pieces in issue order
//                       unit of it if it tears    (so a cut keeps a prefix of the pending writes of a disk)
//     free, torn        one per unit of a write   one per unit: v0, v1 … vk are its prefixes
//     free, tied        one per write             one per write: kept or lost
//     in order,         one per subset of the     as in order; the pieces before the last one of a write
//     scattered         units of a write          are its interruptions (epoch_scattered.cc)
//     write-through     as in order               one for all disks: a write is durable before the next one
//                                                 is issued, to whatever disk
//     raw flash         one per content that a    as write-through; the pieces before the last one of a
//                       page goes through         program or erase are its interruptions (epoch_flash.cc)
// clang-format on
//
// So the number of crash states is the product of (length + 1) over the chains, known without building
// any, and one enumerator (crash_states.h) serves all models. Different choices may lead to equal
// images, for example when a lost write lies below a kept one; their digests are equal then.
//
// Two consequences of "issued last wins" and "a prefix":
// - A unit of several blocks keeps its version j by keeping pieces 1 … j on it: the device wrote the content
//   that its cache had for the unit at that time, which included the earlier pieces.
// - In order and torn, the units of a write reach the medium by rising address.
//
// A power cut decides which writes survive, but the checker does not choose until a block is read. What was
// not read stays undecided after the cut, below everything that is written later. freeze() turns all that is
// in doubt into such a layer. Its pieces keep their chains, and no flush can settle them. A block of the
// layer is dropped once something durable lies over it.
//
//   Epoch epoch(model, durable);
//   epoch.add(write);  epoch.add(discard);   // in doubt
//   epoch.count();                           // 4, if free and of one block each
//   epoch.settle(0);                         // a flush of disk 0: nothing of it is in doubt
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.h"
#include "crash/dense_index.h"
#include "crash/device_model.h"
#include "crash/state_count.h"
#include "disk/image.h"
#include "disk/log.h"

namespace sisyfs {

class Epoch {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A pending write or discard, for reports. A discard is a write of the content that is read there
  // afterwards. Some of its blocks may be settled already.
  struct Write {
    BlockAddress first;   // in the address space of all disks
    BlockCount count;     // to the end of its last run
    uint64_t serial = 0;  // of the event (log.h)
    uint32_t disk = 0;
    bool discard = false;
  };

  // Blocks that reach the medium together.
  struct Piece {
    uint32_t write = 0;  // index in writes()
    uint32_t chain = 0;  // index in chains()
    uint32_t rank = 0;   // position on the chain, from 0
    uint32_t first_slot = 0;
    uint32_t slot_count = 0;
    uint32_t previous = kNone;  // the piece before it on the chain
    uint32_t next = kNone;
    uint32_t layer = 0;  // the number of power cuts before it
  };

  // One block of a piece with its new content.
  struct Slot {
    BlockRef block;
    Digest contribution;       // to the digest of an image that holds it
    uint32_t block_index = 0;  // index in blocks()
    uint32_t piece = 0;        // index in pieces()
    uint32_t below = kNone;    // the slot issued before it for the same block
    uint32_t depth = 0;        // the number of slots below it
  };

  // A block that is in doubt: its address and its versions, which are a list of slots.
  struct BlockVersions {
    BlockAddress address;
    Digest durable_contribution;
    uint32_t top = kNone;  // the slot issued last for it
  };

  struct Chain {
    uint32_t first = kNone;  // piece
    uint32_t last = kNone;   // piece
    uint32_t length = 0;
  };

  // Nothing is in doubt. model.check(durable.geometry()) has passed.
  Epoch(const DeviceModel& model, Image durable);

  const DeviceModel& model() const { return model_; }
  const Image& durable() const { return durable_; }
  bool empty() const { return pieces_.empty(); }

  // As if constructed anew on another image of the same shape, with the undecided writes of a log that
  // undecided_log() made. Keeps its memory.
  void restart(Image durable, const Log& undecided = {});

  // A write or discard is issued: it is in doubt from here on, FUA or not. `base` is the base of its log.
  void add(const Event& event, uint64_t base = 0);

  // A power cut: what is in doubt now stays undecided, below what is added from here on.
  void freeze();
  // The pieces before this one are undecided since a power cut.
  uint32_t frozen_pieces() const { return frozen_pieces_; }

  // A flush of one disk: all that is in doubt on it becomes durable, except what is undecided since a power
  // cut. A device that writes through has nothing in doubt on any disk then.
  void settle(uint32_t disk);
  // Flushes of all disks.
  void settle();

  // The write added last is durable, as one with FUA is when it returns. What it supersedes is no longer
  // in doubt either: older versions of its blocks, and with a device that keeps order, all writes to its
  // disk.
  void settle_last_write();

  // The number of crash states, equal images counted as often as they arise.
  StateCount count() const;

  // Equal digests: the same durable image, and the same crash states now and after equal further writes. The
  // order of writes counts only where it can be seen: on one chain or one block.
  Digest digest() const;
  // The part of a piece in that digest: its content, and the number of versions below it.
  Digest digest_of(const Piece& piece) const;

  // What is in doubt, as a log on top of durable() and of what is undecided since power cuts.
  Log pending_log() const { return log_of(frozen_pieces_, static_cast<uint32_t>(pieces_.size())); }
  // What is undecided since power cuts, as a log on top of durable(), with a kPowerCut boundary for each cut.
  Log undecided_log() const { return log_of(0, frozen_pieces_); }

  // The number of pieces of a chain that were kept: any from `least` to `most`.
  struct KeptRange {
    uint32_t least = 0;
    uint32_t most = 0;
  };
  // Makes `to` the part of this epoch that is still undecided if these ranges of the chains are known, all of
  // it before a power cut.
  void narrow(std::span<const KeptRange> known, Epoch& to) const;
  // The digest of the epoch that narrow() makes. Where nothing is undecided any more, `to` is left alone.
  Digest narrowed_digest(std::span<const KeptRange> known, Epoch& to) const;

  std::span<const Write> writes() const { return writes_; }
  std::span<const Piece> pieces() const { return pieces_; }
  std::span<const Slot> slots() const { return slots_; }
  std::span<const BlockVersions> blocks() const { return blocks_; }
  std::span<const Chain> chains() const { return chains_; }

  std::span<const Slot> slots_of(const Piece& piece) const {
    return slots().subspan(piece.first_slot, piece.slot_count);
  }

  // The index of a block in blocks(), or kNone if it is not in doubt.
  uint32_t find_block(BlockAddress address) const { return block_index_.find(address.value); }

 private:
  uint64_t unit_of(BlockAddress address) const { return address.value / blocks_per_unit_; }
  bool writes_through() const { return model_.cache == WriteCache::kWriteThrough; }
  void add_write_record(const Event& event, uint64_t base);
  void begin_piece(BlockAddress address);
  // The chain of this layer on which a new piece for a block goes. May be chains_.size(): a new one.
  uint32_t chain_for(BlockAddress address);
  void add_slot(BlockAddress address, BlockRef block);
  void add_flash(const Event& event);
  void add_program(BlockAddress address, const Block* page);
  void add_nor_program(BlockAddress address, const Block* page);
  void add_erase(BlockAddress first);
  // What a page of this content goes through while it is erased, from that content to erased.
  void list_erase_contents(BlockRef old);
  // The wear of a unit that is erased is a part of the piece at hand.
  void add_wear(BlockAddress first);
  void add_scattered(const Event& event);
  // Whether a power cut has left one of several contents in a block, and nothing lies over it.
  bool is_undecided(uint32_t block_index) const;
  // Notes the content of these blocks if nothing is lost.
  void note_before(BlockAddress first, uint64_t count);
  const Block* content_if_kept(BlockAddress address) const;
  void add_logged_piece(const Event& event, uint64_t base);
  BlockRef half_programmed(const Block* whole);
  // Settles the blocks for which the predicate holds at their newest content, and strings the rest anew.
  template <class IsSettled>
  void settle_where(IsSettled is_settled);
  Log log_of(uint32_t first_piece, uint32_t end_piece) const;
  void clear();

  DeviceModel model_;
  uint64_t blocks_per_unit_;
  Image durable_;
  std::vector<Write> writes_;
  std::vector<Piece> pieces_;
  std::vector<Slot> slots_;
  std::vector<BlockVersions> blocks_;
  std::vector<Chain> chains_;
  DenseIndex block_index_;  // by block address
  DenseIndex chain_index_;  // of this layer: by unit where units have chains, by disk where disks have
  std::vector<BlockRef>
      before_;                   // content of the blocks that are being erased, or written by scattered units
  std::vector<uint32_t> floor_;  // scratch memory of narrow()
  std::vector<std::byte> page_;  // raw flash: the page that is partly programmed or erased
  std::vector<BlockRef> stages_;  // raw flash: contents of the pages of a unit that is being erased
  // Of what was added since the last power cut: its first chain, its first piece, and its layer.
  uint32_t first_chain_ = 0, frozen_pieces_ = 0, layer_ = 0;
};

}  // namespace sisyfs
