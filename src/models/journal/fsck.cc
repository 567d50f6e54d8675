#include "models/journal/fsck.h"

#include <algorithm>
#include <bit>

namespace sisyfs::journal {
namespace {

constexpr ProblemKind kTable[] = {
    {"M1", "dead-block", Severity::kRepairable, "block {0} is in use in the bitmap and belongs to nobody"},
    {"M2", "lost-block", Severity::kCritical, "block {0} belongs to a file and is free in the bitmap"},
    {"M2", "lost-block", Severity::kCritical, "block {1} of inode {0} leads to disk block {2}: nowhere"},
    {"M3", "double-pointer", Severity::kCritical,
     "block {1} of inode {0} is disk block {2}, where another pointer leads too"},
    {"M5", "dead-node", Severity::kRepairable, "inode {0} is in use in the bitmap and free in the table"},
    {"M5", "dead-node", Severity::kRepairable, "inode {0} is in use and has no name"},
    {"M7", "lost-node", Severity::kCritical, "inode {0} is in use and free in the bitmap"},
    {"M8", "bad-entry", Severity::kCritical, "entry {1} of directory {0}, for inode {2}, cannot be"},
    {"M8", "bad-entry", Severity::kCritical, "entry {1} of directory {0} has the name of another"},
    {"M8", "bad-entry", Severity::kCritical, "inode {0} says something of itself that cannot be"},
    {"M8", "bad-entry", Severity::kCritical, "inode {0} counts {1} links and has {2}"},
    {"M8", "bad-entry", Severity::kCritical, "directory {0} takes {1} for its parent, which is {2}"},
    {"M8", "bad-entry", Severity::kCritical, "inode {0} is an orphan and has a name, or is none"},
};

}  // namespace

const std::span<const ProblemKind> kProblems = kTable;

void Fsck::say(ProblemNumber problem, std::array<int64_t, 4> context) {
  report_->add(problem, mends(), context);
}

void Fsck::run(Disk& disk, FsckMode mode, RepairReport* report) {
  forget();
  disk_ = &disk;
  failed_ = 0;
  mode_ = mode;
  report_ = report;
  Super super;
  JournalSuper journal;
  if (read_supers(&super, &journal) != 0) {
    report->error = EIO;
    return;
  }
  memory_.sequence = journal.sequence;
  memory_.head = journal.start;
  const bool dirty = super.clean == 0;
  if (dirty) scan_journal(journal);
  if (dirty && mends())
    replay(true);
  else
    load_maps();
  if (failed_ == 0 && !(config_.recovery == Recovery::kFast && mends())) check();
  if (failed_ == 0 && dirty && mends()) {
    if (memory_.unflushed != 0) flush_disk();
    write_super(true);
  }
  if (failed_ == 0 && memory_.unflushed != 0) flush_disk();
  if (failed_ != 0) report->error = EIO;
  forget();
}

void Fsck::check() {
  names_ = {};
  subdirectories_ = {};
  used_ = 0;
  changed_ = 0;
  maps_changed_ = false;
  load_inodes();
  if (failed_ != 0) return;
  for (Ino ino = 1; ino < static_cast<Ino>(config_.inodes); ++ino) {
    if (inodes_[ino].type == Type::kFree) continue;
    if (is_good(inodes_[ino])) {
      claim_blocks(ino);
      continue;
    }
    say(kBadInode, {ino});
    inodes_[ino] = {};
    changed_ |= only(ino);
  }
  if (inodes_[kRootIno].type != Type::kDirectory) {
    failed_ = EIO;
    return;
  }
  names_[kRootIno] = 1;
  visit(kRootIno);
  check_connected();
  check_links();
  check_maps();
  if (mends() && failed_ == 0) write_back();
}

void Fsck::load_inodes() {
  inodes_ = {};
  for (unsigned first = 0; first < config_.inodes; first += kInodesInBlock) {
    const auto block = read_as<InodeBlock>(layout_.inode_block(static_cast<Ino>(first)));
    for (unsigned i = first; i < std::min(first + kInodesInBlock, config_.inodes); ++i)
      inodes_[i] = block.inodes[i - first];
  }
}

// --- pass 1: inodes and blocks ---

bool Fsck::is_good(const Inode& inode) const {
  switch (inode.type) {
    case Type::kFile:
      return inode.size <= max_file_size();
    case Type::kDirectory:
      return inode.size == 0 && inode.indirect == 0;
    case Type::kSymlink:
      return inode.size != 0 && inode.size <= kBlockSize && inode.indirect == 0 && inode.direct[0] != 0;
    default:
      return false;
  }
}

bool Fsck::claim(Ino ino, unsigned block, Address address) {
  if (!layout_.is_data(address)) {
    say(kBlockNowhere, {ino, block, address});
    return false;
  }
  const uint64_t one = uint64_t{1} << layout_.index_of(address);
  if ((used_ & one) != 0) {
    say(kDoubleBlock, {ino, block, address});
    return false;
  }
  used_ |= one;
  return true;
}

void Fsck::claim_blocks(Ino ino) {
  Inode& inode = inodes_[ino];
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    if (inode.direct[b] == 0 || claim(ino, b, inode.direct[b])) continue;
    inode.direct[b] = 0;
    changed_ |= only(ino);
  }
  // A symbolic link without its block is none.
  if (inode.type == Type::kSymlink && inode.direct[0] == 0) {
    unclaim_blocks(ino);
    inode = {};
  }
  if (inode.indirect == 0) return;
  if (!claim(ino, kDirectPointers, inode.indirect)) {
    inode.indirect = 0;
    changed_ |= only(ino);
    return;
  }
  auto indirect = read_as<IndirectBlock>(inode.indirect);
  bool changed = false;
  for (unsigned b = 0; b < kIndirectPointers; ++b) {
    if (indirect.address[b] == 0 || claim(ino, kDirectPointers + b, indirect.address[b])) continue;
    indirect.address[b] = 0;
    changed = true;
  }
  if (changed && mends()) write_disk(inode.indirect, &indirect, sizeof indirect);
}

