#include "crash/epoch.h"

#include <algorithm>
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
  if (model_.scattered) return add_scattered(event);
  // A further run of a write may lie in the unit in which the run before it has ended.
  const bool tied = model_.writes_are_tied();
  const bool joins_last_piece =
      event.tied_to_previous &&
      (tied || unit_of(event.first) == unit_of(places_[slots_.back().place].address));
  for (uint64_t i = 0; i < event.count.value; i++) {
    const BlockAddress address = event.first + BlockCount(i);
    const bool new_unit = i == 0 ? !joins_last_piece : !tied && address.value % blocks_per_unit_ == 0;
    if (new_unit) begin_piece(address);
    add_slot(address, BlockRef::share(event.block(i)));
  }
}

void Epoch::begin_piece(BlockAddress address) {
  uint32_t chain = 0;
  if (!model_.keeps_order() && !mutant(Mutant::kNeverReorder)) {
    chain = model_.writes_are_tied() ? static_cast<uint32_t>(chains_.size()) - first_chain_
                                     : unit_index_.add(unit_of(address));
  }
  chain += first_chain_;
  if (chain == chains_.size()) chains_.emplace_back();
  Chain& on = chains_[chain];
  const uint32_t piece = static_cast<uint32_t>(pieces_.size());
  pieces_.push_back({.write = static_cast<uint32_t>(writes_.size() - 1),
                     .chain = chain,
                     .rank = on.length,
                     .first_slot = static_cast<uint32_t>(slots_.size()),
                     .slot_count = 0,
                     .previous = on.last,
                     .next = kNone,
                     .layer = layer_});
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
  first_chain_ = frozen_pieces_ = layer_ = 0;
}

void Epoch::freeze() {
  if (frozen_pieces_ == pieces_.size() || mutant(Mutant::kThaw)) return;
  frozen_pieces_ = static_cast<uint32_t>(pieces_.size());
  first_chain_ = static_cast<uint32_t>(chains_.size());
  unit_index_.clear();
  ++layer_;
}

void Epoch::restart(Image durable, const Log& open) {
  restart(std::move(durable));
  if (open.empty()) return;
  std::vector<const Event*> events;
  for (const Event* event : open.events(events)) {
    if (!event->changes_blocks())
      freeze();  // the mark of a power cut
    else if (model_.flash)
      add_piece(*event);
    else
      add(*event);
  }
}

void Epoch::settle() {
  if (frozen_pieces_ != 0 && !mutant(Mutant::kFlushSettlesOpen)) {
    const auto pending = [&](const Place& place) { return slots_[place.top].piece >= frozen_pieces_; };
    return settle_where(pending);
  }
  for (const Place& place : places_) durable_.set(place.address, slots_[place.top].block);
  clear();
}

void Epoch::settle_last_write() {
  SISYFS_ASSERT(pieces_.size() > frozen_pieces_, "a write was added");
  const uint32_t last = static_cast<uint32_t>(writes_.size() - 1);
  const bool first = pieces_[frozen_pieces_].write == last;
  if (model_.keeps_order() || first || mutant(Mutant::kFuaSettlesAll)) return settle();

  // The units (blocks, when writes are tied) of the last write are settled at their newest version.
  DenseIndex settled;
  for (const Slot& slot : slots_) {
    if (pieces_[slot.piece].write == last) settled.add(unit_of(places_[slot.place].address));
  }
  settle_where([&](const Place& place) { return settled.find(unit_of(place.address)) != DenseIndex::kNone; });
}

template <class IsSettled>
void Epoch::settle_where(IsSettled is_settled) {
  std::vector<uint8_t> settled;  // by place
  for (const Place& place : places_) {
    settled.push_back(is_settled(place) ? 1 : 0);
    if (settled.back() != 0) durable_.set(place.address, slots_[place.top].block);
  }
  const std::vector<Write> writes = std::move(writes_);
  const std::vector<Piece> pieces = std::move(pieces_);
  std::vector<Slot> slots = std::move(slots_);
  const std::vector<Place> places = std::move(places_);
  const uint32_t layer = layer_;
  clear();
  uint32_t last_write = kNone, last_layer = 0;
  for (const Piece& piece : pieces) {
    bool begun = false;
    for (uint32_t s = piece.first_slot; s < piece.first_slot + piece.slot_count; s++) {
      if (settled[slots[s].place] != 0) continue;
      if (std::exchange(last_layer, piece.layer) != piece.layer) freeze();
      if (std::exchange(last_write, piece.write) != piece.write) writes_.push_back(writes[piece.write]);
      if (!std::exchange(begun, true)) begin_piece(places[slots[s].place].address);
      add_slot(places[slots[s].place].address, std::move(slots[s].block));
    }
  }
  // The last layer that is left may be one that lies behind a cut.
  if (last_layer < layer) freeze();
}

