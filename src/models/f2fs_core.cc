#include "models/f2fs_core.h"

#include <bit>
#include <cerrno>

#include "base/assert.h"

namespace sisyfs::f2fs {

void F2fs::forget() {
  std::memset(static_cast<void*>(&m_), 0, sizeof m_);
  disk_ = nullptr;
  failed_ = false;
}

int F2fs::done() { return std::exchange(failed_, false) ? EIO : 0; }

bool F2fs::read_place(unsigned at, void* out) {
  const std::span<std::byte> bytes(static_cast<std::byte*>(out), kBlockBytes);
  const bool good = disk_->read(BlockAddress(at), bytes) == IoStatus::kOk;
  failed_ |= !good;
  return good;
}

bool F2fs::read_main(Blk at, void* out) { return read_place(config_.main_at() + at, out); }

void F2fs::write_place(unsigned at, const void* bytes, Kind kind) {
  const std::span<const std::byte> block(static_cast<const std::byte*>(bytes), kBlockBytes);
  const WriteFlags flags{.fua = false, .block_kind = static_cast<BlockKind>(kind)};
  failed_ |= disk_->write(BlockAddress(at), block, flags) != IoStatus::kOk;
}

void F2fs::flush_disk() { failed_ |= disk_->flush() != IoStatus::kOk; }

// Segments.

bool F2fs::is_current(unsigned segment) const {
  for (const Curseg& log : m_.logs) {
    if (log.segment == segment) return true;
  }
  return false;
}

void F2fs::set_valid(Blk at, bool on) {
  const unsigned segment = at / kSegmentBlocks;
  const auto bit = static_cast<uint8_t>(1u << (at % kSegmentBlocks));
  m_.sit[segment] = static_cast<uint8_t>(on ? m_.sit[segment] | bit : m_.sit[segment] & ~bit);
  m_.sit_dirty = static_cast<uint16_t>(m_.sit_dirty | 1u << (segment / kPerTableBlock));
}

unsigned F2fs::free_segments() const { return static_cast<unsigned>(std::popcount(m_.free_segments)); }

void F2fs::release(unsigned segment) {
  m_.free_segments |= uint64_t{1} << segment;
  if (config_.reuse == Reuse::kCheckpoint) return;
  uint8_t* const list = m_.free_list;
  if (config_.reuse == Reuse::kLifo) {
    std::memmove(list + 1, list, m_.free_listed);
    list[0] = static_cast<uint8_t>(segment);
  } else {
    list[m_.free_listed] = static_cast<uint8_t>(segment);
  }
  ++m_.free_listed;
}

// Segments that hold nothing, are no log's and are not to be left alone become free. From the last to the
// first, so that a list that is used from its front begins with the lowest.
void F2fs::find_free_segments(uint64_t except) {
  for (unsigned i = 0; i < config_.segments; ++i) {
    const unsigned segment = config_.reuse == Reuse::kLifo ? config_.segments - 1 - i : i;
    const uint64_t bit = uint64_t{1} << segment;
    if (m_.sit[segment] != 0 || ((m_.free_segments | except) & bit) != 0 || is_current(segment)) continue;
    release(segment);
  }
}

// Gives the log its next segment: the lowest free one, or the front of the list.
bool F2fs::open_segment(Log log) {
  if (m_.free_segments == 0) return failed_ = true, false;
  auto segment = static_cast<unsigned>(std::countr_zero(m_.free_segments));
  if (config_.reuse != Reuse::kCheckpoint) {
    segment = m_.free_list[0];
    --m_.free_listed;
    std::memmove(m_.free_list, m_.free_list + 1, m_.free_listed);
    m_.free_list[m_.free_listed] = 0;
  }
  m_.free_segments &= ~(uint64_t{1} << segment);
  m_.logs[log] = {};
  m_.logs[log].segment = static_cast<uint8_t>(segment);
  Block first{};
  if (read_main(static_cast<Blk>(segment * kSegmentBlocks), &first) && first[0] != std::byte{})
    marks_ |= kMarkReused;
  return true;
}

void F2fs::write_summary(unsigned segment, const Summary* entries) {
  SsaBlock block{};
  block.magic = 'A';
  std::memcpy(block.entries, entries, sizeof block.entries);
  write_place(config_.ssa_at() + segment, &block, Kind::kSsa);
}

// The next block of a log. The summary of a segment goes to the SSA when the segment is full. The warm node
// log then has its next segment at once: its blocks say where the log goes on.
Blk F2fs::take_block(Log log, Summary owner) {
  Curseg& current = m_.logs[log];
  if (current.segment == kNoSegment && !open_segment(log)) return kNoBlk;
  const unsigned segment = current.segment;
  const auto at = static_cast<Blk>(segment * kSegmentBlocks + current.next);
  current.summary[current.next++] = owner;
  set_valid(at, true);
  if (current.next == kSegmentBlocks) {
    write_summary(segment, current.summary);
    current = {};
    current.segment = kNoSegment;
    if (log == kWarmNode && !open_segment(log)) return kNoBlk;
  }
  return at;
}

// A block that is not used any more. Its segment may only be written again when no checkpoint needs it; that
// this is after the next checkpoint and not at once is what the wrong values of `reuse` leave out.
void F2fs::drop_block(Blk at) {
  if (!in_main(at)) return;
  set_valid(at, false);
  const unsigned segment = at / kSegmentBlocks;
  if (config_.reuse != Reuse::kCheckpoint && m_.sit[segment] == 0 && !is_current(segment) &&
      (m_.free_segments >> segment & 1) == 0)
    release(segment);
}

// Pages.

unsigned F2fs::dirty_pages() const {
  unsigned count = 0;
  for (const PageKey key : m_.keys) count += key != 0;
  return count;
}

int F2fs::page_of(PageKey key) const {
  for (unsigned i = 0; i < kPages; ++i) {
    if (m_.keys[i] == key) return static_cast<int>(i);
  }
  return -1;
}

void* F2fs::add_page(PageKey key) {
  const int free = page_of(0);
  SISYFS_ASSERT(free >= 0, "an op begins with enough free pages");
  m_.keys[free] = key;
  return m_.pages[free].data();
}

void F2fs::drop_page(PageKey key) {
  const int page = page_of(key);
  if (page < 0) return;
  m_.keys[page] = 0;
  m_.pages[page] = {};
}

void F2fs::write_data_page(PageKey key) {
  const int page = page_of(key);
  const Block bytes = m_.pages[page];
  drop_page(key);
  store(nid_of(key), index_of(key), &bytes);
}

// Data before the nodes, because writing data changes the node that names it.
void F2fs::write_pages(Nid ino) {
  for (unsigned i = 0; i < kPages; ++i) {
    const PageKey key = m_.keys[i];
    if (key != 0 && !is_node(key) && (ino == kNoNid || nid_of(key) == ino)) write_data_page(key);
  }
  for (unsigned i = 0; i < kPages; ++i) {
    const PageKey key = m_.keys[i];
    if (key != 0 && is_node(key) && (ino == kNoNid || m_.nat_ino[nid_of(key)] == ino))
      write_node(nid_of(key), false, false, false);
  }
}

// Nodes.

// What the NAT leads to, which has to be that node.
bool F2fs::read_node(Nid nid, NodeBlock* out) {
  if (nid >= kNids) return failed_ = true, false;
  if (const int page = page_of(node_key(nid)); page >= 0) {
    std::memcpy(out, m_.pages[page].data(), kBlockBytes);
    return true;
  }
  if (!in_main(m_.nat[nid]) || !read_main(m_.nat[nid], out)) return failed_ = true, false;
  if (out->footer.magic != 'N' || out->footer.nid != nid) return failed_ = true, false;
  return true;
}

NodeBlock* F2fs::edit_node(Nid nid) {
  const int page = nid < kNids ? page_of(node_key(nid)) : -1;
  NodeBlock* node = nullptr;
  if (page >= 0) {
    node = reinterpret_cast<NodeBlock*>(m_.pages[page].data());
  } else {
    NodeBlock read;
    if (!read_node(nid, &read)) return nullptr;
    node = static_cast<NodeBlock*>(add_page(node_key(nid)));
    *node = read;
  }
  m_.changed = static_cast<uint16_t>(m_.changed | bit_of(nid) | bit_of(m_.nat_ino[nid]));
  return node;
}

unsigned F2fs::free_nids() const {
  unsigned count = 0;
  for (unsigned n = 0; n < kNids; ++n) count += m_.nat[n] == kNoBlk && (m_.gone >> n & 1) == 0;
  return count;
}

Nid F2fs::take_nid() const {
  for (unsigned n = 0; n < kNids; ++n) {
    if (m_.nat[n] == kNoBlk && (m_.gone >> n & 1) == 0) return static_cast<Nid>(n);
  }
  return kNoNid;
}

NodeBlock* F2fs::new_node(Nid nid, Nid ino, NodeKind kind, unsigned offset, bool directory) {
  SISYFS_ASSERT(nid < kNids, "an op begins with enough free nids");
  m_.nat[nid] = kNewBlk;
  m_.nat_ino[nid] = ino;
  m_.nat_dirty = static_cast<uint16_t>(m_.nat_dirty | 1u << (nid / kPerTableBlock));
  m_.changed = static_cast<uint16_t>(m_.changed | bit_of(nid) | bit_of(ino));
  ++m_.used;
  auto* node = static_cast<NodeBlock*>(add_page(node_key(nid)));
  *node = {};
  node->footer = {'N', kind, nid, ino, static_cast<uint8_t>(offset), 0, 0, directory, 0, kNoBlk};
  if (kind == NodeKind::kInode) {
    node->inode.data[0] = node->inode.data[1] = kNoBlk;
    node->inode.direct = node->inode.indirect = kNoNid;
  } else if (kind == NodeKind::kDirect) {
    for (Blk& at : node->data) at = kNoBlk;
  } else {
    for (Nid& n : node->nodes) n = kNoNid;
  }
  return node;
}

// A nid that was freed is not given out before the next checkpoint: until then a roll-back brings its old
// owner back, and a roll-forward must not take one for the other.
void F2fs::free_node(Nid nid) {
  drop_page(node_key(nid));
  drop_block(m_.nat[nid]);
  m_.nat[nid] = kNoBlk;
  m_.nat_ino[nid] = kNoNid;
  m_.nat_dirty = static_cast<uint16_t>(m_.nat_dirty | 1u << (nid / kPerTableBlock));
  m_.gone = static_cast<uint16_t>(m_.gone | bit_of(nid));
  const auto keep = static_cast<uint16_t>(~bit_of(nid));
  m_.fresh &= keep, m_.moved &= keep, m_.shrunk &= keep, m_.changed &= keep, m_.open &= keep;
  --m_.used;
}

void F2fs::write_node(Nid nid, bool warm, bool fsync, bool dentry) {
  const int page = page_of(node_key(nid));
  NodeBlock node;
  std::memcpy(&node, m_.pages[page].data(), sizeof node);
  Log log = kWarmNode;
  if (!warm && node.footer.kind == NodeKind::kIndirect) log = kColdNode;
  if (!warm && node.footer.kind != NodeKind::kIndirect && node.footer.directory != 0) log = kHotNode;
  const Blk old = m_.nat[nid];
  const Blk at = take_block(log, {nid, kNodeItself});
  if (at == kNoBlk) return;
  node.footer.version = m_.version;
  node.footer.fsync = fsync;
  node.footer.dentry = dentry;
  const Curseg& warm_log = m_.logs[kWarmNode];
  node.footer.next =
      log == kWarmNode ? static_cast<Blk>(warm_log.segment * kSegmentBlocks + warm_log.next) : kNoBlk;
  write_place(config_.main_at() + at, &node, Kind::kNode);
  drop_page(node_key(nid));
  m_.nat[nid] = at;
  m_.nat_dirty = static_cast<uint16_t>(m_.nat_dirty | 1u << (nid / kPerTableBlock));
  drop_block(old);
}

// Room.

// Enough for the pages that are dirty and for what the op adds: whole segments, one begun in each of the five
// logs that ops write to, and four more so that garbage can be collected afterwards. With `must` the op goes
// on where even that cannot be had: it frees more than it takes.
bool F2fs::make_room(unsigned blocks, unsigned nids, bool must) {
  if (m_.used + blocks > config_.user_blocks() && !must) return marks_ |= kMarkNoSpace, false;
  if (free_nids() < nids && m_.gone != 0) checkpoint();
  if (free_nids() < nids) return marks_ |= kMarkNoSpace, false;
  if (kPages - dirty_pages() < kPagesForOp) write_pages(kNoNid);
  const unsigned more = blocks + kPagesForOp;
  auto enough = [&] {
    return free_segments() >= (dirty_pages() + more + kSegmentBlocks - 1) / kSegmentBlocks + 5 + 4;
  };
  if (enough()) return true;
  checkpoint();
  for (unsigned tries = 2 * config_.segments; !enough() && !failed_ && tries > 0; --tries) {
    if (!collect_garbage()) break;
  }
  if (enough() || must) return true;
  return marks_ |= kMarkNoSpace, false;
}

// Moves what is valid out of the segment that has least of it. The checkpoint that follows makes the segment
// free, and is also what the moved nodes need: they are not in the log that roll-forward follows.
bool F2fs::collect_garbage() {
  unsigned victim = kMaxSegments, least = kSegmentBlocks;
  for (unsigned s = 0; s < config_.segments; ++s) {
    const auto count = static_cast<unsigned>(std::popcount(m_.sit[s]));
    if (count == 0 || count >= least || is_current(s)) continue;
    victim = s, least = count;
  }
  if (victim == kMaxSegments || free_segments() < 4) return false;
  SsaBlock summary;
  if (!read_place(config_.ssa_at() + victim, &summary)) return false;
  marks_ |= kMarkGc;
  for (unsigned i = 0; i < kSegmentBlocks; ++i) {
    const auto at = static_cast<Blk>(victim * kSegmentBlocks + i);
    if (valid(at) && !move_block(at, summary.entries[i])) return failed_ = true, false;
  }
  checkpoint();
  return !failed_;
}

bool F2fs::move_block(Blk at, Summary owner) {
  if (owner.nid >= kNids) return false;
  if (owner.entry == kNodeItself) return m_.nat[owner.nid] == at && edit_node(owner.nid) != nullptr;
  NodeBlock* node = edit_node(owner.nid);
  if (node == nullptr || owner.entry >= kNodeEntries) return false;
  Block bytes;
  Blk pointer = kNoBlk;
  const bool inode = node->footer.kind == NodeKind::kInode;
  if (node->footer.kind == NodeKind::kIndirect || (inode && owner.entry >= kInodeData)) return false;
  pointer = inode ? node->inode.data[owner.entry] : node->data[owner.entry];
  if (pointer != at || !read_main(at, &bytes)) return false;
  const Blk to = take_block(kColdData, owner);
  if (to == kNoBlk) return false;
  write_place(config_.main_at() + to, &bytes, node->footer.directory != 0 ? Kind::kDentry : Kind::kData);
  if (inode)
    node->inode.data[owner.entry] = to;
  else
    node->data[owner.entry] = to;
  drop_block(at);
  return true;
}

}  // namespace sisyfs::f2fs