void Fsck::unclaim_blocks(Ino ino) {
  const Inode& inode = inodes_[ino];
  const auto unclaim = [&](Address address) {
    if (layout_.is_data(address)) used_ &= ~(uint64_t{1} << layout_.index_of(address));
  };
  for (const Address address : inode.direct) unclaim(address);
  if (inode.indirect == 0) return;
  for (const Address address : read_as<IndirectBlock>(inode.indirect).address) unclaim(address);
  unclaim(inode.indirect);
}

// --- pass 2: directories ---

bool Fsck::name_is_new(Ino directory, const Entry& entry, unsigned index) {
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    const Address address = inodes_[directory].direct[b];
    if (address == 0 || b * kEntries > index) continue;
    const auto block = read_as<DirectoryBlock>(address);
    for (unsigned e = 0; e < kEntries && b * kEntries + e < index; ++e) {
      const Entry& other = block.entries[e];
      if (other.ino != 0 && is_good_entry(other, config_.inodes) && name_of(other) == name_of(entry))
        return false;
    }
  }
  return true;
}

// Whether the entry may stay. `index` counts the entries of the directory.
bool Fsck::visit_entry(Ino directory, const DirectoryBlock& block, unsigned at, unsigned index) {
  const Entry& entry = block.entries[at];
  const bool good = is_good_entry(entry, config_.inodes);
  const auto ino = static_cast<Ino>(good ? entry.ino : 0);
  if (!good || inodes_[ino].type != entry.type || (entry.type == Type::kDirectory && names_[ino] != 0)) {
    say(kBadEntry, {directory, index, entry.ino});
    return false;
  }
  if (!name_is_new(directory, entry, index)) {
    say(kSecondName, {directory, index});
    return false;
  }
  ++names_[ino];
  if (entry.type != Type::kDirectory) return true;
  ++subdirectories_[directory];
  if (inodes_[ino].parent != directory) {
    say(kWrongParent, {ino, inodes_[ino].parent, directory});
    inodes_[ino].parent = directory;
    changed_ |= only(ino);
  }
  visit(ino);
  return true;
}