// Of each block only what lies above the newest content that was surely kept is open.
void Epoch::narrow(std::span<const KeptRange> known, Epoch& to) const {
  to.restart(durable_);
  const auto lost = [&](const Slot& slot) {
    return known[pieces_[slot.piece].chain].most <= pieces_[slot.piece].rank &&
           !mutant(Mutant::kNarrowKeepsLost);
  };
  std::vector<uint32_t>& floor = to.floor_;  // by place: the newest slot that was surely kept
  floor.assign(places_.size(), kNone);
  for (uint32_t p = 0; p < places_.size(); p++) {
    uint32_t s = places_[p].top;
    while (s != kNone && known[pieces_[slots_[s].piece].chain].least <= pieces_[slots_[s].piece].rank)
      s = slots_[s].below;
    floor[p] = s;
    if (s != kNone) to.durable_.set(places_[p].address, slots_[s].block);
  }
  uint32_t last_write = kNone, last_layer = 0;
  for (const Piece& piece : pieces_) {
    bool begun = false;
    for (const Slot& slot : slots_of(piece)) {
      const uint32_t s = static_cast<uint32_t>(&slot - slots_.data());
      if ((floor[slot.place] != kNone && s <= floor[slot.place]) || lost(slot)) continue;
      if (std::exchange(last_layer, piece.layer) != piece.layer) to.freeze();
      if (std::exchange(last_write, piece.write) != piece.write) to.writes_.push_back(writes_[piece.write]);
      if (!std::exchange(begun, true)) to.begin_piece(places_[slot.place].address);
      to.add_slot(places_[slot.place].address, slot.block);
    }
  }
  to.freeze();
}

Digest Epoch::narrowed_digest(std::span<const KeptRange> known, Epoch& to) const {
  if (!std::ranges::all_of(known, [](const KeptRange& kept) { return kept.least == kept.most; })) {
    narrow(known, to);
    return to.digest();
  }
  Digest image = durable_.digest();
  for (const Place& place : places_) {
    uint32_t s = place.top;
    while (s != kNone && known[pieces_[slots_[s].piece].chain].least <= pieces_[slots_[s].piece].rank)
      s = slots_[s].below;
    if (s == kNone) continue;
    image += contribution(place.address, slots_[s].block.get()) -
             contribution(place.address, durable_.block(place.address));
  }
  return digest_at(0, image);
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
  for (const Piece& piece : pieces_) digest += digest_of(piece);
  return digest;
}

Digest Epoch::digest_of(const Piece& piece) const {
  Digest content;
  for (const Slot& slot : slots_of(piece)) {
    content += digest_at(slot.depth, identity(places_[slot.place].address, slot.block.get()));
  }
  const uint64_t layer = mutant(Mutant::kDigestWithoutLayers) ? 0 : piece.layer;
  return digest_at((layer << 32) + piece.rank + 1, content);
}

// A write of which some blocks were settled by a later one may have gaps; it becomes several runs, tied. On
// raw flash the same goes for each piece.
Log Epoch::log_of(uint32_t first_piece, uint32_t end_piece) const {
  SISYFS_ASSERT(!model_.flash || end_piece <= frozen_pieces_ || first_piece == end_piece,
                "raw flash has no cache");
  SISYFS_ASSERT(!model_.scattered || frozen_pieces_ == 0, "scattered units lie on blocks that are known");
  Log log;
  std::vector<BlockRef> run;
  const auto slot_from = [&](uint32_t p) {
    return p < pieces_.size() ? pieces_[p].first_slot : static_cast<uint32_t>(slots_.size());
  };
  const auto add_cut = [&] { log.add_boundary({BoundaryKind::kPowerCut, 0}); };
  const uint32_t end = slot_from(end_piece);
  uint32_t last = kNone, layer = kNone;
  for (uint32_t s = slot_from(first_piece); s < end;) {
    const Piece& piece = pieces_[slots_[s].piece];
    const BlockAddress first = places_[slots_[s].place].address;
    run.clear();
    const uint32_t write = piece.write, in_piece = slots_[s].piece;
    // Scattered units: what comes before the last piece of a write follows from that.
    if (model_.scattered && in_piece + 1 < pieces_.size() && pieces_[in_piece + 1].write == write) {
      s = piece.first_slot + piece.slot_count;
      continue;
    }
    for (; s < end && pieces_[slots_[s].piece].write == piece.write; s++) {
      if (places_[slots_[s].place].address != first + BlockCount(run.size())) break;
      if (model_.flash && slots_[s].piece != in_piece) break;
      run.push_back(slots_[s].block);
    }
    if (layer != kNone && layer != piece.layer && !mutant(Mutant::kOneLayer)) add_cut();
    layer = piece.layer;
    const uint32_t part = model_.flash ? in_piece : write;
    const bool goes_on = std::exchange(last, part) == part;
    log.set_op(writes_[write].op);
    if (writes_[write].discard) {
      log.add_discard(first, run, goes_on);
    } else {
      log.add_write(first, run, {.fua = false, .block_kind = writes_[write].flags.block_kind}, goes_on);
    }
  }
  if (layer != kNone && end_piece == frozen_pieces_) add_cut();
  log.set_op(kNoOp);
  return log;
}

}  // namespace sisyfs
