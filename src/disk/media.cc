#include "disk/media.h"

#include <algorithm>
#include <cstring>

#include "base/mutant.h"

namespace sisyfs {

// Nearly all calls are for one block, and a division takes as long as the rest of a read.
bool Media::in_range(Access access, BlockAddress first, size_t bytes) {
  const Geometry& geometry = state_.current.geometry();
  const size_t size = geometry.block_size;
  if (bytes == size && first.value < geometry.block_count.value) return true;
  if (bytes % size == 0 && geometry.contains(first, BlockCount(bytes / size))) return true;
  state_.log.add_stray(access, first, BlockCount((bytes + size - 1) / size));
  return false;
}

IoStatus Media::misuse(Access access, BlockAddress first, BlockCount count) {
  state_.log.add_stray(access, first, count);
  return IoStatus::kMisuse;
}

bool Media::all_are(bool (*so)(const Block*), BlockAddress first, uint64_t count) {
  bool all = true;
  for (uint64_t i = 0; i < count && all; i++) {
    if (reads_ != nullptr) note_read(first + BlockCount(i));
    all = so(state_.current.block(first + BlockCount(i)));
  }
  return all;
}

IoStatus Media::read(BlockAddress first, std::span<std::byte> out) {
  if (!in_range(Access::kRead, first, out.size())) return IoStatus::kOutOfRange;
  if (fails()) return IoStatus::kIoError;
  const size_t size = state_.current.geometry().block_size;
  if (in_scratch_) {
    BlockAddress address = first;
    for (size_t at = 0; at < out.size(); at += size, address = address + BlockCount(1))
      std::memcpy(out.data() + at, fetch(address), size);
    return IoStatus::kOk;
  }
  if (geometry().is_flash() && !all_are(is_readable, first, out.size() / size)) return IoStatus::kIoError;
  if (reads_ != nullptr) {
    BlockAddress address = first;
    for (size_t at = 0; at < out.size(); at += size, address = address + BlockCount(1)) note_read(address);
  }
  state_.current.read(first, out);
  return IoStatus::kOk;
}

bool Media::decide(BlockAddress address, BlockRef* block) {
  return reads_->read(address) && undecided_ != nullptr && undecided_->decide(address, block);
}

void Media::note_read(BlockAddress address) {
  BlockRef block;
  if (!decide(address, &block)) return;
  const Digest before = state_.current.digest();
  state_.current.set(address, std::move(block));
  remembered_ += state_.current.digest() - before;  // it was so all the time
}

void Media::replace(BlockAddress address, BlockRef block) {
  if (remembers_ && reads_ != nullptr) note_read(address);
  state_.current.set(address, std::move(block));
}

IoStatus Media::write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags) {
  if (!in_range(Access::kWrite, first, bytes.size())) return IoStatus::kOutOfRange;
  if (bytes.empty()) return IoStatus::kOk;
  const bool failed = fails();
  if (failed && !mutant(Mutant::kFailedWrites)) return IoStatus::kIoError;
  const size_t size = state_.current.geometry().block_size;
  if (geometry().is_flash() && !all_are(is_erased, first, bytes.size() / size))
    return misuse(Access::kProgramAgain, first, BlockCount(bytes.size() / size));
  blocks_.clear();
  BlockAddress address = first;
  for (size_t at = 0; at < bytes.size(); at += size, address = address + BlockCount(1)) {
    if (in_scratch_) std::memcpy(overwrite(address), bytes.data() + at, size);
    if (keeps_log_) blocks_.push_back(make_block(bytes.subspan(at, size)));
    if (!in_scratch_) replace(address, blocks_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  if (keeps_log_) state_.log.add_write(first, blocks_, flags);
  return failed ? IoStatus::kIoError : IoStatus::kOk;
}

IoStatus Media::flush() {
  if (fails()) return IoStatus::kIoError;
  if (keeps_log_) state_.log.add_flush();
  return IoStatus::kOk;
}

IoStatus Media::discard(BlockAddress first, BlockCount count) {
  if (!geometry().contains(first, count)) {
    state_.log.add_stray(Access::kDiscard, first, count);
    return IoStatus::kOutOfRange;
  }
  if (count.value == 0) return IoStatus::kOk;
  if (fails()) return IoStatus::kIoError;
  const uint32_t unit = geometry().erase_blocks;
  if (unit != 0 && (first.value % unit != 0 || count.value % unit != 0))
    return misuse(Access::kErasePart, first, count);
  blocks_.clear();
  for (uint64_t i = 0; i < count.value; i++) {
    const BlockAddress address = first + BlockCount(i);
    blocks_.push_back(discarded(address));
    if (in_scratch_)
      copy_bytes(blocks_.back().get(), {overwrite(address), geometry().block_size});
    else
      replace(address, blocks_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  if (keeps_log_) state_.log.add_discard(first, blocks_);
  return IoStatus::kOk;
}

BlockRef Media::discarded(BlockAddress address) {
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
      // What comes of it depends on what was there.
      if (in_scratch_) return make_block({fetch(address), geometry().block_size});
      if (reads_ != nullptr) note_read(address);
      return BlockRef::share(state_.current.block(address));
    case DiscardReads::kGarbage:
      return filled_block(geometry().block_size, kRubbish);
  }
  return {};
}

// --- in scratch ---

void Media::begin_scratch(Keep keep) {
  if (geometry().is_flash()) return;
  if (!in_scratch_) scratch_.restart(geometry());
  in_scratch_ = true;
  keeps_log_ = keep == Keep::kLog;
  remembers_ = false;
}

const std::byte* Media::fetch(BlockAddress address) {
  if (const std::byte* bytes = scratch_.find(address)) return bytes;
  BlockRef decided;
  const bool was_open = reads_ != nullptr && decide(address, &decided);
  const Block* block =
      was_open && !mutant(Mutant::kScratchUnread) ? decided.get() : state_.current.block(address);
  std::byte* bytes = scratch_.add(address);
  copy_bytes(block, {bytes, geometry().block_size});
  return bytes;
}

std::byte* Media::overwrite(BlockAddress address) {
  if (remembers_ && std::ranges::find(changed_, address) == changed_.end()) {
    changed_.push_back(address);
    const std::byte* bytes = fetch(address);
    before_.insert(before_.end(), bytes, bytes + geometry().block_size);
  }
  std::byte* bytes = scratch_.find(address);
  return bytes != nullptr ? bytes : scratch_.add(address);
}

void Media::remember() {
  remembered_ = state_.current.digest();
  remembers_ = true;
  changed_.clear();
  before_.clear();
}

bool Media::has_changed() {
  if (!in_scratch_) return state_.current.digest() != remembered_;
  const size_t size = geometry().block_size;
  const size_t count = mutant(Mutant::kForgetChange) ? std::min<size_t>(changed_.size(), 1) : changed_.size();
  for (size_t i = 0; i < count; ++i)
    if (std::memcmp(scratch_.find(changed_[i]), before_.data() + i * size, size) != 0) return true;
  return false;
}

// ---

void Media::redo(const Log& log) {
  for (const Event* event : log.events(events_)) {
    if (!event->changes_blocks()) continue;
    for (uint64_t i = 0; i < event->count.value; i++)
      state_.current.set(event->first + BlockCount(i), BlockRef::share(event->block(i)));
  }
  state_.log = log;
}

}  // namespace sisyfs
