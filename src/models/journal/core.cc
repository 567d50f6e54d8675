#include "models/journal/core.h"

#include <algorithm>
#include <bit>

namespace sisyfs::journal {

// --- blocks ---

unsigned Core::find_page(Address address) const {
  for (unsigned p = 0; p < kMaxPages && memory_.keys[p].address != 0; ++p) {
    if (memory_.keys[p].address == address) return p;
  }
  return kNoPage;
}

unsigned Core::page_count() const {
  unsigned count = 0;
  while (count < kMaxPages && memory_.keys[count].address != 0) ++count;
  return count;
}

unsigned Core::logged_page_count() const {
  unsigned count = 0;
  for (unsigned p = 0; p < kMaxPages && memory_.keys[p].address != 0; ++p) {
    if (is_logged(memory_.keys[p].kind) && !stays_out(memory_.keys[p].kind)) ++count;
  }
  return count;
}

// Keeps the order of the others, so that the memory says nothing of pages that are gone.
void Core::drop_page(unsigned page) {
  const unsigned behind = page_count() - page - 1;
  std::memmove(&memory_.keys[page], &memory_.keys[page + 1], behind * sizeof(PageKey));
  std::memmove(page_bytes(page), page_bytes(page + 1), size_t{behind} * kBlockSize);
  memory_.keys[page + behind] = {};
  std::memset(page_bytes(page + behind), 0, kBlockSize);
}

void Core::read_disk(Address address, std::byte* out) {
  if (disk_->read(BlockAddress(address), {out, kBlockSize}) == IoStatus::kOk) return;
  std::memset(out, 0, kBlockSize);
  failed_ = EIO;
}

void Core::read_committed(Address address, std::byte* out) {
  const unsigned place = memory_.logged[address];
  read_disk(place == 0 ? address : layout_.ring(place - 1), out);
}

void Core::read_block(Address address, std::byte* out) {
  const unsigned page = find_page(address);
  if (page == kNoPage)
    read_committed(address, out);
  else
    std::memcpy(out, page_bytes(page), kBlockSize);
}

const std::byte* Core::bytes_of(Address address, std::array<std::byte, kBlockSize>& buffer) {
  const unsigned page = find_page(address);
  if (page != kNoPage) return page_bytes(page);
  read_committed(address, buffer.data());
  return buffer.data();
}

// After a failure nothing is written any more by the same op: a commit block, above all, would lie.
void Core::write_disk(Address address, const void* bytes, size_t size) {
  if (failed_ != 0) return;
  std::array<std::byte, kBlockSize> block{};
  std::memcpy(block.data(), bytes, size);
  if (disk_->write(BlockAddress(address), block) != IoStatus::kOk) failed_ = EIO;
  memory_.unflushed = 1;
}

void Core::flush_disk() {
  if (failed_ != 0) return;
  if (disk_->flush() == IoStatus::kOk)
    memory_.unflushed = 0;
  else
    failed_ = EIO;
}

std::byte* Core::edit(Address address, Kind kind, bool fresh) {
  unsigned page = find_page(address);
  if (page != kNoPage) return page_bytes(page);
  page = page_count();
  if (page == kMaxPages || address == 0) {
    if (failed_ == 0) failed_ = address == 0 ? EIO : ENOSPC;
    return scratch_.data();
  }
  if (fresh)
    std::memset(page_bytes(page), 0, kBlockSize);
  else
    read_committed(address, page_bytes(page));
  memory_.keys[page] = {address, kind};
  return page_bytes(page);
}

// --- inodes and maps ---

Inode Core::inode(Ino ino) {
  if (ino == 0 || ino >= config_.inodes) {
    failed_ = EIO;
    return {};
  }
  std::array<std::byte, kBlockSize> buffer;
  return read_from<Inode>(bytes_of(layout_.inode_block(ino), buffer) + ino % kInodesInBlock * sizeof(Inode));
}

void Core::put_inode(Ino ino, const Inode& value) {
  if (ino == 0 || ino >= config_.inodes) {
    failed_ = EIO;
    return;
  }
  std::byte* block = edit(layout_.inode_block(ino), Kind::kInodes);
  std::memcpy(block + ino % kInodesInBlock * sizeof(Inode), &value, sizeof value);
}

void Core::save_inode_map() {
  put(layout_.inode_map(), Kind::kInodeMap, InodeMap{memory_.inode_map, memory_.orphans});
}

void Core::save_block_map() { put(layout_.block_map(), Kind::kBlockMap, BlockMap{memory_.block_map}); }

uint64_t Core::all_blocks() const {
  return config_.blocks == 64 ? ~uint64_t{0} : (uint64_t{1} << config_.blocks) - 1;
}

// The first free inode; 0 and ENOSPC if there is none.
Ino Core::take_inode() {
  const auto ino = static_cast<unsigned>(std::countr_one(memory_.inode_map));
  if (ino >= config_.inodes) {
    marks_ |= kInodesUsedUp;
    if (failed_ == 0) failed_ = ENOSPC;
    return 0;
  }
  memory_.inode_map |= only(static_cast<Ino>(ino));
  save_inode_map();
  return static_cast<Ino>(ino);
}

// A block that neither is in use nor was in the last commit: until the next commit that may come back.
Address Core::take_block() {
  const uint64_t free = all_blocks() & ~(memory_.block_map | memory_.committed_map);
  if (free == 0) {
    marks_ |= kDiskFull;
    if (failed_ == 0) failed_ = ENOSPC;
    return 0;
  }
  const auto index = static_cast<unsigned>(std::countr_zero(free));
  memory_.block_map |= uint64_t{1} << index;
  save_block_map();
  return layout_.data(index);
}

void Core::free_block(Address address) {
  if (!layout_.is_data(address)) return;
  memory_.block_map &= ~(uint64_t{1} << layout_.index_of(address));
  save_block_map();
  if (const unsigned page = find_page(address); page != kNoPage) drop_page(page);
  // The copy in the journal must not be replayed over what the block will hold.
  if (memory_.logged[address] != 0) memory_.revoked[address / 64] |= uint64_t{1} << address % 64;
}

void Core::free_inode(Ino ino) {
  Inode gone = inode(ino);
  if (failed_ != 0) return;
  free_blocks(gone, 0);
  put_inode(ino, Inode{});
  const auto others = static_cast<InoSet>(~only(ino));
  memory_.inode_map &= others;
  memory_.orphans &= others;
  memory_.open &= others;
  save_inode_map();
}

void Core::free_orphans() {
  for (Ino ino = 2; ino < config_.inodes && failed_ == 0; ++ino) {
    if ((memory_.orphans & only(ino)) == 0) continue;
    if (failed_ = reserve({.metadata = 4}); failed_ != 0) return;
    free_inode(ino);
    marks_ |= kOrphanFreed;
  }
}

// --- the life of the system ---

unsigned Core::count_logged() const {
  const unsigned ring = layout_.ring_blocks();
  unsigned n = 0;
  while (n < kMaxPages && n + 1 + (n + kTags) / kTags + 2 <= ring) ++n;
  return n;
}

void Core::write_super(bool clean) {
  const Super super{kSuperMagic, static_cast<uint8_t>(config_.blocks), static_cast<uint8_t>(config_.inodes),
                    static_cast<uint8_t>(config_.journal), static_cast<uint8_t>(clean)};
  write_disk(Layout::super(), &super, sizeof super);
}

int Core::read_supers(Super* super, JournalSuper* journal) {
  *super = read_as<Super>(Layout::super());
  *journal = read_as<JournalSuper>(Layout::journal_super());
  const bool good = super->magic == kSuperMagic && super->blocks == config_.blocks &&
                    super->inodes == config_.inodes && super->journal == config_.journal &&
                    super->clean <= 1 && journal->magic == kJournalMagic &&
                    journal->start < layout_.ring_blocks();
  return failed_ != 0 || !good ? EIO : 0;
}

void Core::load_maps() {
  memory_.block_map = read_as<BlockMap>(layout_.block_map()).used & all_blocks();
  const auto inodes = read_as<InodeMap>(layout_.inode_map());
  const auto known = static_cast<InoSet>((1u << config_.inodes) - 1);
  memory_.inode_map = static_cast<InoSet>((inodes.used & known) | only(0) | only(kRootIno));
  memory_.orphans = static_cast<InoSet>(inodes.orphans & memory_.inode_map & ~(only(0) | only(kRootIno)));
}

int Core::format(Disk& disk) {
  forget();
  disk_ = &disk;
  failed_ = 0;
  for (unsigned a = 0; a < layout_.block_count(); ++a) write_disk(static_cast<Address>(a), "", 0);
  memory_.sequence = 1;
  write_journal_super();
  const BlockMap blocks{1};
  const InodeMap inodes{static_cast<InoSet>(only(0) | only(kRootIno)), 0};
  InodeBlock table{};
  table.inodes[kRootIno] = {.type = Type::kDirectory,
                            .links = 2,
                            .size = 0,
                            .parent = kRootIno,
                            .direct = {layout_.data(0)},
                            .indirect = 0,
                            .unused = {}};
  write_disk(layout_.block_map(), &blocks, sizeof blocks);
  write_disk(layout_.inode_map(), &inodes, sizeof inodes);
  write_disk(layout_.inode_block(kRootIno), &table, sizeof table);
  write_super(true);
  flush_disk();
  const int error = failed_;
  forget();
  return error;
}

int Core::mount(Disk& disk) {
  forget();
  disk_ = &disk;
  failed_ = 0;
  Super super;
  JournalSuper journal;
  int error = read_supers(&super, &journal);
  if (error == 0) {
    memory_.sequence = journal.sequence;
    memory_.head = journal.start;
    if (super.clean == 0) {
      scan_journal(journal);
      replay(false);
    }
    load_maps();
    memory_.committed_map = memory_.block_map;
    if (inode(kRootIno).type != Type::kDirectory) failed_ = EIO;
  }
  if (error == 0 && failed_ == 0) {
    write_super(false);
    flush_disk();
    memory_.mounted = 1;
    if (memory_.orphans != 0) {
      free_orphans();
      if (failed_ == 0) failed_ = commit(true);
    }
  }
  if (error == 0) error = failed_;
  if (error != 0) forget();
  return error;
}

int Core::unmount() {
  failed_ = 0;
  if (config_.early_clean) {
    write_super(true);
    flush_disk();
  }
  memory_.open = 0;
  free_orphans();
  if (failed_ == 0) failed_ = commit(true);
  if (failed_ == 0) {
    if (memory_.stale_maps != 0) {
      const BlockMap blocks{memory_.block_map};
      const InodeMap inodes{memory_.inode_map, memory_.orphans};
      write_disk(layout_.block_map(), &blocks, sizeof blocks);
      write_disk(layout_.inode_map(), &inodes, sizeof inodes);
    }
    checkpoint(false);
  }
  if (failed_ == 0 && memory_.unflushed != 0) flush_disk();
  if (failed_ == 0) {
    write_super(true);
    flush_disk();
  }
  const int error = failed_;
  forget();
  return error;
}

}  // namespace sisyfs::journal
