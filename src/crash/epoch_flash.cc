// What a program or an erase of raw flash puts in doubt, besides whether it was done.
//
// Raw flash writes through, so all pieces are on one chain, and a cut keeps a prefix of it. What an
// interrupted program or erase may leave is put on the chain before the piece that completes it, as contents
// that the page goes through. A prefix that ends there is the interruption. The enumerators need no special
// case for it.
// - A program of NAND: half programmed, unreadable, whole.
// - A program of NOR: unit by unit, by rising address. Units that do not change are passed over. With
//   DeviceModel::torn_bits a unit is half cleared before it is there: of the bits that it clears, each other
//   one is.
// - An erase: each page goes from its old content over what is in between to erased. In between it is
//   unreadable on NAND, and half set on NOR. With torn_bits the chip clears the page before it sets its bits,
//   as many do: the page is half cleared, zeros, half set.
//
// An erase of n pages goes through all combinations of the k contents of each, k^n, in the order of the
// reflected Gray code to the base k. As k is odd, this order begins with all old, ends with all erased, and
// changes one page per step. So each piece holds one page, or one run of pages where the unit is large. The
// first piece holds the wear of the unit too, if that is counted.
#include <algorithm>
#include <array>

#include "base/assert.h"
#include "crash/epoch.h"
#include "disk/wear.h"

namespace sisyfs {
namespace {

// The bits of `from` with each other one of those that differ from `to` changed, from the lowest on.
// `changed` counts the differing bits, so that this goes on from byte to byte.
std::byte half_way(std::byte from, std::byte to, unsigned& changed) {
  for (unsigned bit = 0; bit < 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1u << bit)};
    if (((from ^ to) & mask) != std::byte{0} && changed++ % 2 == 0) from ^= mask;
  }
  return from;
}

}  // namespace

void Epoch::add_flash(const Event& event) {
  const uint32_t unit = durable_.geometry().erase_blocks;
  if (event.kind == EventKind::kDiscard) {
    for (uint64_t i = 0; i < event.count.value; i += unit) add_erase(event.first + BlockCount(i));
    return;
  }
  for (uint64_t i = 0; i < event.count.value; i++) {
    if (durable_.geometry().is_nor())
      add_nor_program(event.first + BlockCount(i), event.block(i));
    else
      add_program(event.first + BlockCount(i), event.block(i));
  }
}

void Epoch::add_program(BlockAddress address, const Block* page) {
  if (is_readable(page)) {
    begin_piece(address);
    add_slot(address, half_programmed(page));
    begin_piece(address);
    add_slot(address, unreadable_block(durable_.geometry().block_size));
  }
  begin_piece(address);
  add_slot(address, BlockRef::share(page));
}

void Epoch::add_nor_program(BlockAddress address, const Block* page) {
  const Geometry& geometry = durable_.geometry();
  note_before(address, 1);
  if (same_content(before_[0].get(), page)) return;
  page_.resize(2 * size_t{geometry.block_size});  // as it is now, and as it will be
  const std::span<std::byte> now = std::span(page_).first(geometry.block_size);
  const std::span<std::byte> whole = std::span(page_).subspan(geometry.block_size);
  copy_bytes(before_[0].get(), now);
  copy_bytes(page, whole);
  const size_t size = geometry.flash.program_bytes;
  for (size_t at = 0; at < now.size(); at += size) {
    const auto unit = now.subspan(at, size), to = whole.subspan(at, size);
    if (std::ranges::equal(unit, to)) continue;
    if (model_.torn_bits) {
      unsigned changed = 0;
      std::ranges::transform(unit, to, unit.begin(),
                             [&](std::byte a, std::byte b) { return half_way(a, b, changed); });
      if (!std::ranges::equal(unit, to)) {  // more than one bit changes
        begin_piece(address);
        add_slot(address, make_block(now));
      }
    }
    std::ranges::copy(to, unit.begin());
    begin_piece(address);
    add_slot(address, make_block(now));
  }
}

// An undecided log has the pieces themselves: an event is a piece, and a tied one is a further run of it. The
// pieces of one write share its serial number.
void Epoch::add_logged_piece(const Event& event, uint64_t base) {
  const bool same_write = pieces_.size() > frozen_pieces_ && writes_.back().serial == base + event.number;
  if (!same_write) {
    add_write_record(event, base);
  } else if (event.first.value < durable_.geometry().block_count.value) {  // and not the wear of a unit
    Write& write = writes_.back();
    const BlockAddress end = std::max(write.first + write.count, event.first + event.count);
    write.first = std::min(write.first, event.first);
    write.count = end - write.first;
  }
  if (!event.tied_to_previous) begin_piece(event.first);
  for (uint64_t i = 0; i < event.count.value; i++)
    add_slot(event.first + BlockCount(i), BlockRef::share(event.block(i)));
}

