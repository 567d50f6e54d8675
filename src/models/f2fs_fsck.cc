// The offline check of the F2FS model: properties 5.6 to 5.10 of the thesis, by its algorithm 5.
//
// It looks at the newest complete checkpoint without rolling anything forward: that state is consistent in
// its own right, and roll-forward, which mount() does, keeps it so. From the root it visits every node and
// block once, and then compares what it met with the NAT and the SIT. It believes nothing: numbers are
// checked before they are used, nothing is visited twice, so it ends on any disk.
//
// Repair first makes the tables equal to what was met, then takes away the references that led wrong, and
// writes a checkpoint. That ends the chance to roll forward, so a disk that is clean is not written at all.
#include <bit>
#include <bitset>
#include <cerrno>
#include <vector>

#include "models/f2fs_core.h"
#include "models/f2fs_problems.h"

namespace sisyfs::f2fs {

class Fsck {
 public:
  Fsck(F2fs& fs, bool repair, RepairReport* report) : fs_(fs), m_(fs.m_), repair_(repair), report_(report) {}

  void run() {
    check_counts();
    check_logs();
    NodeBlock root;
    const bool rooted = check_node(kRoot, kRoot, NodeKind::kInode, 0, &root) && is_directory(root);
    if (rooted) {
      check_file(root);
      directories_[queued_++] = kRoot;
    } else if (report_->problems.empty()) {
      report(kLostNode, {kRoot, kRoot, m_.nat[kRoot]});
    }
    if (!rooted) nodes_met_ = 0, met_.reset();
    for (unsigned i = 0; i < queued_; ++i) check_directory(directories_[i]);
    check_tables();
    check_summaries();
    if (repair_ && !report_->problems.empty()) mend(rooted);
    if (fs_.done() != 0 && repair_) report_->error = EIO;
  }

 private:
  // Something to change in a node or directory that is itself in order.
  struct Edit {
    enum What : uint8_t { kData, kNode, kEntry, kName, kSize, kLinks } what;
    Nid ino;
    uint8_t index;
    uint8_t slot = 0;
    uint32_t value = 0;
    Nid parent = 0;
    char name[kNameMax] = {};
    uint8_t name_length = 0;
  };

  struct Name {
    uint8_t length;
    char name[kNameMax];
    std::string_view text() const { return {name, length}; }
  };

  void report(uint16_t kind, std::array<int64_t, 4> context) { report_->add(kind, repair_, context); }
  static bool is_directory(const NodeBlock& inode) { return inode.inode.type == Type::kDirectory; }

  void check_counts() {
    for (unsigned b = 0; b < fs_.config_.sit_blocks(); ++b) {
      SitBlock block;
      if (!fs_.read_place(fs_.config_.sit_at(m_.sit_copies >> b & 1) + b, &block)) return;
      for (unsigned i = 0; i < kPerTableBlock && b * kPerTableBlock + i < fs_.config_.segments; ++i) {
        const auto& entry = block.entries[i];
        if (entry.bitmap < 16 && entry.count == std::popcount(entry.bitmap)) continue;
        report(kBadCount, {b * kPerTableBlock + i, entry.count, std::popcount(entry.bitmap)});
      }
    }
  }

  void check_logs() {
    uint64_t taken = 0;
    for (unsigned log = 0; log < kLogs; ++log) {
      const Curseg& current = m_.logs[log];
      if (current.segment == kNoSegment) {
        if (log == kWarmNode) report(kLogOverBlock, {log, -1});
        continue;
      }
      const uint64_t bit = uint64_t{1} << current.segment;
      if (m_.sit[current.segment] >> current.next != 0 || (taken & bit) != 0)
        report(kLogOverBlock, {log, current.segment * int64_t{kSegmentBlocks} + current.next});
      taken |= bit;
    }
  }

  void meet(Blk at, Summary owner) {
    met_.set(at);
    owners_[at] = owner;
  }

