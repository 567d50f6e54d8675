// Epoch: what is durable and what is in doubt at a moment, under a device model.
//
// One picture covers every device model. A pending write falls into *pieces*, each of which the device
// writes all or not at all; pieces are strung on *chains*; and a power cut keeps a prefix of each chain,
// chosen independently of the other chains. Where kept pieces give one block several contents, the one
// issued last wins.
//
//     model             pieces                    chains
//     in order          one per write, or per     one, holding all pieces in issue order
//                       unit of it if it tears    (so a cut keeps a prefix of the pending writes)
//     free, torn        one per unit of a write   one per unit: v0, v1 … vk are its prefixes
//     free, tied        one per write             one per write: kept or lost
//     in order,         one per subset of the     one, as in order: what comes before the last piece of a
//     scattered         units of a write          write is its interruption (epoch_scattered.cc)
//     raw flash         one per content that a    one, as in order: what comes before the last piece of a
//                       page goes through         program or erase is its interruption (epoch_flash.cc)
//
// So the number of crash states is the product of (length + 1) over the chains, known without building
// any, and one enumerator (crash_states.h) serves all models. Different choices may lead to equal
// images, for example when a lost write lies below a kept one; digests tell.
//
// Two things follow from "issued last wins" and "a prefix":
// - A unit of several blocks keeps its version j by keeping pieces 1 … j on it: what the device wrote
//   was its cache's content of the unit at that time, which held the earlier pieces.
// - In order and torn, the units of a write reach the medium by rising address.
//
// A power cut settles what was in doubt, but nobody knows how until it is read. What was not read stays open
// behind the cut, below everything that is written from then on: freeze() makes such a layer of what is in
// doubt. Its pieces keep their chains, no flush can settle them any more, and a block of it is forgotten once
// something durable lies over it.
//
//   Epoch epoch(model, durable);
//   epoch.add(write);  epoch.add(discard);   // in doubt
//   epoch.count();                           // 4, if free and of one block each
//   epoch.settle();                          // a flush: nothing is in doubt
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

  // A pending write or discard, for reports. A discard is a write of what is read there afterwards. Some of
  // its blocks may be settled already.
  struct Write {
    BlockAddress first;
    BlockCount count;  // to the end of its last run
    WriteFlags flags;
    uint32_t op = kNoOp;
    bool discard = false;
  };

  // Blocks that reach the medium together.
  struct Piece {
    uint32_t write = 0;  // which of writes()
    uint32_t chain = 0;  // which of chains()
    uint32_t rank = 0;   // its place on the chain, from 0
    uint32_t first_slot = 0;
    uint32_t slot_count = 0;
    uint32_t previous = kNone;  // the piece before it on the chain
    uint32_t next = kNone;
    uint32_t layer = 0;  // how many power cuts lie below it
  };

  // One block of a piece with its new content.
  struct Slot {
    BlockRef block;
    Digest contribution;     // to the digest of an image that holds it
    uint32_t place = 0;      // which of places()
    uint32_t piece = 0;      // which of pieces()
    uint32_t below = kNone;  // the slot issued before it for the same block
    uint32_t depth = 0;      // how many slots are below it
  };

  // One block address that is in doubt.
  struct Place {
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

  // Nothing is in doubt, on another image of the same shape. Keeps its memory.
  void restart(Image durable);

  // A write or discard is issued: it is in doubt from here on, FUA or not.
  void add(const Event& event);

  // A power cut has come and gone: what is in doubt now stays open, below what is added from here on.
  void freeze();
  // The pieces before this one are open behind a power cut.
  uint32_t frozen_pieces() const { return frozen_pieces_; }

  // All that is in doubt becomes durable, except what is open behind a power cut.
  void settle();

  // The write added last is durable, as one with FUA is when it returns. What it overtakes is no longer
  // in doubt either: older versions of its blocks, and with a device that keeps order, everything.
  void settle_last_write();

  // How many crash states there are, equal images counted as often as they arise.
  StateCount count() const;

  // Equal digests: the same durable image and the same crash states to come from what is in doubt. The
  // order of writes counts only where it can be seen: on one chain or one block.
  Digest digest() const;
  // The part of a piece in that: what it holds, and what lies below it.
  Digest digest_of(const Piece& piece) const;

  // What is in doubt, as a log on top of durable() and of what is open behind power cuts.
  Log pending_log() const { return log_of(frozen_pieces_, static_cast<uint32_t>(pieces_.size())); }
  // What is open behind power cuts, as a log on top of durable(), with a mark where each cut came.
  Log undecided_log() const { return log_of(0, frozen_pieces_); }
  // The same epoch again, from its durable image and such a log.
  void restart(Image durable, const Log& open);

  // How many pieces of a chain were kept: all from `least` to `most` is possible.
  struct KeptRange {
    uint32_t least = 0;
    uint32_t most = 0;
  };
  // This epoch as far as it is still open when of each chain so much is known, all of it behind a cut.
  void narrow(std::span<const KeptRange> known, Epoch& to) const;
  // The digest of what narrow() makes. Where nothing is open any more, nothing is made for it.
  Digest narrowed_digest(std::span<const KeptRange> known, Epoch& to) const;

  std::span<const Write> writes() const { return writes_; }
  std::span<const Piece> pieces() const { return pieces_; }
  std::span<const Slot> slots() const { return slots_; }
  std::span<const Place> places() const { return places_; }
  std::span<const Chain> chains() const { return chains_; }

  std::span<const Slot> slots_of(const Piece& piece) const {
    return slots().subspan(piece.first_slot, piece.slot_count);
  }

  // The place of a block, or kNone if it is not in doubt.
  uint32_t find_place(BlockAddress address) const { return place_index_.find(address.value); }

 private:
  uint64_t unit_of(BlockAddress address) const { return address.value / blocks_per_unit_; }
  void begin_piece(BlockAddress address);
  void add_slot(BlockAddress address, BlockRef block);
  void add_flash(const Event& event);
  void add_erase(BlockAddress first);
  void add_scattered(const Event& event);
  // Whether a power cut has left one of several contents there, and nothing lies over it.
  bool is_open(uint32_t place) const;
  // What these blocks hold if nothing is lost.
  void note_before(BlockAddress first, uint64_t count);
  void add_piece(const Event& event);
  BlockRef half_programmed(const Block* whole);
  // Settles these blocks at their newest content, and strings what is left anew.
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
  std::vector<Place> places_;
  std::vector<Chain> chains_;
  DenseIndex place_index_;        // by block address
  DenseIndex unit_index_;         // by unit of this layer, when chains are units
  std::vector<BlockRef> before_;  // what the blocks held that are being erased, or written by scattered units
  std::vector<uint32_t> floor_;   // of what it was narrowed from
  std::vector<std::byte> page_;   // raw flash: the page that is half programmed
  uint32_t first_chain_ = 0, frozen_pieces_ = 0, layer_ = 0;  // of what is not behind a power cut
};

}  // namespace sisyfs
