// Mounting the F2FS model: roll back to the newest complete checkpoint, then roll forward what was fsynced.
//
// Roll-forward follows the warm node log from where the checkpoint left it, as long as blocks carry its
// version. An inode with the fsync mark completes the state of its file at that moment: its other nodes are
// the newest in the log before it, or those of the checkpoint. The file is then replaced as a whole, and if
// the mark says so its name is made again. Nothing that the checkpoint or the log holds is written over until
// the checkpoint at the end of mount() is complete, so that a power cut in between changes nothing.
#include <array>
#include <bit>
#include <cerrno>

#include "models/f2fs_core.h"

namespace sisyfs::f2fs {

bool F2fs::read_pack(unsigned pack, uint32_t* version, PackBody* body) {
  PackEnd header, footer;
  const unsigned at = config_.pack_at(pack);
  if (!read_place(at, &header) || !read_place(at + 1, body) || !read_place(at + 2, &footer)) return false;
  *version = header.version;
  return header.magic == 'H' && footer.magic == 'F' && body->magic == 'B' && header.version == footer.version;
}

// Reads the tables through the newer complete pack. Sizes and numbers that could harm us are refused.
int F2fs::load_checkpoint(Disk& disk) {
  forget();
  disk_ = &disk;
  uint32_t versions[2] = {};
  PackBody bodies[2];
  const bool complete[2] = {read_pack(0, &versions[0], &bodies[0]), read_pack(1, &versions[1], &bodies[1])};
  if (!complete[0] && !complete[1]) return EIO;
  m_.pack = complete[1] && (!complete[0] || versions[1] > versions[0]) ? 1 : 0;
  const PackBody& body = bodies[m_.pack];
  m_.version = versions[m_.pack];
  m_.sit_copies = body.sit_copies;
  m_.nat_copies = body.nat_copies;
  std::memcpy(m_.logs, body.logs, sizeof m_.logs);
  for (const Curseg& log : m_.logs) {
    if (log.segment == kNoSegment ? log.next != 0
                                  : log.segment >= config_.segments || log.next >= kSegmentBlocks)
      return EIO;
  }
  for (unsigned b = 0; b < config_.sit_blocks(); ++b) {
    SitBlock block;
    if (!read_place(config_.sit_at(m_.sit_copies >> b & 1) + b, &block)) return done();
    for (unsigned i = 0; i < kPerTableBlock && b * kPerTableBlock + i < config_.segments; ++i) {
      m_.sit[b * kPerTableBlock + i] = block.entries[i].bitmap & 15;
      m_.used = static_cast<uint16_t>(m_.used + std::popcount(m_.sit[b * kPerTableBlock + i]));
    }
  }
  for (unsigned b = 0; b < kNatBlocks; ++b) {
    NatBlock block;
    if (!read_place(config_.nat_at(m_.nat_copies >> b & 1) + b, &block)) return done();
    for (unsigned i = 0; i < kPerTableBlock; ++i) {
      const unsigned nid = b * kPerTableBlock + i;
      m_.nat[nid] = block.entries[i].block;
      m_.nat_ino[nid] = block.entries[i].ino;
    }
  }
  find_free_segments(0);
  return done();
}

class RollForward {
 public:
  explicit RollForward(F2fs& fs) : fs_(fs), m_(fs.m_) {}

  void run() {
    follow_log();
    if (count_ != 0) fs_.marks_ |= kMarkRollBack;
    unsigned files = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (log_[i].footer.fsync == 0) continue;
      last_[log_[i].footer.ino] = static_cast<int16_t>(i);
      files |= bit_of(log_[i].footer.ino);
    }
    if (files == 0 || !fs_.config_.rollforward) return;
    leave_logs();
    unsigned names = 0;
    for (unsigned ino = 0; ino < kNids; ++ino) {
      if ((files >> ino & 1) == 0) continue;
      const Memory before = m_;
      if (!install(static_cast<Nid>(ino), static_cast<unsigned>(last_[ino]))) {
        m_ = before;
        fs_.failed_ = false;
        continue;
      }
      fs_.marks_ |= kMarkRollForward;
      if (log_[last_[ino]].footer.dentry != 0) names |= 1u << ino;
    }
    fs_.find_free_segments(leave_alone_);
    (void)fs_.open_segment(kWarmNode);
    for (unsigned ino = 0; ino < kNids; ++ino) {
      if ((names >> ino & 1) != 0) make_name(static_cast<Nid>(ino));
    }
  }

 private:
  struct Step {
    Blk at;
    Footer footer;
  };

  void follow_log() {
    const Curseg& warm = m_.logs[kWarmNode];
    if (warm.segment == kNoSegment) return;
    auto at = static_cast<Blk>(warm.segment * kSegmentBlocks + warm.next);
    while (count_ < log_.size() && fs_.in_main(at) && !fs_.valid(at)) {
      for (unsigned i = 0; i < count_; ++i) {
        if (log_[i].at == at) return;
      }
      NodeBlock node;
      if (!fs_.read_main(at, &node)) return;
      const Footer& f = node.footer;
      if (f.magic != 'N' || f.version != m_.version || f.nid >= kNids || f.ino >= kNids) return;
      log_[count_++] = {at, f};
      leave_alone_ |= uint64_t{1} << (at / kSegmentBlocks);
      at = f.next;
    }
  }

  // The logs go on in segments of their own: behind their places in the checkpoint lie recovered blocks.
  void leave_logs() {
    for (unsigned s = 0; s < fs_.config_.segments; ++s) {
      if (m_.sit[s] != 0) leave_alone_ |= uint64_t{1} << s;
    }
    for (Curseg& log : m_.logs) {
      if (log.segment != kNoSegment) {
        leave_alone_ |= uint64_t{1} << log.segment;
        fs_.write_summary(log.segment, log.summary);
      }
      log = {};
      log.segment = kNoSegment;
    }
    m_.free_segments = 0;
    std::memset(m_.free_list, 0, sizeof m_.free_list);
    m_.free_listed = 0;
  }

