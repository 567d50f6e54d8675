#include "models/f2fs/fsck.h"

#include <algorithm>
#include <bit>

namespace sisyfs::f2fs {
namespace {

constexpr ProblemKind kTable[] = {
    {"M1", "dead-block", Severity::kRepairable, "block {0} is valid in the SIT and belongs to nobody"},
    {"M1", "dead-block", Severity::kRepairable,
     "the SIT counts {1} valid blocks in segment {0}, and its map has {2}"},
    {"M2", "lost-block", Severity::kCritical,
     "block {1} of inode {0} is disk block {2}, which is not valid in the SIT", 2},
    {"M2", "lost-block", Severity::kCritical,
     "block {1} of inode {0} leads to disk block {2}, which is not in the main area"},
    {"M2", "lost-block", Severity::kCritical,
     "log {0} goes on in segment {1} at block {2}, which is in use or cannot be"},
    {"M3", "double-pointer", Severity::kCritical,
     "block {1} of inode {0} is disk block {2}, where another pointer leads too", 2},
    {"M3", "double-pointer", Severity::kCritical,
     "node {0} of inode {1} is disk block {2}, where another pointer leads too", 2},
    {"M5", "dead-node", Severity::kRepairable, "node {0} has an address in the NAT and is in no file"},
    {"M6", "shared-node", Severity::kCritical, "node {0} of inode {1} is used a second time"},
    {"M7", "lost-node", Severity::kCritical, "node {0} of inode {1} leads to disk block {2}: nowhere"},
    {"M7", "lost-node", Severity::kCritical,
     "node {0} of inode {1} is disk block {2}, which is not valid in the SIT", 2},
    {"M7", "lost-node", Severity::kCritical,
     "node {0} of inode {1} is disk block {2}, which holds no such node", 2},
    {"M8", "bad-entry", Severity::kCritical, "entry {1} of directory {0}, for inode {2}, cannot be"},
    {"M8", "bad-entry", Severity::kCritical, "inode {0} says something of itself that cannot be"},
    {"M9", "bad-summary", Severity::kRepairable, "the summaries name another owner for disk block {0}"},
    {"M10", "lost-root", Severity::kCritical, "the inode of the root leads to disk block {0}: nowhere"},
    {"M10", "lost-root", Severity::kCritical,
     "the inode of the root is disk block {0}, which holds no such node", 0},
    {"M10", "lost-root", Severity::kCritical,
     "the entries of the root are in disk block {0}, which holds no entry that can be", 0},
};

}  // namespace

const std::span<const ProblemKind> kProblems = kTable;

void Fsck::say(ProblemNumber problem, std::array<int64_t, 4> context) {
  if (!mending_) report_->add(problem, will_mend_, context);
}

// Whether the nid leads to this node of this inode. Claims its block if so.
bool Fsck::visit_node(Nid nid, Nid ino, unsigned offset, NodeKind kind, bool directory, Node* out) {
  if (nid == 0 || nid >= config_.nids) {
    say(kNodeNowhere, {nid, ino, 0});
    return false;
  }
  if ((seen_nids_ & only(nid)) != 0) {
    say(kSharedNode, {nid, ino});
    return false;
  }
  const Address address = memory_.nat[nid].address;
  const bool root = nid == kRootNid && ino == kRootNid;
  if (!layout_.is_main(address)) {
    root ? say(kRootNowhere, {address}) : say(kNodeNowhere, {nid, ino, address});
    return false;
  }
  if (seen_[main_index(address)]) {
    say(kDoubleNode, {nid, ino, address});
    return false;
  }
  *out = read_as<Node>(address);
  const NodeFooter& footer = out->footer;
  if (out->magic != kNodeMagic || out->kind != kind || footer.nid != nid || footer.ino != ino ||
      footer.offset != offset || out->directory != (directory ? 1 : 0) || memory_.nat[nid].ino != ino) {
    root ? say(kNoRoot, {address}) : say(kNoSuchNode, {nid, ino, address});
    return false;
  }
  if (!is_valid(address)) say(kNodeNotValid, {nid, ino, address});
  seen_nids_ |= only(nid);
  seen_.set(main_index(address));
  owners_[main_index(address)] = {nid, kIsNode, memory_.nat[nid].version};
  return true;
}

bool Fsck::visit_data(Nid ino, unsigned block, Address address, Summary owner) {
  if (!layout_.is_main(address)) {
    say(kBlockNowhere, {ino, block, address});
    return false;
  }
  if (seen_[main_index(address)]) {
    say(kDoubleData, {ino, block, address});
    return false;
  }
  if (!is_valid(address)) say(kLostBlock, {ino, block, address});
  seen_.set(main_index(address));
  owners_[main_index(address)] = owner;
  return true;
}

// The data pointers of an inode or direct node; below `limit` the file has blocks.
void Fsck::visit_pointers(Nid holder, const Node& node, Nid ino, unsigned limit) {
  const bool inode = node.kind == NodeKind::kInode;
  for (unsigned i = 0; i < (inode ? kInodeData : kTableEntries); ++i) {
    const Address address = inode ? node.inode.data[i] : node.data[i];
    if (address == kNoAddress) continue;
    const unsigned block = first_block_of(node.footer.offset) + i;
    bool good = block < limit;
    if (!good) say(kBadInode, {ino});
    const Summary owner{holder, static_cast<uint8_t>(i), memory_.nat[holder].version};
    good = good && visit_data(ino, block, address, owner);
    if (!good && mending_) (inode ? edit(holder).inode.data[i] : edit(holder).data[i]) = kNoAddress;
  }
}

bool Fsck::visit_inode(Nid ino, Nid parent, std::string_view name, bool directory) {
  Node inode;
  if (!visit_node(ino, ino, 0, NodeKind::kInode, directory, &inode)) return false;
  const bool size_good = directory ? inode.inode.size == 0 : inode.inode.size <= max_file_size(config_);
  const uint32_t size = size_good ? inode.inode.size : 0;
  const unsigned limit =
      directory ? config_.dentry_blocks : (size + config_.block_size - 1) / config_.block_size;
  visit_pointers(ino, inode, ino, limit);
  Node direct;
  const auto visit_direct = [&](Nid nid, unsigned offset) {
    const bool good = visit_node(nid, ino, offset, NodeKind::kDirect, directory, &direct);
    if (good) visit_pointers(nid, direct, ino, limit);
    return good;
  };
  if (inode.inode.direct != 0 && !visit_direct(inode.inode.direct, 1) && mending_) edit(ino).inode.direct = 0;
  Node indirect;
  if (inode.inode.indirect != 0) {
    const Nid nid = inode.inode.indirect;
    if (visit_node(nid, ino, 2, NodeKind::kIndirect, directory, &indirect)) {
      for (unsigned i = 0; i < kTableEntries; ++i) {
        if (indirect.nodes[i] == 0 || visit_direct(indirect.nodes[i], 3 + i)) continue;
        if (mending_) edit(nid).nodes[i] = 0;
      }
    } else if (mending_) {
      edit(ino).inode.indirect = 0;
    }
  }
  unsigned subdirectories = 0;
  if (directory) visit_entries(ino, &subdirectories);

  const unsigned links = directory ? 2 + subdirectories : 1;
  const std::string_view own(inode.inode.name.data(), std::min<size_t>(inode.inode.name_length, kNameLength));
  if (size_good && inode.inode.links == links && inode.inode.parent == parent && own == name) return true;
  say(kBadInode, {ino});
  if (!mending_) return true;
  InodeBody& body = edit(ino).inode;
  body.size = size;
  body.links = static_cast<uint8_t>(links);
  body.parent = parent;
  body.name_length = static_cast<uint8_t>(name.size());
  body.name = {};
  std::copy(name.begin(), name.end(), body.name.begin());
  return true;
}

void Fsck::visit_entries(Nid directory, unsigned* subdirectories) {
  std::array<uint32_t, kMaxDentryBlocks * kDentries> names{};
  unsigned count = 0;
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    // Through the node that was visited, or as it was mended: a pointer that is bad has been told already.
    const int failed = failed_;
    const Slot slot = slot_of(directory, b);
    failed_ = failed;
    if (slot.nid == 0 || slot.nid >= config_.nids || (seen_nids_ & only(slot.nid)) == 0) continue;
    const Address address = memory_.nat[slot.nid].ino == directory ? pointer(slot) : kNoAddress;
    failed_ = failed;
    if (!layout_.is_main(address) || owners_[main_index(address)].nid != slot.nid) continue;
    std::array<std::byte, kMaxBlockSize> bytes;
    read_block(address, bytes.data());
    auto block = read_from<DentryBlock>(bytes.data());
    uint8_t bad = static_cast<uint8_t>(block.used & ~((1u << kDentries) - 1));
    bool any_can_be = false;
    for (unsigned e = 0; e < kDentries; ++e) {
      if ((block.used >> e & 1) == 0) continue;
      const auto end = names.begin() + count;
      const bool again = std::find(names.begin(), end, block.entries[e].hash) != end;
      names[count++] = block.entries[e].hash;
      if (again || !is_good_entry(block, e, config_.nids)) {
        say(kBadEntry, {directory, b * kDentries + e, block.entries[e].ino});
        bad = static_cast<uint8_t>(bad | 1u << e);
        continue;
      }
      any_can_be = true;
      if (!visit_entry(directory, block, e, subdirectories)) bad = static_cast<uint8_t>(bad | 1u << e);
    }
    if (directory == kRootNid && !any_can_be) say(kNoRootEntries, {address});
    if ((block.used >> kDentries) != 0 || block.used == 0)
      say(kBadEntry, {directory, b * kDentries + kDentries, 0});
    if (!mending_ || (bad == 0 && block.used != 0)) continue;
    block.used = static_cast<uint8_t>(block.used & ~bad);
    if (block.used == 0) {
      drop_block(directory, b);
      continue;
    }
    for (unsigned e = 0; e < kDentries; ++e) {
      if ((bad >> e & 1) != 0) block.entries[e] = {}, block.names[e] = {};
    }
    std::memcpy(put_page(directory, b, kHotData), &block, sizeof block);
  }
}

