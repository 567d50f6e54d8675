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

void Epoch::restart(Image durable, const Log& undecided) {
  SISYFS_ASSERT(durable.geometry() == durable_.geometry(), "the image is of the same shape");
  clear();
  durable_ = std::move(durable);
  if (undecided.empty()) return;
  std::vector<const Event*> events;
  for (const Event* event : undecided.events(events)) {
    if (!event->changes_blocks())
      freeze();  // a kPowerCut boundary
    else if (durable_.geometry().is_flash())
      add_logged_piece(*event, undecided.base());
    else
      add(*event, undecided.base());
  }
}

void Epoch::add_write_record(const Event& event, uint64_t base) {
  writes_.push_back(
      {event.first, event.count, base + event.number, event.disk, event.kind == EventKind::kDiscard});
}

void Epoch::add(const Event& event, uint64_t base) {
  SISYFS_ASSERT(event.changes_blocks(), "only what changes blocks can be in doubt");
  if (event.tied_to_previous) {
    SISYFS_ASSERT(!writes_.empty(), "the run before is in doubt too");
    writes_.back().count = event.first + event.count - writes_.back().first;
  } else {
    add_write_record(event, base);
  }
  if (model_.flash) return add_flash(event);
  if (model_.scattered) return add_scattered(event);
  // A further run of a write may lie in the unit in which the run before it has ended.
  const bool tied = model_.writes_are_tied();
  const bool joins_last_piece =
      event.tied_to_previous &&
      (tied || unit_of(event.first) == unit_of(blocks_[slots_.back().block_index].address));
  for (uint64_t i = 0; i < event.count.value; i++) {
    const BlockAddress address = event.first + BlockCount(i);
    const bool new_unit = i == 0 ? !joins_last_piece : !tied && address.value % blocks_per_unit_ == 0;
    if (new_unit) begin_piece(address);
    add_slot(address, BlockRef::share(event.block(i)));
  }
  if (event.kind == EventKind::kDiscard) add_wear(event.first);
}

// Chains of a layer are numbered in order of first use.
uint32_t Epoch::chain_for(BlockAddress address) {
  if (model_.keeps_order() || mutant(Mutant::kNeverReorder)) {
    const Geometry& geometry = durable_.geometry();
    if (geometry.disks == 1 || writes_through() || mutant(Mutant::kOneChainForDisks)) return first_chain_;
    return first_chain_ + chain_index_.add(geometry.disk_of(address));
  }
  if (model_.writes_are_tied()) return static_cast<uint32_t>(chains_.size());
  return first_chain_ + chain_index_.add(unit_of(address));
}

void Epoch::begin_piece(BlockAddress address) {
  const uint32_t chain = chain_for(address);
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
  const uint32_t block_index = block_index_.add(address.value);
  if (block_index == blocks_.size())
    blocks_.push_back({address, contribution(address, durable_.block(address)), kNone});
  BlockVersions& at = blocks_[block_index];
  const uint32_t depth = at.top == kNone ? 0 : slots_[at.top].depth + 1;
  const Digest contributed = contribution(address, block.get());
  const uint32_t piece = static_cast<uint32_t>(pieces_.size() - 1);
  const uint32_t below = std::exchange(at.top, static_cast<uint32_t>(slots_.size()));
  slots_.push_back({std::move(block), contributed, block_index, piece, below, depth});
  pieces_.back().slot_count++;
}

void Epoch::clear() {
  writes_.clear();
  pieces_.clear();
  slots_.clear();
  blocks_.clear();
  chains_.clear();
  block_index_.clear();
  chain_index_.clear();
  first_chain_ = frozen_pieces_ = layer_ = 0;
}

void Epoch::freeze() {
  if (frozen_pieces_ == pieces_.size() || mutant(Mutant::kThaw)) return;
  frozen_pieces_ = static_cast<uint32_t>(pieces_.size());
  first_chain_ = static_cast<uint32_t>(chains_.size());
  chain_index_.clear();
  ++layer_;
}