  // The newest block of a node of the file before `end` in the log, else the checkpoint's.
  Blk newest(const Memory& checkpoint, Nid ino, Nid nid, unsigned offset, unsigned end) const {
    for (unsigned i = end; i-- > 0;) {
      const Footer& f = log_[i].footer;
      if (f.nid == nid && f.ino == ino && f.offset == offset) return log_[i].at;
    }
    return checkpoint.nat_ino[nid] == ino ? checkpoint.nat[nid] : kNoBlk;
  }

  bool take(Blk at, Summary owner) {
    if (!fs_.in_main(at) || fs_.valid(at)) return false;
    fs_.set_valid(at, true);
    ++m_.used;
    SsaBlock block;
    if (!fs_.read_place(fs_.config_.ssa_at() + at / kSegmentBlocks, &block)) return false;
    block.entries[at % kSegmentBlocks] = owner;
    fs_.write_summary(at / kSegmentBlocks, block.entries);
    return true;
  }

  bool take_node(Nid ino, Nid nid, unsigned offset, Blk at, NodeBlock* out) {
    if (m_.nat[nid] != kNoBlk || !take(at, {nid, kNodeItself}) || !fs_.read_main(at, out)) return false;
    m_.nat[nid] = at;
    m_.nat_ino[nid] = ino;
    m_.nat_dirty = static_cast<uint16_t>(m_.nat_dirty | 1u << (nid / kPerTableBlock));
    return out->footer.magic == 'N' && out->footer.nid == nid && out->footer.offset == offset;
  }

  bool take_data(Nid nid, const Blk* data, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      if (data[i] != kNoBlk && !take(data[i], {nid, static_cast<uint8_t>(i)})) return false;
    }
    return true;
  }

  bool take_direct(const Memory& checkpoint, Nid ino, Nid nid, unsigned offset, unsigned end) {
    if (nid == kNoNid) return true;
    NodeBlock node;
    if (nid >= kNids) return false;
    if (!take_node(ino, nid, offset, newest(checkpoint, ino, nid, offset, end), &node)) return false;
    return take_data(nid, node.data, kNodeEntries);
  }

  // Replaces the file of the checkpoint, if there is one, by that of the log. False where the two do not go
  // together, and then the caller takes everything back.
  bool install(Nid ino, unsigned end) {
    const Memory checkpoint = m_;
    if (m_.nat[ino] != kNoBlk) {
      release_file(ino);
    } else if (log_[end].footer.dentry == 0) {
      return false;
    }
    NodeBlock inode, indirect;
    if (fs_.failed_ || !take_node(ino, ino, 0, log_[end].at, &inode)) return false;
    const InodeBody& body = inode.inode;
    if (inode.footer.kind != NodeKind::kInode || body.type != Type::kFile) return false;
    if (!take_data(ino, body.data, kInodeData)) return false;
    if (!take_direct(checkpoint, ino, body.direct, 1, end)) return false;
    if (body.indirect == kNoNid) return true;
    if (body.indirect >= kNids) return false;
    const Blk at = newest(checkpoint, ino, body.indirect, 2, end);
    if (!take_node(ino, body.indirect, 2, at, &indirect)) return false;
    for (unsigned i = 0; i < kNodeEntries; ++i) {
      if (!take_direct(checkpoint, ino, indirect.nodes[i], 3 + i, end)) return false;
    }
    return true;
  }

  // Frees what the checkpoint has of the file, without giving a segment free.
  void release_file(Nid ino) {
    const Reuse reuse = fs_.config_.reuse;
    fs_.config_.reuse = Reuse::kCheckpoint;
    fs_.free_file(ino);
    fs_.config_.reuse = reuse;
    m_.gone = 0;
  }

  void make_name(Nid ino) {
    if (kPages - fs_.dirty_pages() < kPagesForOp) fs_.write_pages(kNoNid);
    NodeBlock inode;
    Where at;
    unsigned blocks = 0, nids = 0;
    if (!fs_.read_node(ino, &inode)) return;
    const std::string_view name(inode.inode.name, std::min<size_t>(inode.inode.name_length, kNameMax));
    const Nid parent = inode.inode.parent;
    NodeBlock directory;
    const bool good = fs_.read_node(parent, &directory) && directory.footer.kind == NodeKind::kInode &&
                      directory.inode.type == Type::kDirectory && fs_.find_in(parent, name, &at) &&
                      at.node == kNoNid && fs_.free_slot(parent, &at, &blocks, &nids) &&
                      fs_.free_nids() >= nids;
    if (good)
      fs_.set_entry(parent, at, name, ino, Type::kFile);
    else
      fs_.failed_ = false, fs_.free_file(ino);
  }

  F2fs& fs_;
  Memory& m_;
  std::array<Step, kMaxSegments * kSegmentBlocks> log_;
  unsigned count_ = 0;
  int16_t last_[kNids] = {};
  uint64_t leave_alone_ = 0;
};

int F2fs::mount(Disk& disk) {
  if (const int error = load_checkpoint(disk)) return forget(), error;
  RollForward(*this).run();
  // Also where nothing was rolled forward: from here on blocks carry another version than those that were
  // written after the old checkpoint and are lost, and no later roll-forward can take the one for the other.
  checkpoint();
  NodeBlock root;
  (void)read_node(kRoot, &root);
  if (const int error = done()) return forget(), error;
  m_.mounted = 1;
  return 0;
}

}  // namespace sisyfs::f2fs
