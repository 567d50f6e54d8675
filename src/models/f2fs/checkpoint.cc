// Checkpoints: how the state gets to the disk in one step, and back.
//
//   dirty data, nodes, summaries ; changed SIT and NAT blocks, each to the copy that does not count now ;
//   header, body of the other pack ; FLUSH ; footer ; FLUSH
//
// Nothing that the old checkpoint needs is written over, so until the footer is there the old one counts,
// and from then on the new one. The body says by a bit which copy of each SIT and NAT block counts.
#include <bit>

#include "models/f2fs/core.h"

namespace sisyfs::f2fs {

// Everything that is now differs in nothing from the checkpoint.
void Core::start_clean() {
  memory_.blocked = memory_.moved = memory_.lost = memory_.cut = memory_.unsynced = 0;
  memory_.checkpointed = 0;
  for (Nid nid = kRootNid; nid < static_cast<Nid>(config_.nids); ++nid) {
    if (memory_.nat[nid].address != kNoAddress) memory_.checkpointed |= only(nid);
  }
  memory_.sit_dirty = memory_.nat_dirty = 0;
  memory_.summaries_dirty = 0;
  memory_.changed = 0;
  for (unsigned s = 0; s < config_.segments; ++s) {
    if (memory_.valid[s] == 0 && !is_log_segment(s)) free_segment(s);
  }
}

void Core::write_tables() {
  for (unsigned b = 0; b < layout_.sit_blocks(); ++b) {
    if ((memory_.sit_dirty >> b & 1) == 0) continue;
    if (config_.bitmaps) memory_.sit_version = static_cast<uint16_t>(memory_.sit_version ^ 1u << b);
    SitBlock block{};
    for (unsigned e = 0; e < kTableEntries; ++e) {
      const unsigned segment = b * kTableEntries + e;
      if (segment >= config_.segments) break;
      block.entries[e].valid_map = memory_.valid[segment];
      block.entries[e].valid_count = static_cast<uint8_t>(std::popcount(memory_.valid[segment]));
    }
    write_block(layout_.sit(memory_.sit_version >> b & 1, b), &block, sizeof block);
  }
  for (unsigned b = 0; b < layout_.nat_blocks(); ++b) {
    if ((memory_.nat_dirty >> b & 1) == 0) continue;
    if (config_.bitmaps) memory_.nat_version = static_cast<uint16_t>(memory_.nat_version ^ 1u << b);
    NatBlock block{};
    std::memcpy(&block, &memory_.nat[b * kTableEntries], sizeof block);
    write_block(layout_.nat(memory_.nat_version >> b & 1, b), &block, sizeof block);
  }
}

void Core::write_pack() {
  const unsigned pack = 1 - memory_.pack;
  const PackEnd header{kHeaderMagic, memory_.version + 1}, footer{kFooterMagic, memory_.version + 1};
  PackBody body{};
  body.logs = memory_.logs;
  body.sit_version = memory_.sit_version;
  body.nat_version = memory_.nat_version;
  if (config_.bitmaps && config_.order == CheckpointOrder::kTablesLast) {
    // write_tables() is still to come, and will turn these bits.
    body.sit_version ^= memory_.sit_dirty;
    body.nat_version ^= memory_.nat_dirty;
  }
  body.used_blocks = memory_.used_blocks;
  for (const NatEntry& entry : memory_.nat)
    body.nodes = static_cast<uint16_t>(body.nodes + (entry.address != 0));

  const bool footer_first = config_.order == CheckpointOrder::kFooterFirst;
  write_block(layout_.pack(pack, 0), &header, sizeof header);
  if (footer_first)
    write_block(layout_.pack(pack, 2), &footer, sizeof footer);
  else
    write_block(layout_.pack(pack, 1), &body, sizeof body);
  if (config_.checkpoint_flush) flush_disk();
  if (footer_first)
    write_block(layout_.pack(pack, 1), &body, sizeof body);
  else
    write_block(layout_.pack(pack, 2), &footer, sizeof footer);
  flush_disk();
}

// Makes everything durable, always with a new version. What fails half-way changes nothing: the pack that
// it was writing does not count, and will be written again.
int Core::checkpoint() {
  const Memory before = memory_;
  failed_ = 0;
  for (unsigned p = 0; p < kMaxPages; ++p) {
    if (memory_.keys[p].ino != 0) flush_page(p);
  }
  for (Nid nid = kRootNid; nid < static_cast<Nid>(config_.nids); ++nid) {
    if ((memory_.dirty_nodes & only(nid)) != 0) flush_node(nid, 0);
  }
  for (unsigned log = 0; log < kLogs; ++log) {
    if ((memory_.summaries_dirty >> log & 1) == 0) continue;
    write_block(layout_.ssa(memory_.logs[log].segment), &memory_.summaries[log], sizeof(SsaBlock));
  }
  if (config_.order != CheckpointOrder::kTablesLast) write_tables();
  if (failed_ == 0) write_pack();
  if (config_.order == CheckpointOrder::kTablesLast) {
    write_tables();
    flush_disk();
  }
  if (failed_ != 0) {
    memory_ = before;
    return std::exchange(failed_, 0);
  }
  ++memory_.version;
  memory_.pack = static_cast<uint8_t>(1 - memory_.pack);
  start_clean();
  marks_ |= kCheckpointWritten;
  return 0;
}

int Core::sync() { return memory_.changed != 0 ? checkpoint() : 0; }

int Core::unmount() {
  const int error = sync();
  forget();
  return error;
}

// Whether a pack is complete, and of which version.
bool Core::read_pack(unsigned which, uint32_t* version) {
  const auto header = read_as<PackEnd>(layout_.pack(which, 0));
  const auto footer = read_as<PackEnd>(layout_.pack(which, 2));
  *version = header.version;
  return header.magic == kHeaderMagic && footer.magic == kFooterMagic && header.version == footer.version &&
         header.version != 0;
}

// The memory as the newest complete checkpoint has it. EIO if there is none.
int Core::load_checkpoint() {
  memory_ = {};
  failed_ = 0;
  uint32_t versions[2];
  const bool complete[2] = {read_pack(0, &versions[0]), read_pack(1, &versions[1])};
  if (failed_ != 0 || (!complete[0] && !complete[1])) return EIO;
  memory_.pack = complete[1] && (!complete[0] || versions[1] > versions[0]) ? 1 : 0;
  memory_.version = versions[memory_.pack];
  if (!complete[1 - memory_.pack] && versions[1 - memory_.pack] > memory_.version) marks_ |= kRolledBack;
  const auto body = read_as<PackBody>(layout_.pack(memory_.pack, 1));
  memory_.logs = body.logs;
  memory_.sit_version = body.sit_version & static_cast<uint16_t>((1u << layout_.sit_blocks()) - 1);
  memory_.nat_version = body.nat_version & static_cast<uint16_t>((1u << layout_.nat_blocks()) - 1);
  memory_.used_blocks = body.used_blocks;
  for (unsigned b = 0; b < layout_.sit_blocks(); ++b) {
    const auto block = read_as<SitBlock>(layout_.sit(memory_.sit_version >> b & 1, b));
    for (unsigned e = 0; e < kTableEntries && b * kTableEntries + e < config_.segments; ++e)
      memory_.valid[b * kTableEntries + e] = block.entries[e].valid_map & 0xF;
  }
  for (unsigned b = 0; b < layout_.nat_blocks(); ++b) {
    const auto block = read_as<NatBlock>(layout_.nat(memory_.nat_version >> b & 1, b));
    std::memcpy(&memory_.nat[b * kTableEntries], &block, sizeof block);
  }
  return std::exchange(failed_, 0);
}

bool Core::logs_are_good() const {
  uint64_t taken = 0;
  for (const LogPosition& at : memory_.logs) {
    if (at.segment >= config_.segments || at.offset >= kSegmentBlocks) return false;
    if ((taken >> at.segment & 1) != 0 || memory_.valid[at.segment] >> at.offset != 0) return false;
    taken |= uint64_t{1} << at.segment;
  }
  return true;
}

void Core::load_summaries() {
  for (unsigned log = 0; log < kLogs; ++log) {
    const LogPosition& at = memory_.logs[log];
    memory_.summaries[log] = read_as<SsaBlock>(layout_.ssa(at.segment));
    for (unsigned i = at.offset; i < kSegmentBlocks; ++i) memory_.summaries[log].entries[i] = {};
  }
}

int Core::format(Disk& disk) {
  disk_ = &disk;
  memory_ = {};
  failed_ = 0;
  for (unsigned log = 0; log < kLogs; ++log) memory_.logs[log] = {static_cast<uint8_t>(log), 0};
  for (unsigned s = kLogs; s < config_.segments; ++s) free_segment(s);
  // Nothing of an earlier life may look like a checkpoint; all tables are there from the start.
  const PackEnd none{};
  write_block(layout_.pack(0, 0), &none, sizeof none);
  write_block(layout_.pack(1, 0), &none, sizeof none);
  memory_.sit_dirty = static_cast<uint16_t>((1u << layout_.sit_blocks()) - 1);
  memory_.nat_dirty = static_cast<uint16_t>((1u << layout_.nat_blocks()) - 1);
  memory_.summaries_dirty = (1u << kLogs) - 1;
  const Nid root = new_node(NodeKind::kInode, 0, 0, true);
  memory_.nodes[root].inode.links = 2;
  memory_.nodes[root].inode.parent = kRootNid;
  const int error = checkpoint();
  marks_ = 0;
  forget();
  return error;
}

// After a mount the version is always a new one: a node that an earlier life left behind in a log can then
// never be taken for one of this life.
int Core::mount(Disk& disk) {
  disk_ = &disk;
  int error = load_checkpoint();
  if (error == 0 && !logs_are_good()) error = EIO;
  if (error == 0) {
    load_summaries();
    start_clean();
    error = roll_forward();
  }
  if (error == 0) error = checkpoint();
  if (error != 0) {
    forget();
    return error;
  }
  memory_.mounted = 1;
  return 0;
}

}  // namespace sisyfs::f2fs
