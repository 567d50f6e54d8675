#include "disk/log.h"

#include <new>

#include "base/assert.h"
#include "disk/pool.h"

namespace sisyfs {

// Walks back along the list instead of recursing: a log may be long.
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

Event* Log::append(EventKind kind, BlockAddress first, BlockCount count) {
  const size_t blocks = kind == EventKind::kWrite || kind == EventKind::kDiscard ? count.value : 0;
  Event* event = new (pool_take(sizeof(Event) + blocks * sizeof(Block*))) Event;
  event->kind = kind;
  event->op = op_;
  event->first = first;
  event->count = count;
  event->previous_ = last_.detach();
  last_ = Ref<Event>::adopt(event);
  size_++;
  return event;
}

void Log::count_in(const Digest& event_digest) { digest_ += digest_at(effects_++, event_digest); }

void Log::add_write(BlockAddress first, std::span<BlockRef> blocks, WriteFlags flags, bool tied_to_previous) {
  SISYFS_ASSERT(!tied_to_previous || (last_ && last_->changes_blocks()), "a write is there to tie to");
  SISYFS_ASSERT(!tied_to_previous || !flags.fua, "a write of several runs is not FUA");
  Event* event = append(EventKind::kWrite, first, BlockCount(blocks.size()));
  event->flags = flags;
  event->tied_to_previous = tied_to_previous;
  add_blocks(event, blocks, {1, (flags.fua ? 1u : 0u) + (tied_to_previous ? 2u : 0u)});
}

void Log::add_discard(BlockAddress first, std::span<BlockRef> blocks, bool tied_to_previous) {
  SISYFS_ASSERT(!tied_to_previous || (last_ && last_->changes_blocks()), "a write is there to tie to");
  Event* event = append(EventKind::kDiscard, first, BlockCount(blocks.size()));
  event->tied_to_previous = tied_to_previous;
  add_blocks(event, blocks, {2, tied_to_previous});
}

// The number of blocks is part of the digest, so that one long write differs from two short ones.
void Log::add_blocks(Event* event, std::span<BlockRef> blocks, Digest content) {
  content = digest_at(blocks.size(), content);
  for (size_t i = 0; i < blocks.size(); i++) {
    content += identity(event->first + BlockCount(i), blocks[i].get());
    event->blocks()[i] = blocks[i].detach();
  }
  count_in(content);
}

void Log::add_flush() {
  append(EventKind::kFlush, {}, {});
  count_in(Digest{3, 0});
}

void Log::add_boundary(const Boundary& boundary) {
  if (boundary.kind == BoundaryKind::kOpBegin) op_ = boundary.number;
  append(EventKind::kBoundary, {}, {})->boundary = boundary;
  if (boundary.kind == BoundaryKind::kPromise) promises_++;
  if (boundary.kind == BoundaryKind::kOpEnd) op_ = kNoOp;
}

void Log::add_stray(Access access, BlockAddress first, BlockCount count) {
  append(EventKind::kStray, first, count)->access = access;
  is_misuse(access) ? misuses_++ : strays_++;
}

const std::vector<const Event*>& Log::events(std::vector<const Event*>& out) const {
  out.resize(size_);
  size_t i = size_;
  for (const Event* event = last_.get(); i > 0; event = event->previous_) out[--i] = event;
  return out;
}

}  // namespace sisyfs