  // Whether the NAT leads to this node of the file, and it was not met before.
  bool check_node(Nid nid, Nid ino, NodeKind kind, unsigned offset, NodeBlock* out) {
    const bool known = nid < kNids;
    if (known && (nodes_met_ & bit_of(nid)) != 0) return report(kSharedNode, {nid, ino}), false;
    const Blk at = known ? m_.nat[nid] : kNoBlk;
    bool good = known && fs_.in_main(at) && m_.nat_ino[nid] == ino && fs_.read_main(at, out);
    if (good) {
      const Footer& f = out->footer;
      good = f.magic == 'N' && f.nid == nid && f.ino == ino && f.kind == kind && f.offset == offset;
      if (good && kind == NodeKind::kInode)
        good = (out->inode.type == Type::kFile || is_directory(*out)) && f.directory == is_directory(*out);
    }
    if (!good) return report(kLostNode, {nid, ino, at}), false;
    if (met_.test(at)) return report(kDoublePointer, {ino, -1, at}), false;
    if (!fs_.valid(at)) report(kLostNode, {nid, ino, at});
    nodes_met_ = static_cast<uint16_t>(nodes_met_ | bit_of(nid));
    meet(at, {nid, kNodeItself});
    return true;
  }

  void check_data(Nid ino, Nid nid, unsigned index, Blk at, bool allowed) {
    if (at == kNoBlk) return;
    bool good = true;
    if (!fs_.in_main(at) || !allowed)
      report(kLostBlock, {ino, index, at}), good = false;
    else if (met_.test(at))
      report(kDoublePointer, {ino, index, at}), good = false;
    else if (!fs_.valid(at))
      report(kLostBlock, {ino, index, at});
    if (good)
      meet(at, {nid, file_place(index).entry});
    else
      edit({Edit::kData, ino, static_cast<uint8_t>(index)});
  }

  // A directory has no more blocks than its bound; a file has as many as an inode can name.
  void check_direct(Nid nid, Nid ino, unsigned offset, bool directory) {
    if (nid == kNoNid) return;
    NodeBlock node;
    if ((directory && offset > 1) || !check_node(nid, ino, NodeKind::kDirect, offset, &node)) {
      edit({Edit::kNode, ino, static_cast<uint8_t>(offset)});
      return;
    }
    for (unsigned i = 0; i < kNodeEntries; ++i) {
      const unsigned index = first_index(offset) + i;
      check_data(ino, nid, index, node.data[i], !directory || index < fs_.config_.dentry_blocks);
    }
  }

  void check_file(const NodeBlock& inode) {
    const Nid ino = inode.footer.nid;
    const bool directory = is_directory(inode);
    const InodeBody& body = inode.inode;
    if (body.size > kMaxFileBlocks * kBlockBytes || (directory && body.size != 0)) {
      report(kBadInode, {ino});
      edit({Edit::kSize, ino, 0});
    }
    for (unsigned i = 0; i < kInodeData; ++i)
      check_data(ino, ino, i, body.data[i], !directory || i < fs_.config_.dentry_blocks);
    check_direct(body.direct, ino, 1, directory);
    if (body.indirect == kNoNid) return;
    NodeBlock indirect;
    if (!check_node(body.indirect, ino, NodeKind::kIndirect, 2, &indirect)) {
      edit({Edit::kNode, ino, 2});
      return;
    }
    for (unsigned i = 0; i < kNodeEntries; ++i) check_direct(indirect.nodes[i], ino, 3 + i, directory);
  }

  void check_directory(Nid ino) {
    NodeBlock inode;
    if (!fs_.read_main(m_.nat[ino], &inode)) return;
    named_ = 0;
    unsigned links = 2;
    for (unsigned b = 0; b < fs_.config_.dentry_blocks; ++b) {
      const Blk at = block_of(inode, b);
      DentryBlock block;
      // Only what was met as this block of this directory: what was refused is taken out anyway.
      if (!fs_.in_main(at) || !met_.test(at) || !owns(ino, b, at) || !fs_.read_main(at, &block)) continue;
      if (block.magic != 'D' || block.bitmap >> kDentries != 0) {
        report(kBadDentryBlock, {ino, b});
        edit({Edit::kData, ino, static_cast<uint8_t>(b)});
        met_.reset(at);
        continue;
      }
      for (unsigned s = 0; s < kDentries; ++s) {
        if ((block.bitmap >> s & 1) != 0) links += check_entry(ino, b, s, block);
      }
    }
    const Nid parent = inode.inode.parent;
    if (inode.inode.links != links || (ino == kRoot && parent != kRoot)) {
      report(kBadInode, {ino});
      Edit change{Edit::kLinks, ino, 0};
      change.value = links;
      edit(change);
    }
  }