// fsck_drops: whether any entry of the directory cannot be.
bool Fsck::has_bad_entry(Ino directory) {
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    const Address address = inodes_[directory].direct[b];
    if (address == 0) continue;
    const auto block = read_as<DirectoryBlock>(address);
    for (unsigned e = 0; e < kEntries; ++e) {
      const Entry& entry = block.entries[e];
      if (entry.ino == 0) continue;
      if (is_good_entry(entry, config_.inodes) && inodes_[entry.ino].type == entry.type) continue;
      say(kBadEntry, {directory, b * kEntries + e, entry.ino});
      return true;
    }
  }
  return false;
}

void Fsck::visit(Ino directory) {
  // The planted bug gives up the whole directory.
  if (config_.fsck.drops && has_bad_entry(directory)) return empty_directory(directory);
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    const Address address = inodes_[directory].direct[b];
    if (address == 0) continue;
    auto block = read_as<DirectoryBlock>(address);
    bool changed = false;
    for (unsigned e = 0; e < kEntries; ++e) {
      if (block.entries[e].ino == 0 || visit_entry(directory, block, e, b * kEntries + e)) continue;
      block.entries[e] = {};
      changed = true;
    }
    if (changed && mends()) write_disk(address, &block, sizeof block);
  }
}

void Fsck::empty_directory(Ino directory) {
  if (!mends()) return;
  const DirectoryBlock nothing{};
  for (const Address address : inodes_[directory].direct) {
    if (address != 0) write_disk(address, &nothing, sizeof nothing);
  }
}

// --- passes 3 to 5 ---

void Fsck::check_connected() {
  for (Ino ino = 2; ino < static_cast<Ino>(config_.inodes); ++ino) {
    const bool orphan = (memory_.orphans & only(ino)) != 0;
    const bool there = inodes_[ino].type != Type::kFree;
    if (orphan && (names_[ino] != 0 || !there)) {
      say(kNamedOrphan, {ino});
      memory_.orphans &= static_cast<InoSet>(~only(ino));
      maps_changed_ = true;
    }
    if (!there || names_[ino] != 0 || orphan) continue;
    say(kUnreached, {ino});
    unclaim_blocks(ino);
    inodes_[ino] = {};
    changed_ |= only(ino);
    memory_.inode_map &= static_cast<InoSet>(~only(ino));
    maps_changed_ = true;
  }
}

void Fsck::check_links() {
  for (Ino ino = 1; ino < static_cast<Ino>(config_.inodes); ++ino) {
    if (inodes_[ino].type == Type::kFree) continue;
    const bool directory = inodes_[ino].type == Type::kDirectory;
    const unsigned links = directory ? 2u + subdirectories_[ino] : names_[ino];
    if (inodes_[ino].links == links || (directory && names_[ino] == 0)) continue;
    say(kWrongLinks, {ino, inodes_[ino].links, links});
    inodes_[ino].links = static_cast<uint8_t>(links);
    changed_ |= only(ino);
  }
}

void Fsck::check_maps() {
  for (uint64_t wrong = used_ ^ memory_.block_map; wrong != 0; wrong &= wrong - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(wrong));
    say((used_ >> i & 1) != 0 ? kLostBlock : kDeadBlock, {layout_.data(i)});
    maps_changed_ = true;
  }
  memory_.block_map = used_;
  for (Ino ino = 2; ino < static_cast<Ino>(config_.inodes); ++ino) {
    const bool there = inodes_[ino].type != Type::kFree;
    if (there == ((memory_.inode_map & only(ino)) != 0)) continue;
    say(there ? kLostInode : kUnusedInode, {ino});
    memory_.inode_map ^= only(ino);
    maps_changed_ = true;
  }
}

void Fsck::write_back() {
  for (unsigned first = 0; first < config_.inodes; first += kInodesInBlock) {
    if ((changed_ >> first & 0xF) == 0) continue;
    InodeBlock block{};
    for (unsigned i = first; i < std::min(first + kInodesInBlock, config_.inodes); ++i)
      block.inodes[i - first] = inodes_[i];
    write_disk(layout_.inode_block(static_cast<Ino>(first)), &block, sizeof block);
  }
  if (!maps_changed_ || !config_.fsck.writes_map) return;
  const BlockMap blocks{memory_.block_map};
  const InodeMap inodes{memory_.inode_map, memory_.orphans};
  write_disk(layout_.block_map(), &blocks, sizeof blocks);
  write_disk(layout_.inode_map(), &inodes, sizeof inodes);
}

}  // namespace sisyfs::journal