void Epoch::settle(uint32_t disk) {
  const Geometry& geometry = durable_.geometry();
  if (geometry.disks == 1 || writes_through() || mutant(Mutant::kFlushAllDisks)) return settle();
  settle_where([&](const BlockVersions& block) {
    return geometry.disk_of(block.address) == disk && slots_[block.top].piece >= frozen_pieces_;
  });
}

void Epoch::settle() {
  if (frozen_pieces_ != 0 && !mutant(Mutant::kFlushSettlesOpen)) {
    const auto pending = [&](const BlockVersions& block) {
      return slots_[block.top].piece >= frozen_pieces_;
    };
    return settle_where(pending);
  }
  for (const BlockVersions& block : blocks_) durable_.set(block.address, slots_[block.top].block);
  clear();
}

void Epoch::settle_last_write() {
  SISYFS_ASSERT(pieces_.size() > frozen_pieces_, "a write was added");
  const uint32_t last = static_cast<uint32_t>(writes_.size() - 1);
  const bool first = pieces_[frozen_pieces_].write == last;
  if (mutant(Mutant::kFuaSettlesAll)) return settle();
  if (model_.keeps_order() || first) return settle(writes_[last].disk);

  // The units (blocks, when writes are tied) of the last write are settled at their newest version.
  DenseIndex settled;
  for (const Slot& slot : slots_) {
    if (pieces_[slot.piece].write == last) settled.add(unit_of(blocks_[slot.block_index].address));
  }
  settle_where(
      [&](const BlockVersions& block) { return settled.find(unit_of(block.address)) != DenseIndex::kNone; });
}

template <class IsSettled>
void Epoch::settle_where(IsSettled is_settled) {
  std::vector<uint8_t> settled;  // by block
  for (const BlockVersions& block : blocks_) {
    settled.push_back(is_settled(block) ? 1 : 0);
    if (settled.back() != 0) durable_.set(block.address, slots_[block.top].block);
  }
  const std::vector<Write> writes = std::move(writes_);
  const std::vector<Piece> pieces = std::move(pieces_);
  std::vector<Slot> slots = std::move(slots_);
  const std::vector<BlockVersions> blocks = std::move(blocks_);
  const uint32_t layer = layer_;
  clear();
  uint32_t last_write = kNone, last_layer = 0;
  for (const Piece& piece : pieces) {
    bool begun = false;
    for (uint32_t s = piece.first_slot; s < piece.first_slot + piece.slot_count; s++) {
      if (settled[slots[s].block_index] != 0) continue;
      if (std::exchange(last_layer, piece.layer) != piece.layer) freeze();
      if (std::exchange(last_write, piece.write) != piece.write) writes_.push_back(writes[piece.write]);
      if (!std::exchange(begun, true)) begin_piece(blocks[slots[s].block_index].address);
      add_slot(blocks[slots[s].block_index].address, std::move(slots[s].block));
    }
  }
  // If the newest layer is gone, what is left came before the last power cut.
  if (last_layer < layer) freeze();
}