// The first half of the new bytes, and the second half erased.
BlockRef Epoch::half_programmed(const Block* whole) {
  const uint32_t size = durable_.geometry().block_size;
  page_.assign(size, kErased);
  if (whole == nullptr)
    std::fill_n(page_.begin(), size / 2, std::byte{0});
  else
    std::copy_n(whole->bytes().begin(), size / 2, page_.begin());
  return make_block(page_);
}

bool Epoch::is_undecided(uint32_t block_index) const {
  const Slot& top = slots_[blocks_[block_index].top];
  if (top.piece >= frozen_pieces_) return false;
  for (uint32_t s = top.below; s != kNone; s = slots_[s].below)
    if (!same_content(top.block.get(), slots_[s].block.get())) return true;
  return !same_content(top.block.get(), durable_.block(blocks_[block_index].address));
}

void Epoch::note_before(BlockAddress first, uint64_t count) {
  before_.clear();
  for (uint64_t i = 0; i < count; i++) {
    const uint32_t b = find_block(first + BlockCount(i));
    SISYFS_ASSERT(b == kNone || !is_undecided(b), "the content that an interruption leaves is decided");
    before_.push_back(BlockRef::share(content_if_kept(first + BlockCount(i))));
  }
}

const Block* Epoch::content_if_kept(BlockAddress address) const {
  const uint32_t b = find_block(address);
  return b == kNone ? durable_.block(address) : slots_[blocks_[b].top].block.get();
}

void Epoch::list_erase_contents(BlockRef old) {
  const Geometry& geometry = durable_.geometry();
  const size_t first = stages_.size();
  stages_.push_back(std::move(old));
  if (geometry.is_nor()) {
    page_.resize(geometry.block_size);
    copy_bytes(stages_[first].get(), page_);
    const auto push_half_way_to = [&](std::byte to) {
      unsigned changed = 0;
      for (std::byte& byte : page_) byte = half_way(byte, to, changed);
      stages_.push_back(make_block(page_));
    };
    if (model_.torn_bits) {
      push_half_way_to(std::byte{0});
      std::ranges::fill(page_, std::byte{0});
      stages_.push_back(make_block(page_));
    }
    push_half_way_to(kErased);
  } else {
    stages_.push_back(unreadable_block(geometry.block_size));
  }
  stages_.push_back(filled_block(geometry.block_size, kErased));
}

void Epoch::add_wear(BlockAddress first) {
  const Geometry& geometry = durable_.geometry();
  if (geometry.flash.erase_cycles == 0) return;
  const BlockAddress wear = geometry.wear_of(first);
  add_slot(wear, wear_after_erase(geometry, content_if_kept(wear)));
}

void Epoch::add_erase(BlockAddress first) {
  const uint32_t unit = durable_.geometry().erase_blocks;
  const uint32_t parts = std::min(unit, DeviceModel::kErasePieces);
  note_before(first, unit);
  stages_.clear();
  for (uint32_t i = 0; i < unit; i++) list_erase_contents(std::move(before_[i]));
  const uint32_t contents = static_cast<uint32_t>(stages_.size() / unit);
  SISYFS_ASSERT(contents % 2 == 1, "the Gray code ends with all pages erased");
  std::array<int, DeviceModel::kErasePieces> state{}, step;
  step.fill(1);
  uint32_t states = 1;
  for (uint32_t p = 0; p < parts; p++) states *= contents;
  for (uint32_t n = 1; n < states; n++) {
    uint32_t part = 0;
    for (uint32_t rest = n; rest % contents == 0; rest /= contents) part++;
    state[part] += step[part];
    if (state[part] == 0 || state[part] == static_cast<int>(contents) - 1) step[part] = -step[part];
    const uint32_t from = part * unit / parts, to = (part + 1) * unit / parts;
    begin_piece(first + BlockCount(from));
    for (uint32_t i = from; i < to; i++)
      add_slot(first + BlockCount(i), stages_[i * contents + static_cast<uint32_t>(state[part])]);
    if (n == 1) add_wear(first);
  }
}

}  // namespace sisyfs
