// What a program or an erase of raw flash puts in doubt, besides whether it was done.
//
// Raw flash writes through, so all pieces are on one chain, and a cut keeps a prefix of it. What an
// interrupted program or erase may leave is put on the chain before the piece that completes it, as contents
// that the page goes through. A prefix that ends there is the interruption. The enumerators need no special
// case for it.
//
// An erase of n pages goes through all 3^n combinations of old, unreadable and erased, in the order of the
// reflected Gray code to the base 3. This order begins with all old, ends with all erased, and changes one
// page per step. So each piece holds one page, or one run of pages where the unit is large.
#include <algorithm>
#include <array>

#include "base/assert.h"
#include "crash/epoch.h"

namespace sisyfs {
namespace {

enum EraseState : int { kOld, kUnreadable, kErasedState };

}  // namespace

void Epoch::add_flash(const Event& event) {
  const uint32_t size = durable_.geometry().block_size, unit = durable_.geometry().erase_blocks;
  if (event.kind == EventKind::kDiscard) {
    for (uint64_t i = 0; i < event.count.value; i += unit) add_erase(event.first + BlockCount(i));
    return;
  }
  for (uint64_t i = 0; i < event.count.value; i++) {
    const BlockAddress address = event.first + BlockCount(i);
    for (const BlockRef& content :
         {half_programmed(event.block(i)), unreadable_block(size), BlockRef::share(event.block(i))}) {
      begin_piece(address);
      add_slot(address, content);
    }
  }
}

// An undecided log has the pieces themselves: an event is a piece, and a tied one is a further run of it. The
// pieces of one write share its serial number.
void Epoch::add_logged_piece(const Event& event, uint64_t base) {
  const bool same_write = pieces_.size() > frozen_pieces_ && writes_.back().serial == base + event.number;
  if (!same_write) {
    add_write_record(event, base);
  } else {
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
    before_.push_back(b == kNone ? BlockRef::share(durable_.block(first + BlockCount(i)))
                                 : slots_[blocks_[b].top].block);
  }
}

void Epoch::add_erase(BlockAddress first) {
  const uint32_t size = durable_.geometry().block_size, unit = durable_.geometry().erase_blocks;
  const uint32_t parts = std::min(unit, DeviceModel::kErasePieces);
  note_before(first, unit);
  std::array<int, DeviceModel::kErasePieces> state{}, step;
  step.fill(1);
  uint32_t states = 1;
  for (uint32_t p = 0; p < parts; p++) states *= 3;
  for (uint32_t n = 1; n < states; n++) {
    uint32_t part = 0;
    for (uint32_t rest = n; rest % 3 == 0; rest /= 3) part++;
    state[part] += step[part];
    if (state[part] != kUnreadable) step[part] = -step[part];
    const uint32_t from = part * unit / parts, to = (part + 1) * unit / parts;
    begin_piece(first + BlockCount(from));
    for (uint32_t i = from; i < to; i++) {
      add_slot(first + BlockCount(i), state[part] == kOld          ? before_[i]
                                      : state[part] == kUnreadable ? unreadable_block(size)
                                                                   : filled_block(size, kErased));
    }
  }
}

}  // namespace sisyfs