  // One link more for the directory that holds it, if the entry is a directory.
  unsigned check_entry(Nid directory, unsigned b, unsigned s, const DentryBlock& block) {
    const Dentry& entry = block.entries[s];
    const std::string_view name(block.names[s], std::min<unsigned>(entry.name_length, kNameMax));
    bool good = entry.name_length >= 1 && entry.name_length <= kNameMax && entry.hash == name_hash(name);
    for (const char c : name) good = good && c > ' ' && c != 127 && c != '/';
    good = good && name != "." && name != "..";
    for (unsigned i = 0; i < named_; ++i) good = good && names_[i].text() != name;
    NodeBlock inode;
    if (!good) report(kBadEntry, {directory, b, s});
    if (!good || !check_node(entry.ino, entry.ino, NodeKind::kInode, 0, &inode)) {
      edit({Edit::kEntry, directory, static_cast<uint8_t>(b), static_cast<uint8_t>(s)});
      return 0;
    }
    Edit fit{Edit::kName, entry.ino, static_cast<uint8_t>(b), static_cast<uint8_t>(s)};
    fit.parent = directory;
    fit.name_length = entry.name_length;
    fit.value = static_cast<uint32_t>(inode.inode.type);
    std::memcpy(fit.name, name.data(), name.size());
    names_[named_++] = {fit.name_length, {}};
    std::memcpy(names_[named_ - 1].name, name.data(), name.size());
    const InodeBody& body = inode.inode;
    const bool named = body.parent == directory && body.name_length == name.size() &&
                       std::memcmp(body.name, name.data(), name.size()) == 0;
    const bool file_links = is_directory(inode) || body.links == 1;
    if (!named || !file_links || entry.type != body.type) {
      report(kBadInode, {entry.ino});
      edit(fit);
    }
    check_file(inode);
    if (!is_directory(inode)) return 0;
    directories_[queued_++] = entry.ino;
    return 1;
  }

  // Where a block of a directory lies, if the way there was met.
  Blk block_of(const NodeBlock& inode, unsigned index) {
    if (index < kInodeData) return inode.inode.data[index];
    NodeBlock node;
    const Nid nid = inode.inode.direct;
    if (nid >= kNids || m_.nat_ino[nid] != inode.footer.nid || (nodes_met_ & bit_of(nid)) == 0) return kNoBlk;
    return fs_.read_main(m_.nat[nid], &node) ? node.data[index - kInodeData] : kNoBlk;
  }
  bool owns(Nid ino, unsigned index, Blk at) const {
    const Summary owner = owners_[at];
    return owner.entry == file_place(index).entry && owner.nid < kNids && m_.nat_ino[owner.nid] == ino;
  }

  void check_tables() {
    for (unsigned at = 0; at < fs_.config_.main_blocks(); ++at) {
      if (fs_.valid(static_cast<Blk>(at)) && !met_.test(at)) report(kDeadBlock, {at});
    }
    for (unsigned nid = 0; nid < kNids; ++nid) {
      if (m_.nat[nid] != kNoBlk && (nodes_met_ >> nid & 1) == 0) report(kDeadNode, {nid});
    }
  }

  // Who owns a block according to the SSA, or to the checkpoint for the segments that logs write to.
  void check_summaries() {
    for (unsigned s = 0; s < fs_.config_.segments; ++s) {
      if (m_.sit[s] == 0) continue;
      SsaBlock block;
      const Summary* entries = block.entries;
      for (const Curseg& log : m_.logs) {
        if (log.segment == s) entries = log.summary;
      }
      if (entries == block.entries && !fs_.read_place(fs_.config_.ssa_at() + s, &block)) return;
      for (unsigned i = 0; i < kSegmentBlocks; ++i) {
        const unsigned at = s * kSegmentBlocks + i;
        if (!met_.test(at)) continue;
        if (entries[i].nid != owners_[at].nid || entries[i].entry != owners_[at].entry)
          report(kStaleSummary, {at});
      }
    }
  }

  void edit(const Edit& change) {
    if (repair_) edits_.push_back(change);
  }

