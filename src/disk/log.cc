#include "disk/log.h"

#include <new>

#include "base/assert.h"
#include "disk/pool.h"

namespace sisyfs {

// Follows the list in a loop: recursion would overflow the stack on a long log.
void Event::destroy(const Event* event) {
  while (event != nullptr) {
    const Event* previous = event->previous_;
    if (event->changes_blocks()) {
      for (uint64_t i = 0; i < event->count.value; i++) BlockRef::adopt(event->blocks()[i]);
    }
    const size_t bytes = event->bytes();
    event->~Event();
    pool_give(const_cast<Event*>(event), bytes);
    event = previous != nullptr && previous->refs.drop() ? previous : nullptr;
  }
}

Event* Log::append(EventKind kind, BlockAddress first, BlockCount count, uint32_t disk) {
  const size_t blocks = kind == EventKind::kWrite || kind == EventKind::kDiscard ? count.value : 0;
  Event* event = new (pool_take(sizeof(Event) + blocks * sizeof(Block*))) Event;
  event->kind = kind;
  event->number = next_++;
  event->disk = disk;
  event->first = first;
  event->count = count;
  event->previous_ = last_.detach();
  last_ = Ref<Event>::adopt(event);
  size_++;
  return event;
}

void Log::tie(Event* event) {
  SISYFS_ASSERT(event->previous_ != nullptr && event->previous_->changes_blocks(),
                "there is a write to tie this one to");
  event->tied_to_previous = true;
  event->number = event->previous_->number;
  next_ = event->number + 1;
}

void Log::set_next_serial(uint64_t serial) {
  if (empty()) {
    base_ = serial;
    next_ = 0;
    return;
  }
  SISYFS_ASSERT(serial >= base_ && serial - base_ < UINT32_MAX,
                "the number is one that the log can give out");
  next_ = static_cast<uint32_t>(serial - base_);
}

void Log::count_in(const Digest& event_digest) { digest_ += digest_at(effects_++, event_digest); }

void Log::add_write(BlockAddress first, std::span<BlockRef> blocks, WriteFlags flags, uint32_t disk,
                    bool tied_to_previous) {
  SISYFS_ASSERT(!tied_to_previous || !flags.fua, "a write of several runs is not FUA");
  Event* event = append(EventKind::kWrite, first, BlockCount(blocks.size()), disk);
  event->flags = flags;
  if (tied_to_previous) tie(event);
  add_blocks(event, blocks, {1, (flags.fua ? 1u : 0u) + (tied_to_previous ? 2u : 0u)});
}

void Log::add_discard(BlockAddress first, std::span<BlockRef> blocks, uint32_t disk, bool tied_to_previous) {
  Event* event = append(EventKind::kDiscard, first, BlockCount(blocks.size()), disk);
  if (tied_to_previous) tie(event);
  add_blocks(event, blocks, {2, tied_to_previous});
}

// The number of blocks is part of the digest, so that one long write differs from two short ones. The disk
// of a write follows from its address.
void Log::add_blocks(Event* event, std::span<BlockRef> blocks, Digest content) {
  content = digest_at(blocks.size(), content);
  for (size_t i = 0; i < blocks.size(); i++) {
    content += identity(event->first + BlockCount(i), blocks[i].get());
    event->blocks()[i] = blocks[i].detach();
  }
  count_in(content);
}

void Log::add_flush(uint32_t disk) {
  append(EventKind::kFlush, {}, {}, disk);
  count_in(Digest{3, disk});
}

void Log::add_boundary(const Boundary& boundary) {
  append(EventKind::kBoundary, {}, {}, 0)->boundary = boundary;
  if (boundary.kind == BoundaryKind::kPromise) promises_++;
}

void Log::add_stray(Access access, BlockAddress first, BlockCount count, uint32_t disk) {
  append(EventKind::kStray, first, count, disk)->access = access;
  is_misuse(access) ? misuses_++ : strays_++;
}

const std::vector<const Event*>& Log::events(std::vector<const Event*>& out) const {
  out.resize(size_);
  size_t i = size_;
  for (const Event* event = last_.get(); i > 0; event = event->previous_) out[--i] = event;
  return out;
}

}  // namespace sisyfs
