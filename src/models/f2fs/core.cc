#include "models/f2fs/core.h"

#include <algorithm>
#include <bit>

namespace sisyfs::f2fs {

Config Config::small() {
  Config c;
  c.segments = 14;
  c.user_blocks = 18;
  c.nids = 8;
  c.dentry_blocks = 1;
  return c;
}

// Two of three blocks, of what the logs and the reserve leave: cleaning then always finds a segment worth it.
unsigned Config::capacity() const {
  if (user_blocks != 0) return user_blocks;
  const unsigned left = segments > kLogs + kReservedSegments ? segments - kLogs - kReservedSegments : 1;
  return left * kSegmentBlocks * 2 / 3;
}

// --- the disk ---

void Core::read_block(Address address, std::byte* out) {
  if (disk_->read(BlockAddress(address), {out, config_.block_size}) == IoStatus::kOk) return;
  std::memset(out, 0, config_.block_size);
  failed_ = EIO;
}

void Core::write_block(Address address, const void* bytes, size_t size) {
  std::array<std::byte, kMaxBlockSize> block;
  std::memcpy(block.data(), bytes, size);
  std::memset(block.data() + size, 0, config_.block_size - size);
  if (disk_->write(BlockAddress(address), {block.data(), config_.block_size}) != IoStatus::kOk) failed_ = EIO;
}

void Core::flush_disk() {
  if (disk_->flush() != IoStatus::kOk) failed_ = EIO;
}

// --- segments ---

void Core::set_valid(Address address) {
  const unsigned segment = layout_.segment_of(address);
  memory_.valid[segment] = static_cast<uint8_t>(memory_.valid[segment] | 1u << layout_.offset_of(address));
  memory_.sit_dirty = static_cast<uint16_t>(memory_.sit_dirty | 1u << segment / kTableEntries);
}

void Core::set_invalid(Address address) {
  if (!layout_.is_main(address)) return;
  const unsigned segment = layout_.segment_of(address);
  memory_.valid[segment] = static_cast<uint8_t>(memory_.valid[segment] & ~(1u << layout_.offset_of(address)));
  memory_.sit_dirty = static_cast<uint16_t>(memory_.sit_dirty | 1u << segment / kTableEntries);
  memory_.changed = 1;
  // The right way is to wait: the checkpoint still points to what is in there.
  if (config_.reuse != Reuse::kCheckpoint && memory_.valid[segment] == 0 && !is_log_segment(segment))
    free_segment(segment);
}

bool Core::is_log_segment(unsigned segment) const {
  for (const LogPosition& log : memory_.logs) {
    if (log.segment == segment) return true;
  }
  return false;
}

void Core::free_segment(unsigned segment) {
  if (memory_.free_segments >> segment & 1) return;
  memory_.free_segments |= uint64_t{1} << segment;
  marks_ |= kSegmentFreed;
  if (config_.reuse == Reuse::kCheckpoint) return;
  uint8_t* list = memory_.free_list.data();
  if (config_.reuse == Reuse::kLifo) {
    std::memmove(list + 1, list, memory_.free_count);
    list[0] = static_cast<uint8_t>(segment);
  } else {
    list[memory_.free_count] = static_cast<uint8_t>(segment);
  }
  ++memory_.free_count;
}

// The segment is not free any more.
void Core::withhold_segment(unsigned segment) {
  if ((memory_.free_segments >> segment & 1) == 0) return;
  memory_.free_segments &= ~(uint64_t{1} << segment);
  if (config_.reuse == Reuse::kCheckpoint) return;
  const auto end = memory_.free_list.begin() + memory_.free_count;
  *std::remove(memory_.free_list.begin(), end, static_cast<uint8_t>(segment)) = 0;
  --memory_.free_count;
}

// Gives the log a segment of its own; false if there is none.
bool Core::take_segment(Log log) {
  if (memory_.free_segments == 0) {
    if (failed_ == 0) failed_ = ENOSPC;
    return false;
  }
  const auto lowest = static_cast<unsigned>(std::countr_zero(memory_.free_segments));
  const unsigned segment = config_.reuse == Reuse::kCheckpoint ? lowest : memory_.free_list[0];
  withhold_segment(segment);
  const unsigned left = memory_.logs[log].segment;
  memory_.logs[log] = {static_cast<uint8_t>(segment), 0};
  memory_.summaries[log] = {};
  memory_.summaries_dirty = static_cast<uint8_t>(memory_.summaries_dirty & ~(1u << log));
  if (config_.reuse != Reuse::kCheckpoint && memory_.valid[left] == 0 && !is_log_segment(left))
    free_segment(left);
  return true;
}

Address Core::position(Log log) const {
  return layout_.main(memory_.logs[log].segment, memory_.logs[log].offset);
}

// Writes down whose the blocks of the log's segment are, and goes on in another segment.
void Core::leave_segment(Log log) {
  write_block(layout_.ssa(memory_.logs[log].segment), &memory_.summaries[log], sizeof(SsaBlock));
  take_segment(log);
}

// The next block of a log, valid from now on. The log has always a place for one more: so each node can say
// where the next one of its log will be.
Address Core::allocate(Log log, Nid nid, uint8_t index) {
  const Address address = position(log);
  LogPosition& at = memory_.logs[log];
  memory_.summaries[log].entries[at.offset] = {nid, index, memory_.nat[nid].version};
  memory_.summaries_dirty = static_cast<uint8_t>(memory_.summaries_dirty | 1u << log);
  memory_.changed = 1;
  set_valid(address);
  if (++at.offset == kSegmentBlocks) {
    at.offset = kSegmentBlocks - 1;  // stays in range where there is no segment left
    leave_segment(log);
  }
  return address;
}

}  // namespace sisyfs::f2fs