bool Fsck::visit_entry(Nid directory, const DentryBlock& block, unsigned entry, unsigned* subdirectories) {
  const Dentry& d = block.entries[entry];
  if (!visit_inode(d.ino, directory, name_of(block, entry), d.directory != 0)) return false;
  if (d.directory != 0) ++*subdirectories;
  return true;
}

void Fsck::walk() {
  seen_.reset();
  seen_nids_ = 0;
  owners_ = {};
  if (visit_inode(kRootNid, kRootNid, "", true) || !mending_) return;
  // Without its root the system begins anew.
  seen_nids_ = only(kRootNid);
  Node root{};
  root.magic = kNodeMagic;
  root.kind = NodeKind::kInode;
  root.directory = 1;
  root.inode.links = 2;
  root.inode.parent = kRootNid;
  root.footer.nid = root.footer.ino = kRootNid;
  memory_.nat[kRootNid] = {kNewAddress, kRootNid, memory_.nat[kRootNid].version};
  memory_.nodes[kRootNid] = root;
  memory_.dirty_nodes |= only(kRootNid);
}

void Fsck::check_counts() {
  for (unsigned b = 0; b < layout_.sit_blocks(); ++b) {
    const auto block = read_as<SitBlock>(layout_.sit(memory_.sit_version >> b & 1, b));
    for (unsigned e = 0; e < kTableEntries && b * kTableEntries + e < config_.segments; ++e) {
      const int valid = std::popcount(block.entries[e].valid_map);
      if (block.entries[e].valid_count == valid && block.entries[e].valid_map < 1u << kSegmentBlocks)
        continue;
      say(kWrongCount, {b * kTableEntries + e, block.entries[e].valid_count, valid});
    }
  }
}

