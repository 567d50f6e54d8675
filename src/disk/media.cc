#include "disk/media.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/mutant.h"
#include "disk/wear.h"

namespace sisyfs {

// One of the disks from 1 on: adds its number to each access.
class MediaDisk final : public Disk {
 public:
  MediaDisk(Media& media, uint32_t number) : media_(media), number_(number) {}

  const Geometry& geometry() const override { return media_.geometry(); }
  IoStatus read(BlockAddress first, std::span<std::byte> out) override {
    return media_.read_on(number_, first, out);
  }
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags = {}) override {
    return media_.write_on(number_, first, bytes, flags);
  }
  IoStatus flush() override { return media_.flush_on(number_); }
  IoStatus discard(BlockAddress first, BlockCount count) override {
    return media_.discard_on(number_, first, count);
  }
  void note(const Boundary& boundary) override { media_.note(boundary); }

 private:
  Media& media_;
  uint32_t number_;
};

Disk& Media::disk(uint32_t number) {
  SISYFS_ASSERT(number < state_.current.geometry().disks, "there is a disk with this number");
  if (number == 0) return *this;
  while (others_.list.size() < number)
    others_.list.push_back(
        std::make_unique<MediaDisk>(*this, static_cast<uint32_t>(others_.list.size() + 1)));
  return *others_.list[number - 1];
}

// Nearly all calls are for one block, and a division takes as long as the rest of a read.
bool Media::in_range(Access access, uint32_t disk, BlockAddress first, size_t bytes) {
  const size_t size = one_disk_.block_size;
  if (bytes == size && first.value < one_disk_.block_count.value) return true;
  if (bytes % size == 0 && one_disk_.contains(first, BlockCount(bytes / size))) return true;
  state_.log.add_stray(access, first, BlockCount((bytes + size - 1) / size), disk);
  return false;
}

IoStatus Media::misuse(Access access, uint32_t disk, BlockAddress first, BlockCount count) {
  state_.log.add_stray(access, first, count, disk);
  return IoStatus::kMisuse;
}

bool Media::all_are(bool (*predicate)(const Block*), BlockAddress first, uint64_t count) {
  bool all = true;
  for (uint64_t i = 0; i < count && all; i++) {
    if (reads_ != nullptr) note_read(first + BlockCount(i));
    all = predicate(state_.current.block(first + BlockCount(i)));
  }
  return all;
}

IoStatus Media::read_on(uint32_t disk, BlockAddress first, std::span<std::byte> out) {
  if (!in_range(Access::kRead, disk, first, out.size())) return IoStatus::kOutOfRange;
  if (fails()) return IoStatus::kIoError;
  add_base(disk, first);
  const size_t size = one_disk_.block_size;
  if (in_scratch_) {
    BlockAddress address = first;
    for (size_t at = 0; at < out.size(); at += size, address = address + BlockCount(1))
      std::memcpy(out.data() + at, fetch(address), size);
    return IoStatus::kOk;
  }
  if (one_disk_.is_flash() && !all_are(is_readable, first, out.size() / size))
    return IoStatus::kUncorrectable;
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
  // The block had this content before remember() too, so it is no change.
  remembered_ += state_.current.digest() - before;
}

void Media::replace(BlockAddress address, BlockRef block) {
  if (remembers_ && reads_ != nullptr) note_read(address);
  state_.current.set(address, std::move(block));
}

