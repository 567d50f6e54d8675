// Room in the logs: how much an op will take, and cleaning where there is too little.
//
// An op may only begin if the logs can take all that it writes, and all that is dirty by then, and some
// segments are left. So a checkpoint is possible at any time, and with it cleaning: a segment is emptied by
// writing its valid blocks again (data to the cold log at once, nodes with the checkpoint), and is free
// after the checkpoint. Until then the old checkpoint may still need it.
#include <bit>

#include "models/f2fs/core.h"

namespace sisyfs::f2fs {

void Core::count_dirty(Needs& needs) {
  NidSet nodes = memory_.dirty_nodes;
  for (const PageKey& key : memory_.keys) {
    if (key.ino == 0) continue;
    ++needs[key.log];
    // A page that is written makes the node dirty that points to it.
    const Slot slot = slot_of(key.ino, key.block);
    if (slot.nid == 0 || slot.nid >= config_.nids || (nodes & only(slot.nid)) != 0) continue;
    nodes |= only(slot.nid);
    ++needs[log_of(node(slot.nid))];
  }
  for (Nid nid = kRootNid; nid < static_cast<Nid>(config_.nids); ++nid) {
    if ((memory_.dirty_nodes & only(nid)) != 0) ++needs[log_of(memory_.nodes[nid])];
  }
}

unsigned Core::segments_for(const Needs& needs) const {
  unsigned segments = 0;
  for (unsigned log = 0; log < kLogs; ++log)
    segments += (memory_.logs[log].offset + needs[log]) / kSegmentBlocks;
  return segments;
}

unsigned Core::free_segments() const { return static_cast<unsigned>(std::popcount(memory_.free_segments)); }

// Whether a checkpoint would free a segment.
bool Core::any_to_free() const {
  if (config_.reuse != Reuse::kCheckpoint) return false;
  for (unsigned s = 0; s < config_.segments; ++s) {
    if (memory_.valid[s] == 0 && (memory_.free_segments >> s & 1) == 0 && !is_log_segment(s)) return true;
  }
  return false;
}

// The segment with the fewest valid blocks, or `segments` if none is worth moving.
unsigned Core::victim() const {
  unsigned best = config_.segments;
  int least = kSegmentBlocks;
  for (unsigned s = 0; s < config_.segments; ++s) {
    const int valid = std::popcount(memory_.valid[s]);
    if (valid == 0 || valid >= least || is_log_segment(s)) continue;
    least = valid;
    best = s;
  }
  return best;
}

// Empties a segment. False if the logs cannot take its blocks, or if the summaries do not lead to owners.
bool Core::move_segment(unsigned segment) {
  const auto summaries = read_as<SsaBlock>(layout_.ssa(segment));
  const bool was_dirty = memory_.dirty_nodes != 0;
  Needs needs{};
  count_dirty(needs);
  const auto valid = static_cast<unsigned>(std::popcount(memory_.valid[segment]));
  for (unsigned i = 0; i < kSegmentBlocks; ++i) {
    if ((memory_.valid[segment] >> i & 1) == 0) continue;
    const Summary& owner = summaries.entries[i];
    if (owner.nid == 0 || owner.nid >= config_.nids || memory_.nat[owner.nid].version != owner.version) {
      failed_ = EIO;
      return false;
    }
    if ((memory_.dirty_nodes & only(owner.nid)) == 0) ++needs[log_of(node(owner.nid))];
  }
  needs[kColdData] += valid;
  if (failed_ != 0 || segments_for(needs) > free_segments()) return false;

  for (unsigned i = 0; i < kSegmentBlocks; ++i) {
    if ((memory_.valid[segment] >> i & 1) == 0) continue;
    const Summary& owner = summaries.entries[i];
    const Address address = layout_.main(segment, i);
    if (owner.index == kIsNode) {
      if (memory_.nat[owner.nid].address != address) failed_ = EIO;
      if (failed_ != 0) return false;
      edit(owner.nid);
      set_invalid(address);
      memory_.nat[owner.nid].address = kNewAddress;
      continue;
    }
    const Slot slot{owner.nid, owner.index};
    if (pointer(slot) != address && failed_ == 0) failed_ = EIO;
    const Node holder = node(owner.nid);
    const Nid ino = memory_.nat[owner.nid].ino;
    const unsigned page = find_page(ino, first_block_of(holder.footer.offset) + owner.index);
    if (failed_ != 0) return false;
    if (page < kMaxPages) {
      flush_page(page);
      continue;
    }
    std::array<std::byte, kMaxBlockSize> bytes;
    read_block(address, bytes.data());
    const Address moved = allocate(kColdData, slot.nid, slot.index);
    write_block(moved, bytes.data(), config_.block_size);
    set_invalid(address);
    set_pointer(slot, moved);
  }
  marks_ |= kCleaned;
  if (was_dirty) marks_ |= kCleanedDirty;
  return failed_ == 0;
}

// Cleans until the logs can take `needs`, all that is dirty, and `reserve` segments are left.
bool Core::make_room(const Needs& needs, unsigned reserve) {
  for (unsigned tries = 0; tries < 4 * config_.segments; ++tries) {
    Needs all = needs;
    count_dirty(all);
    if (failed_ != 0) return false;
    if (segments_for(all) + reserve <= free_segments()) return true;
    if (any_to_free()) {
      if (checkpoint() != 0) return false;
      continue;
    }
    const unsigned segment = victim();
    if (segment == config_.segments) return false;
    // A move that fails half-way is taken back: what was written is not pointed to.
    const Memory before = memory_;
    if (!move_segment(segment)) {
      memory_ = before;
      return false;
    }
  }
  return false;
}

// Room for an op: blocks of the capacity, nids, and room in the logs. An op that `must` go on (a removal, a
// sync) may use the reserve.
int Core::reserve(const Needs& needs, unsigned blocks, unsigned nids, bool must) {
  failed_ = 0;
  if (blocks != 0 && memory_.used_blocks + blocks > config_.capacity()) {
    marks_ |= kDiskFull;
    return ENOSPC;
  }
  if (nids != 0) {
    unsigned unused = 0, usable = 0;
    for (Nid nid = kRootNid; nid < static_cast<Nid>(config_.nids); ++nid) {
      if (memory_.nat[nid].address != kNoAddress) continue;
      ++unused;
      if ((memory_.blocked & only(nid)) == 0) ++usable;
    }
    if (unused < nids) {
      marks_ |= kNidsUsedUp;
      return ENOSPC;
    }
    if (usable < nids) {
      if (const int error = checkpoint()) return error;
    }
  }
  if (make_room(needs, must ? 0 : kReservedSegments)) return 0;
  if (failed_ != 0 && failed_ != ENOSPC) return std::exchange(failed_, 0);
  failed_ = 0;
  marks_ |= kDiskFull;
  return ENOSPC;
}

// In the middle of an op that has room for the rest of it: makes more, so that the reserve is left. A
// checkpoint that is written on the way holds a part of the op, and there is no way back behind it.
void Core::balance(const Needs& rest) {
  const uint32_t version = memory_.version, marks = std::exchange(marks_, 0);
  if (!make_room(rest, kReservedSegments) && failed_ == ENOSPC) failed_ = 0;
  if ((marks_ & kCleaned) != 0) marks_ |= kCleanedInOp;
  marks_ |= marks;
  if (memory_.version == version) return;
  marks_ |= kCheckpointInOp;
  backup_ = memory_;
}

int Core::end() {
  if (failed_ != 0) memory_ = backup_;
  return std::exchange(failed_, 0);
}

}  // namespace sisyfs::f2fs