void Fsck::check_tables() {
  for (unsigned s = 0; s < config_.segments; ++s) {
    for (unsigned i = 0; i < kSegmentBlocks; ++i) {
      if ((memory_.valid[s] >> i & 1) != 0 && !seen_[s * kSegmentBlocks + i])
        say(kDeadBlock, {layout_.main(s, i)});
    }
  }
  for (Nid nid = 0; nid < static_cast<Nid>(config_.nids); ++nid) {
    if (memory_.nat[nid].address != kNoAddress && (seen_nids_ & only(nid)) == 0) say(kDeadNode, {nid});
  }
  uint64_t taken = 0;
  for (unsigned log = 0; log < kLogs; ++log) {
    const LogPosition& at = memory_.logs[log];
    bool good = at.segment < config_.segments && at.offset < kSegmentBlocks && (taken >> at.segment & 1) == 0;
    for (unsigned i = at.offset; good && i < kSegmentBlocks; ++i)
      good = !seen_[at.segment * kSegmentBlocks + i] && !is_valid(layout_.main(at.segment, i));
    if (!good) say(kLogInUse, {log, at.segment, at.offset});
    if (at.segment < kMaxSegments) taken |= uint64_t{1} << at.segment;
  }
}

void Fsck::check_summaries() {
  for (unsigned s = 0; s < config_.segments; ++s) {
    const unsigned first = s * kSegmentBlocks;
    bool any = false;
    for (unsigned i = 0; i < kSegmentBlocks; ++i) any |= seen_[first + i];
    if (!any) continue;
    const auto block = read_as<SsaBlock>(layout_.ssa(s));
    for (unsigned i = 0; i < kSegmentBlocks; ++i) {
      if (seen_[first + i] && block.entries[i] != owners_[first + i]) say(kBadSummary, {layout_.main(s, i)});
    }
  }
}

