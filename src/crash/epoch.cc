#include "crash/epoch.h"

#include <utility>

#include "base/assert.h"
#include "base/mutant.h"

namespace sisyfs {

Epoch::Epoch(const DeviceModel& model, Image durable)
    : model_(model),
      blocks_per_unit_(model.blocks_per_unit(durable.geometry())),
      durable_(std::move(durable)) {
  SISYFS_ASSERT(model.check(durable_.geometry()), "the device model fits the disk");
}

void Epoch::restart(Image durable) {
  SISYFS_ASSERT(durable.geometry() == durable_.geometry(), "the image is of the same shape");
  clear();
  durable_ = std::move(durable);
}

void Epoch::add(const Event& event) {
  SISYFS_ASSERT(event.changes_blocks(), "only what changes blocks can be in doubt");
  if (event.tied_to_previous) {
    SISYFS_ASSERT(!writes_.empty(), "the run before is in doubt too");
    writes_.back().count = event.first + event.count - writes_.back().first;
  } else {
    writes_.push_back({event.first, event.count, event.flags, event.op, event.kind == EventKind::kDiscard});
  }
  if (model_.flash) return add_flash(event);
  const bool joins_last_piece = event.tied_to_previous && model_.writes_are_tied();
  for (uint64_t i = 0; i < event.count.value; i++) {
    const BlockAddress address = event.first + BlockCount(i);
    const bool new_unit = i == 0 || (!model_.writes_are_tied() && address.value % blocks_per_unit_ == 0);
    if (new_unit && !joins_last_piece) begin_piece(address);
    add_slot(address, BlockRef::share(event.block(i)));
  }
}

void Epoch::begin_piece(BlockAddress address) {
  uint32_t chain = 0;
  if (!model_.keeps_order() && !mutant(Mutant::kNeverReorder)) {
    chain =
        model_.writes_are_tied() ? static_cast<uint32_t>(chains_.size()) : unit_index_.add(unit_of(address));
  }
  if (chain == chains_.size()) chains_.emplace_back();
  Chain& on = chains_[chain];
  const uint32_t piece = static_cast<uint32_t>(pieces_.size());
  pieces_.push_back({.write = static_cast<uint32_t>(writes_.size() - 1),
                     .chain = chain,
                     .rank = on.length,
                     .first_slot = static_cast<uint32_t>(slots_.size()),
                     .slot_count = 0,
                     .previous = on.last,
                     .next = kNone});
  (on.last == kNone ? on.first : pieces_[on.last].next) = piece;
  on.last = piece;
  on.length++;
}

void Epoch::add_slot(BlockAddress address, BlockRef block) {
  const uint32_t place = place_index_.add(address.value);
  if (place == places_.size())
    places_.push_back({address, contribution(address, durable_.block(address)), kNone});
  Place& at = places_[place];
  const uint32_t depth = at.top == kNone ? 0 : slots_[at.top].depth + 1;
  const Digest contributed = contribution(address, block.get());
  const uint32_t piece = static_cast<uint32_t>(pieces_.size() - 1);
  const uint32_t below = std::exchange(at.top, static_cast<uint32_t>(slots_.size()));
  slots_.push_back({std::move(block), contributed, place, piece, below, depth});
  pieces_.back().slot_count++;
}

void Epoch::clear() {
  writes_.clear();
  pieces_.clear();
  slots_.clear();
  places_.clear();
  chains_.clear();
  place_index_.clear();
  unit_index_.clear();
}

void Epoch::settle() {
  for (const Place& place : places_) durable_.set(place.address, slots_[place.top].block);
  clear();
}

void Epoch::settle_last_write() {
  SISYFS_ASSERT(!writes_.empty(), "a write was added");
  const uint32_t last = static_cast<uint32_t>(writes_.size() - 1);
  if (model_.keeps_order() || last == 0 || mutant(Mutant::kFuaSettlesAll)) return settle();

  // The units (blocks, when writes are tied) of the last write are settled at their newest version.
  DenseIndex settled;
  for (const Slot& slot : slots_) {
    if (pieces_[slot.piece].write == last) settled.add(unit_of(places_[slot.place].address));
  }
  const auto is_settled = [&](BlockAddress address) {
    return settled.find(unit_of(address)) != DenseIndex::kNone;
  };
  for (const Place& place : places_) {
    if (is_settled(place.address)) durable_.set(place.address, slots_[place.top].block);
  }

  // What stays in doubt is strung anew.
  const std::vector<Write> writes = std::move(writes_);
  const std::vector<Piece> pieces = std::move(pieces_);
  std::vector<Slot> slots = std::move(slots_);
  const std::vector<Place> places = std::move(places_);
  clear();
  uint32_t last_write = kNone;
  for (const Piece& piece : pieces) {
    bool begun = false;
    for (uint32_t s = piece.first_slot; s < piece.first_slot + piece.slot_count; s++) {
      const BlockAddress address = places[slots[s].place].address;
      if (is_settled(address)) continue;
      if (std::exchange(last_write, piece.write) != piece.write) writes_.push_back(writes[piece.write]);
      if (!std::exchange(begun, true)) begin_piece(address);
      add_slot(address, std::move(slots[s].block));
    }
  }
}

StateCount Epoch::count() const {
  StateCount count = 1;
  for (const Chain& chain : chains_) count *= StateCount(uint64_t{chain.length} + 1);
  return count;
}

// For each piece its place on its chain, and for each of its blocks the number of versions below. By
// these, writes that share a block or a chain are ordered, and others are not.
Digest Epoch::digest() const {
  Digest digest = digest_at(0, durable_.digest());
  for (const Piece& piece : pieces_) {
    Digest content;
    for (const Slot& slot : slots_of(piece)) {
      content += digest_at(slot.depth, identity(places_[slot.place].address, slot.block.get()));
    }
    digest += digest_at(uint64_t{piece.rank} + 1, content);
  }
  return digest;
}

// A write of which some blocks were settled by a later one may have gaps; it becomes several runs, tied.
Log Epoch::pending_log() const {
  SISYFS_ASSERT(!model_.flash || empty(), "raw flash has no cache");
  Log log;
  std::vector<BlockRef> run;
  for (uint32_t s = 0, w = kNone; s < slots_.size();) {
    const uint32_t write = pieces_[slots_[s].piece].write;
    const BlockAddress first = places_[slots_[s].place].address;
    run.clear();
    for (; s < slots_.size() && pieces_[slots_[s].piece].write == write; s++) {
      if (places_[slots_[s].place].address != first + BlockCount(run.size())) break;
      run.push_back(slots_[s].block);
    }
    const bool goes_on = std::exchange(w, write) == write;
    log.set_op(writes_[write].op);
    if (writes_[write].discard) {
      log.add_discard(first, run, goes_on);
    } else {
      log.add_write(first, run, {.fua = false, .block_kind = writes_[write].flags.block_kind}, goes_on);
    }
  }
  log.set_op(kNoOp);
  return log;
}

}  // namespace sisyfs
