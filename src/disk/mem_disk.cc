#include "disk/mem_disk.h"

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

IoStatus MemDisk::read(BlockAddress first, std::span<std::byte> out) {
  if (!in_range(Access::kRead, first, out.size())) return IoStatus::kOutOfRange;
  state_.current.read(first, out);
  if (reads_ == nullptr) return IoStatus::kOk;
  const size_t size = state_.current.geometry().block_size;
  for (size_t at = 0; at < out.size(); at += size, first = first + BlockCount(1)) reads_->read(first);
  return IoStatus::kOk;
}

IoStatus MemDisk::write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags) {
  if (!in_range(Access::kWrite, first, bytes.size())) return IoStatus::kOutOfRange;
  if (bytes.empty()) return IoStatus::kOk;
  const size_t size = state_.current.geometry().block_size;
  scratch_.clear();
  BlockAddress address = first;
  for (size_t at = 0; at < bytes.size(); at += size, address = address + BlockCount(1)) {
    scratch_.push_back(make_block(bytes.subspan(at, size)));
    state_.current.set(address, scratch_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  state_.log.add_write(first, scratch_, flags);
  return IoStatus::kOk;
}

IoStatus MemDisk::flush() {
  state_.log.add_flush();
  return IoStatus::kOk;
}

IoStatus MemDisk::discard(BlockAddress first, BlockCount count) {
  if (!geometry().contains(first, count)) {
    state_.log.add_stray(Access::kDiscard, first, count);
    return IoStatus::kOutOfRange;
  }
  if (count.value == 0) return IoStatus::kOk;
  for (uint64_t i = 0; i < count.value; i++) {
    state_.current.set(first + BlockCount(i), {});
    if (reads_ != nullptr) reads_->written(first + BlockCount(i));
  }
  state_.log.add_discard(first, count);
  return IoStatus::kOk;
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