IoStatus Media::write_on(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes,
                         WriteFlags flags) {
  if (!in_range(Access::kWrite, disk, first, bytes.size())) return IoStatus::kOutOfRange;
  if (bytes.empty()) return IoStatus::kOk;
  const bool failed = write_fails();
  if (failed && !mutant(Mutant::kFailedWrites)) return IoStatus::kIoError;
  const size_t size = one_disk_.block_size;
  add_base(disk, first);
  if (one_disk_.is_flash()) {
    const IoStatus status = program(disk, first, bytes, flags);
    return failed ? IoStatus::kIoError : status;
  }
  blocks_.clear();
  BlockAddress address = first;
  for (size_t at = 0; at < bytes.size(); at += size, address = address + BlockCount(1)) {
    if (in_scratch_) std::memcpy(overwrite(address), bytes.data() + at, size);
    if (keeps_log_) blocks_.push_back(make_block(bytes.subspan(at, size)));
    if (!in_scratch_) replace(address, blocks_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  if (keeps_log_) state_.log.add_write(first, blocks_, flags, disk);
  return failed ? IoStatus::kIoError : IoStatus::kOk;
}

IoStatus Media::flush_on(uint32_t disk) {
  if (write_fails()) return IoStatus::kIoError;
  if (keeps_log_) state_.log.add_flush(disk);
  return IoStatus::kOk;
}

IoStatus Media::discard_on(uint32_t disk, BlockAddress first, BlockCount count) {
  if (!one_disk_.contains(first, count)) {
    state_.log.add_stray(Access::kDiscard, first, count, disk);
    return IoStatus::kOutOfRange;
  }
  if (count.value == 0) return IoStatus::kOk;
  if (write_fails()) return IoStatus::kIoError;
  const uint32_t unit = one_disk_.erase_blocks;
  if (unit != 0 && (first.value % unit != 0 || count.value % unit != 0))
    return misuse(Access::kErasePart, disk, first, count);
  add_base(disk, first);
  if (one_disk_.flash.units_go_bad) return erase(disk, first, count);
  log_discard(disk, first, count);
  return IoStatus::kOk;
}

void Media::log_discard(uint32_t disk, BlockAddress first, BlockCount count) {
  blocks_.clear();
  for (uint64_t i = 0; i < count.value; i++) {
    const BlockAddress address = first + BlockCount(i);
    blocks_.push_back(discarded(address));
    if (in_scratch_)
      copy_bytes(blocks_.back().get(), {overwrite(address), one_disk_.block_size});
    else
      replace(address, blocks_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  if (keeps_log_) state_.log.add_discard(first, blocks_, disk);
}

BlockRef Media::discarded(BlockAddress address) {
  constexpr std::byte kGarbageByte{0xDB};
  if (one_disk_.is_flash()) {
    // An interrupted erase may leave the old content, so it must be decided.
    if (undecided_ != nullptr) note_read(address);
    return filled_block(one_disk_.block_size, kErased);
  }
  switch (discard_reads_) {
    case DiscardReads::kZeros:
      return {};
    case DiscardReads::kOld:
      // The log depends on the old content, so this is a read.
      if (in_scratch_) return make_block({fetch(address), one_disk_.block_size});
      if (reads_ != nullptr) note_read(address);
      return BlockRef::share(state_.current.block(address));
    case DiscardReads::kGarbage:
      return filled_block(one_disk_.block_size, kGarbageByte);
  }
  return {};
}

// --- raw flash ---

bool Media::is_bad_unit(BlockAddress page) {
  const Geometry& geometry = state_.current.geometry();
  const BlockAddress wear = geometry.wear_of(page);
  if (reads_ != nullptr) note_read(wear);
  return is_bad(geometry, state_.current.block(wear));
}

// Where units may be bad, pages are programmed one by one. The first that is refused ends the call.
IoStatus Media::program(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes,
                        WriteFlags flags) {
  if (!one_disk_.flash.units_go_bad) return program_pages(disk, first, bytes, flags, false);
  const size_t size = one_disk_.block_size;
  for (size_t at = 0; at < bytes.size(); at += size, first = first + BlockCount(1)) {
    const BadUnit does = one_disk_.flash.bad_unit;
    const bool bad = is_bad_unit(first);
    if (bad && does == BadUnit::kRefusesProgram) return IoStatus::kIoError;
    if (bad && does == BadUnit::kIgnoresProgram) continue;
    const bool seems_erased = bad && does == BadUnit::kIgnoresErase;
    const IoStatus status = program_pages(disk, first, bytes.subspan(at, size), flags, seems_erased);
    if (status != IoStatus::kOk) return status;
  }
  return IoStatus::kOk;
}

// `seems_erased`: the target was told that these pages are erased, and they need not be.
IoStatus Media::program_pages(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes,
                              WriteFlags flags, bool seems_erased) {
  const size_t size = one_disk_.block_size;
  const uint64_t count = bytes.size() / size;
  const BlockAddress on_disk(first.value - disk * one_disk_.block_count.value);
  const bool nor = one_disk_.is_nor();
  if (!nor && !all_are(is_erased, first, count) && !seems_erased)
    return misuse(Access::kProgramAgain, disk, on_disk, BlockCount(count));
  blocks_.clear();
  bool asks_too_much = false;
  for (uint64_t i = 0; i < count; ++i) {
    const BlockAddress address = first + BlockCount(i);
    const auto page = bytes.subspan(i * size, size);
    if (nor && reads_ != nullptr) note_read(address);
    const Block* old = state_.current.block(address);
    asks_too_much = asks_too_much || (nor && !seems_erased && asks_for_bits(old, page));
    blocks_.push_back(nor                               ? programmed_over(old, page)
                      : seems_erased && !is_erased(old) ? unreadable_block(one_disk_.block_size)
                                                        : make_block(page));
    replace(address, blocks_.back());
    if (reads_ != nullptr) reads_->written(address);
  }
  if (keeps_log_) state_.log.add_write(first, blocks_, flags, disk);
  if (asks_too_much) state_.log.add_stray(Access::kSetBits, on_disk, BlockCount(count), disk);
  return IoStatus::kOk;
}

// Units are erased one by one. The first that refuses ends the call.
IoStatus Media::erase(uint32_t disk, BlockAddress first, BlockCount count) {
  const BlockCount unit(one_disk_.erase_blocks);
  for (uint64_t i = 0; i < count.value; i += unit.value, first = first + unit) {
    const BadUnit does = one_disk_.flash.bad_unit;
    const bool bad = is_bad_unit(first);
    if (bad && does == BadUnit::kRefusesErase) return IoStatus::kIoError;
    if (bad && does == BadUnit::kIgnoresErase) continue;
    log_discard(disk, first, unit);
    add_wear(first, unit);
  }
  return IoStatus::kOk;
}

void Media::add_wear(BlockAddress first, BlockCount count) {
  const Geometry& geometry = state_.current.geometry();
  for (uint64_t i = 0; i < count.value; i += geometry.erase_blocks) {
    const BlockAddress wear = geometry.wear_of(first + BlockCount(i));
    replace(wear, wear_after_erase(geometry, state_.current.block(wear)));
  }
}

// --- in scratch ---

void Media::begin_scratch(Keep keep) {
  if (one_disk_.is_flash()) return;
  if (!in_scratch_) scratch_.restart(state_.current.geometry());
  in_scratch_ = true;
  keeps_log_ = keep == Keep::kLog;
  remembers_ = false;
}

const std::byte* Media::fetch(BlockAddress address) {
  if (const std::byte* bytes = scratch_.find(address)) return bytes;
  BlockRef decided;
  const bool was_undecided = reads_ != nullptr && decide(address, &decided);
  const Block* block =
      was_undecided && !mutant(Mutant::kScratchUnread) ? decided.get() : state_.current.block(address);
  std::byte* bytes = scratch_.add(address);
  copy_bytes(block, {bytes, one_disk_.block_size});
  return bytes;
}

std::byte* Media::overwrite(BlockAddress address) {
  if (remembers_ && std::ranges::find(changed_, address) == changed_.end()) {
    changed_.push_back(address);
    const std::byte* bytes = fetch(address);
    before_.insert(before_.end(), bytes, bytes + one_disk_.block_size);
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
  const size_t size = one_disk_.block_size;
  const size_t count = mutant(Mutant::kForgetChange) ? std::min<size_t>(changed_.size(), 1) : changed_.size();
  for (size_t i = 0; i < count; ++i)
    if (std::memcmp(scratch_.find(changed_[i]), before_.data() + i * size, size) != 0) return true;
  return false;
}

// ---

void Media::redo(const Log& log) {
  SISYFS_ASSERT(state_.log.empty(), "a log is applied to a state without one");
  for (const Event* event : log.events(events_)) {
    if (!event->changes_blocks()) continue;
    for (uint64_t i = 0; i < event->count.value; i++)
      state_.current.set(event->first + BlockCount(i), BlockRef::share(event->block(i)));
    if (event->kind == EventKind::kDiscard && one_disk_.flash.units_go_bad)
      add_wear(event->first, event->count);
  }
  const uint64_t next_serial = state_.log.next_serial();
  state_.log = log;
  state_.log.rebase(next_serial);
}

}  // namespace sisyfs
