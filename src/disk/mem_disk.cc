#include "disk/mem_disk.h"

#include "base/mutant.h"

namespace sisyfs {

// Nearly all calls are for one block, and a division takes as long as the rest of a read.
bool MemDisk::in_range(Access access, BlockAddress first, size_t bytes) {
  const Geometry& geometry = state_.current.geometry();
  const size_t size = geometry.block_size;
  if (bytes == size && first.value < geometry.block_count.value) return true;
  if (bytes % size == 0 && geometry.contains(first, BlockCount(bytes / size))) return true;
  state_.log.add_stray(access, first, BlockCount((bytes + size - 1) / size));
  return false;
}

IoStatus MemDisk::misuse(Access access, BlockAddress first, BlockCount count) {
  state_.log.add_stray(access, first, count);
  return IoStatus::kMisuse;
}

bool MemDisk::all_are(bool (*so)(const Block*), BlockAddress first, uint64_t count) {
  bool all = true;
  for (uint64_t i = 0; i < count && all; i++) {
    if (reads_ != nullptr) note_read(first + BlockCount(i));
    all = so(state_.current.block(first + BlockCount(i)));
  }
  return all;
}

IoStatus MemDisk::read(BlockAddress first, std::span<std::byte> out) {
  if (!in_range(Access::kRead, first, out.size())) return IoStatus::kOutOfRange;
  if (fails()) return IoStatus::kIoError;
  const size_t size = state_.current.geometry().block_size;
  if (geometry().is_flash() && !all_are(is_readable, first, out.size() / size)) return IoStatus::kIoError;
  if (reads_ != nullptr) {
    BlockAddress address = first;
    for (size_t at = 0; at < out.size(); at += size, address = address + BlockCount(1)) note_read(address);
  }
  state_.current.read(first, out);
  return IoStatus::kOk;
}

void MemDisk::note_read(BlockAddress address) {
  if (!reads_->read(address) || undecided_ == nullptr) return;
  BlockRef block;
  if (undecided_->decide(address, &block)) state_.current.set(address, std::move(block));
}

IoStatus MemDisk::write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags) {
  if (!in_range(Access::kWrite, first, bytes.size())) return IoStatus::kOutOfRange;
  if (bytes.empty()) return IoStatus::kOk;
  const bool failed = fails();
  if (failed && !mutant(Mutant::kFailedWrites)) return IoStatus::kIoError;
  const size_t size = state_.current.geometry().block_size;
  if (geometry().is_flash() && !all_are(is_erased, first, bytes.size() / size))
    return misuse(Access::kProgramAgain, first, BlockCount(bytes.size() / size));
  scratch_.clear();
  BlockAddress address = first;
  for (size_t at = 0; at < bytes.size(); at += size, address = address + BlockCount(1)) {
    scratch_.push_back(make_block(bytes.subspan(at, size)));
    state_.current.set(address, scratch_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  state_.log.add_write(first, scratch_, flags);
  return failed ? IoStatus::kIoError : IoStatus::kOk;
}

IoStatus MemDisk::flush() {
  if (fails()) return IoStatus::kIoError;
  state_.log.add_flush();
  return IoStatus::kOk;
}

IoStatus MemDisk::discard(BlockAddress first, BlockCount count) {
  if (!geometry().contains(first, count)) {
    state_.log.add_stray(Access::kDiscard, first, count);
    return IoStatus::kOutOfRange;
  }
  if (count.value == 0) return IoStatus::kOk;
  if (fails()) return IoStatus::kIoError;
  const uint32_t unit = geometry().erase_blocks;
  if (unit != 0 && (first.value % unit != 0 || count.value % unit != 0))
    return misuse(Access::kErasePart, first, count);
  scratch_.clear();
  for (uint64_t i = 0; i < count.value; i++) {
    const BlockAddress address = first + BlockCount(i);
    scratch_.push_back(discarded(address));
    state_.current.set(address, scratch_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  state_.log.add_discard(first, scratch_);
  return IoStatus::kOk;
}

BlockRef MemDisk::discarded(BlockAddress address) {
  constexpr std::byte kRubbish{0xDB};
  if (geometry().is_flash()) {
    // An erase that is cut off leaves what was there, so that must be known.
    if (undecided_ != nullptr) note_read(address);
    return filled_block(geometry().block_size, kErased);
  }
  switch (discard_reads_) {
    case DiscardReads::kZeros:
      return {};
    case DiscardReads::kOld:
      if (reads_ != nullptr) note_read(address);  // what comes of it depends on what was there
      return BlockRef::share(state_.current.block(address));
    case DiscardReads::kGarbage:
      return filled_block(geometry().block_size, kRubbish);
  }
  return {};
}

void MemDisk::redo(const Log& log) {
  for (const Event* event : log.events(events_)) {
    if (!event->changes_blocks()) continue;
    for (uint64_t i = 0; i < event->count.value; i++)
      state_.current.set(event->first + BlockCount(i), BlockRef::share(event->block(i)));
  }
  state_.log = log;
}

}  // namespace sisyfs