// What the first walk has seen is all that counts: the tables are made from it, the logs go on in segments
// in which nothing was seen, and a second walk drops every pointer that the first one did not follow.
void Fsck::repair() {
  memory_.free_segments = 0;
  memory_.free_count = 0;
  memory_.free_list = {};
  for (LogPosition& at : memory_.logs) at = {0xFF, 0};
  unsigned logs = 0;
  for (unsigned s = 0; s < config_.segments; ++s) {
    memory_.valid[s] = 0;
    for (unsigned i = 0; i < kSegmentBlocks; ++i) {
      if (seen_[s * kSegmentBlocks + i]) set_valid(layout_.main(s, i));
    }
    if (memory_.valid[s] != 0) continue;
    if (logs < kLogs)
      memory_.logs[logs++] = {static_cast<uint8_t>(s), 0};
    else
      free_segment(s);
  }
  if (logs < kLogs) return void(failed_ = ENOSPC);
  mending_ = true;
  walk();
  for (Nid nid = 0; nid < kMaxNids; ++nid) {
    if ((seen_nids_ & only(nid)) == 0) memory_.nat[nid] = {kNoAddress, 0, memory_.nat[nid].version};
  }
  int used = memory_.nat[kRootNid].address == kNewAddress ? 1 : 0;
  for (unsigned s = 0; s < config_.segments; ++s) {
    used += std::popcount(memory_.valid[s]);
    SsaBlock block{};
    for (unsigned i = 0; i < kSegmentBlocks; ++i) block.entries[i] = owners_[s * kSegmentBlocks + i];
    const bool is_log = is_log_segment(s);
    if (memory_.valid[s] != 0 && !is_log) write_block(layout_.ssa(s), &block, sizeof block);
  }
  memory_.used_blocks = static_cast<uint16_t>(used);
  memory_.sit_dirty = static_cast<uint16_t>((1u << layout_.sit_blocks()) - 1);
  memory_.nat_dirty = static_cast<uint16_t>((1u << layout_.nat_blocks()) - 1);
  memory_.summaries_dirty = (1u << kLogs) - 1;
}

void Fsck::run(Disk& disk, FsckMode mode, RepairReport* report) {
  disk_ = &disk;
  report_ = report;
  mending_ = false;
  will_mend_ = mode == FsckMode::kRepair;
  if (const int error = load_checkpoint()) {
    report->error = error;
    return;
  }
  walk();
  check_counts();
  check_tables();
  check_summaries();
  if (failed_ != 0) {
    report->error = std::exchange(failed_, 0);
    return;
  }
  if (mode == FsckMode::kRepair && !report->problems.empty()) {
    repair();
    const int error = failed_ != 0 ? failed_ : checkpoint();
    if (error != 0) report->error = error;
    if (error != 0) {
      for (Problem& problem : report->problems) problem.repaired = false;
    }
  }
}

}  // namespace sisyfs::f2fs
