// The checkpoint of the F2FS model, and making an empty one.
//
// In the right order: dirty pages go to the logs; each dirty block of the tables into the copy that the
// checkpoint in force does not use; then the header and body of the pack that is not in force; a flush; and
// last the footer, whose version number makes the pack complete; and a flush. Until the footer is there, the
// pack in force and all that it leads to are untouched.
#include <bit>
#include <cerrno>

#include "models/f2fs_core.h"

namespace sisyfs::f2fs {

void F2fs::write_tables() {
  for (unsigned b = 0; b < config_.sit_blocks(); ++b) {
    if ((m_.sit_dirty >> b & 1) == 0) continue;
    SitBlock block{};
    block.magic = 'S';
    for (unsigned i = 0; i < kPerTableBlock; ++i) {
      const uint8_t bitmap = m_.sit[b * kPerTableBlock + i];
      block.entries[i] = {static_cast<uint8_t>(std::popcount(bitmap)), bitmap};
    }
    if (config_.bitmaps) m_.sit_copies = static_cast<uint16_t>(m_.sit_copies ^ 1u << b);
    write_place(config_.sit_at(m_.sit_copies >> b & 1) + b, &block, Kind::kSit);
  }
  for (unsigned b = 0; b < kNatBlocks; ++b) {
    if ((m_.nat_dirty >> b & 1) == 0) continue;
    NatBlock block{};
    block.magic = 'T';
    for (unsigned i = 0; i < kPerTableBlock; ++i) {
      const unsigned nid = b * kPerTableBlock + i;
      block.entries[i] = {m_.nat[nid], m_.nat_ino[nid]};
    }
    if (config_.bitmaps) m_.nat_copies = static_cast<uint8_t>(m_.nat_copies ^ 1u << b);
    write_place(config_.nat_at(m_.nat_copies >> b & 1) + b, &block, Kind::kNat);
  }
  m_.sit_dirty = m_.nat_dirty = 0;
}

void F2fs::write_pack_end(char magic, uint32_t version, unsigned at, Kind kind) {
  PackEnd block{};
  block.magic = magic;
  block.version = version;
  write_place(at, &block, kind);
}

void F2fs::checkpoint() {
  marks_ |= kMarkCheckpoint;
  write_pages(kNoNid);
  const uint32_t version = m_.version + 1;
  const unsigned pack = m_.pack ^ 1u, at = config_.pack_at(pack);
  // The copies are chosen before the body that names them, whenever the tables are written.
  const uint16_t sit_dirty = m_.sit_dirty, nat_dirty = m_.nat_dirty;
  PackBody body{};
  body.magic = 'B';
  body.sit_copies = config_.bitmaps ? static_cast<uint16_t>(m_.sit_copies ^ sit_dirty) : m_.sit_copies;
  body.nat_copies = config_.bitmaps ? static_cast<uint8_t>(m_.nat_copies ^ nat_dirty) : m_.nat_copies;
  body.valid_blocks = m_.used;
  body.free_nids = static_cast<uint8_t>(free_nids() + static_cast<unsigned>(std::popcount(m_.gone)));
  std::memcpy(body.logs, m_.logs, sizeof body.logs);

  auto footer = [&] { write_pack_end('F', version, at + 2, Kind::kFooter); };
  if (config_.cp_order != CpOrder::kTablesLast) write_tables();
  if (config_.cp_order == CpOrder::kFooterFirst) footer();
  write_pack_end('H', version, at, Kind::kHeader);
  write_place(at + 1, &body, Kind::kBody);
  if (config_.cp_flush || config_.cp_order == CpOrder::kFooterFirst) flush_disk();
  if (config_.cp_order != CpOrder::kFooterFirst) {
    footer();
    flush_disk();
  }
  if (config_.cp_order == CpOrder::kTablesLast) write_tables(), flush_disk();
  if (failed_) return;

  m_.version = version;
  m_.pack = static_cast<uint8_t>(pack);
  m_.fresh = m_.moved = m_.shrunk = m_.changed = m_.gone = 0;
  find_free_segments(0);
}

int F2fs::sync() {
  checkpoint();
  return done();
}

int F2fs::unmount() {
  checkpoint();
  const int error = done();
  forget();
  return error;
}

// An empty root directory and version 1 in the first pack. The second pack is not complete.
int F2fs::format(Disk& disk) {
  forget();
  disk_ = &disk;
  std::memset(m_.nat, 0xFF, sizeof m_.nat);
  std::memset(m_.nat_ino, 0xFF, sizeof m_.nat_ino);
  for (Curseg& log : m_.logs) log.segment = kNoSegment;
  m_.pack = 1;
  m_.sit_dirty = static_cast<uint16_t>((1u << config_.sit_blocks()) - 1);
  m_.nat_dirty = (1u << kNatBlocks) - 1;
  find_free_segments(0);
  write_pack_end(0, 0, config_.pack_at(1) + 2, Kind::kFooter);
  (void)open_segment(kWarmNode);
  NodeBlock* root = new_node(kRoot, kRoot, NodeKind::kInode, 0, true);
  root->inode.type = Type::kDirectory;
  root->inode.links = 2;
  root->inode.parent = kRoot;
  checkpoint();
  const int error = done();
  forget();
  marks_ = 0;
  return error;
}

}  // namespace sisyfs::f2fs