  void mend(bool rooted) {
    rebuild_tables();
    if (fs_.free_segments() < kPages) {
      report_->error = ENOSPC;
      return;
    }
    (void)fs_.open_segment(kWarmNode);
    if (!rooted) {
      NodeBlock* root = fs_.new_node(kRoot, kRoot, NodeKind::kInode, 0, true);
      root->inode.type = Type::kDirectory;
      root->inode.links = 2;
      root->inode.parent = kRoot;
    }
    for (const Edit& change : edits_) {
      if (kPages - fs_.dirty_pages() < kPagesForOp) fs_.write_pages(kNoNid);
      perform(change);
    }
    fs_.checkpoint();
  }

  // The tables say what was met, and nothing else. Logs begin in new segments.
  void rebuild_tables() {
    for (unsigned s = 0; s < fs_.config_.segments; ++s) {
      m_.sit[s] = 0;
      for (unsigned i = 0; i < kSegmentBlocks; ++i) {
        if (met_.test(s * kSegmentBlocks + i)) m_.sit[s] = static_cast<uint8_t>(m_.sit[s] | 1u << i);
      }
      if (m_.sit[s] != 0) fs_.write_summary(s, &owners_[s * kSegmentBlocks]);
    }
    m_.used = static_cast<uint16_t>(met_.count());
    for (unsigned nid = 0; nid < kNids; ++nid) {
      if ((nodes_met_ >> nid & 1) == 0) m_.nat[nid] = kNoBlk, m_.nat_ino[nid] = kNoNid;
    }
    m_.sit_dirty = static_cast<uint16_t>((1u << fs_.config_.sit_blocks()) - 1);
    m_.nat_dirty = (1u << kNatBlocks) - 1;
    for (Curseg& log : m_.logs) {
      log = {};
      log.segment = kNoSegment;
    }
    m_.free_segments = 0;
    std::memset(m_.free_list, 0, sizeof m_.free_list);
    m_.free_listed = 0;
    fs_.find_free_segments(0);
  }

  void perform(const Edit& change) {
    Where at;
    at.block = change.index;
    at.slot = change.slot;
    NodeBlock* node = nullptr;
    Nid owner = kNoNid;
    switch (change.what) {
      case Edit::kData:
        if (Blk* pointer = fs_.edit_pointer(change.ino, change.index, &owner)) *pointer = kNoBlk;
        return;
      case Edit::kNode:
        node = fs_.edit_node(change.ino);
        if (node == nullptr) return;
        if (change.index == 1) node->inode.direct = kNoNid;
        if (change.index == 2) node->inode.indirect = kNoNid;
        if (change.index >= 3 && (node = fs_.edit_node(node->inode.indirect)) != nullptr)
          node->nodes[change.index - 3] = kNoNid;
        return;
      case Edit::kEntry:
        return fs_.clear_entry(change.ino, at);
      case Edit::kName:
        fs_.set_name(change.ino, change.parent, {change.name, change.name_length});
        if (Type(change.value) == Type::kFile && (node = fs_.edit_node(change.ino)) != nullptr)
          node->inode.links = 1;
        return fs_.set_entry(change.parent, at, {change.name, change.name_length}, change.ino,
                             Type(change.value));
      case Edit::kSize:
        node = fs_.edit_node(change.ino);
        if (node == nullptr) return;
        node->inode.size = node->inode.type == Type::kFile ? kMaxFileBlocks * kBlockBytes : 0;
        return;
      case Edit::kLinks:
        node = fs_.edit_node(change.ino);
        if (node == nullptr) return;
        node->inode.links = static_cast<uint8_t>(change.value);
        if (change.ino == kRoot) node->inode.parent = kRoot;
        return;
    }
  }

  F2fs& fs_;
  Memory& m_;
  const bool repair_;
  RepairReport* report_;
  std::bitset<kMaxSegments * kSegmentBlocks> met_;
  Summary owners_[kMaxSegments * kSegmentBlocks] = {};
  uint16_t nodes_met_ = 0;
  Nid directories_[kNids];
  unsigned queued_ = 0;
  std::vector<Edit> edits_;
  Name names_[kMaxDentryBlocks * kDentries];  // met in the directory at hand
  unsigned named_ = 0;
};

void F2fs::fsck(Disk& disk, bool repair, RepairReport* report) {
  if (const int error = load_checkpoint(disk))
    report->error = error;
  else
    Fsck(*this, repair, report).run();
  forget();
}

}  // namespace sisyfs::f2fs