// Of each block only the versions above the newest one that was surely kept are undecided.
void Epoch::narrow(std::span<const KeptRange> known, Epoch& to) const {
  to.restart(durable_);
  const auto lost = [&](const Slot& slot) {
    return known[pieces_[slot.piece].chain].most <= pieces_[slot.piece].rank &&
           !mutant(Mutant::kNarrowKeepsLost);
  };
  std::vector<uint32_t>& floor = to.floor_;  // by block: the newest slot that was surely kept
  floor.assign(blocks_.size(), kNone);
  for (uint32_t b = 0; b < blocks_.size(); b++) {
    uint32_t s = blocks_[b].top;
    while (s != kNone && known[pieces_[slots_[s].piece].chain].least <= pieces_[slots_[s].piece].rank)
      s = slots_[s].below;
    floor[b] = s;
    if (s != kNone) to.durable_.set(blocks_[b].address, slots_[s].block);
  }
  uint32_t last_write = kNone, last_layer = 0;
  for (const Piece& piece : pieces_) {
    bool begun = false;
    for (const Slot& slot : slots_of(piece)) {
      const uint32_t s = static_cast<uint32_t>(&slot - slots_.data());
      if ((floor[slot.block_index] != kNone && s <= floor[slot.block_index]) || lost(slot)) continue;
      if (std::exchange(last_layer, piece.layer) != piece.layer) to.freeze();
      if (std::exchange(last_write, piece.write) != piece.write) to.writes_.push_back(writes_[piece.write]);
      if (!std::exchange(begun, true)) to.begin_piece(blocks_[slot.block_index].address);
      to.add_slot(blocks_[slot.block_index].address, slot.block);
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
  for (const BlockVersions& block : blocks_) {
    uint32_t s = block.top;
    while (s != kNone && known[pieces_[slots_[s].piece].chain].least <= pieces_[slots_[s].piece].rank)
      s = slots_[s].below;
    if (s == kNone) continue;
    image += contribution(block.address, slots_[s].block.get()) -
             contribution(block.address, durable_.block(block.address));
  }
  return digest_at(0, image);
}

StateCount Epoch::count() const {
  StateCount count = 1;
  for (const Chain& chain : chains_) count *= StateCount(uint64_t{chain.length} + 1);
  return count;
}

// Each piece counts with its position on its chain, and each of its blocks with the number of versions below
// it. This orders writes that share a block or a chain, and no others.
Digest Epoch::digest() const {
  Digest digest = digest_at(0, durable_.digest());
  for (const Piece& piece : pieces_) digest += digest_of(piece);
  return digest;
}

Digest Epoch::digest_of(const Piece& piece) const {
  Digest content;
  for (const Slot& slot : slots_of(piece)) {
    content += digest_at(slot.depth, identity(blocks_[slot.block_index].address, slot.block.get()));
  }
  const uint64_t layer = mutant(Mutant::kDigestWithoutLayers) ? 0 : piece.layer;
  return digest_at((layer << 32) + piece.rank + 1, content);
}

// A write may have gaps where a later write has settled some of its blocks. It becomes several tied runs. On
// raw flash each piece becomes an event, with the serial number of its write.
Log Epoch::log_of(uint32_t first_piece, uint32_t end_piece) const {
  SISYFS_ASSERT(!model_.flash || end_piece <= frozen_pieces_ || first_piece == end_piece,
                "raw flash has no cache");
  SISYFS_ASSERT(!model_.scattered || frozen_pieces_ == 0, "no block below scattered units is undecided");
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
    const BlockAddress first = blocks_[slots_[s].block_index].address;
    run.clear();
    const uint32_t write = piece.write, in_piece = slots_[s].piece;
    // Scattered units: the last piece of a write holds all its blocks; add() makes the others from it.
    if (model_.scattered && in_piece + 1 < pieces_.size() && pieces_[in_piece + 1].write == write) {
      s = piece.first_slot + piece.slot_count;
      continue;
    }
    for (; s < end && pieces_[slots_[s].piece].write == piece.write; s++) {
      if (blocks_[slots_[s].block_index].address != first + BlockCount(run.size())) break;
      if (model_.flash && slots_[s].piece != in_piece) break;
      run.push_back(slots_[s].block);
    }
    if (layer != kNone && layer != piece.layer && !mutant(Mutant::kOneLayer)) add_cut();
    layer = piece.layer;
    const uint32_t part = model_.flash ? in_piece : write;
    const bool goes_on = std::exchange(last, part) == part;
    if (!goes_on && !mutant(Mutant::kRenumber)) log.set_next_serial(writes_[write].serial);
    if (writes_[write].discard) {
      log.add_discard(first, run, writes_[write].disk, goes_on);
    } else {
      log.add_write(first, run, {}, writes_[write].disk, goes_on);
    }
  }
  if (layer != kNone && end_piece == frozen_pieces_) add_cut();
  return log;
}

}  // namespace sisyfs
