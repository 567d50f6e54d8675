// Transactions: from the pool to the journal, and from the journal to where the blocks belong.
//
// A commit writes, in this order: the data that the mode wants before it; a record with a copy of every
// block that changed; a flush; the commit block; a flush. From then on a power cut brings the transaction
// back. The blocks themselves are written later, by a checkpoint of all that the journal holds: when the
// ring has no room for the next record, at sync, and at unmount. After a flush the journal's superblock
// then says where the next record begins, and after another the room is used again.
#include <algorithm>
#include <bit>

#include "base/digest.h"
#include "models/journal/core.h"

namespace sisyfs::journal {

int Core::reserve(const Needs& needs) {
  if (failed_ != 0) return failed_;
  // A commit that failed may come back, with the blocks that it took. None of them is used before it cannot.
  if (memory_.skip != 0 && restart_journal() != 0) return failed_;
  const unsigned logged = needs.metadata + (is_logged(Kind::kData) ? needs.data : 0);
  const auto fits = [&] {
    return logged_page_count() + logged <= max_logged() &&
           page_count() + needs.metadata + needs.data <= kMaxPages;
  };
  const auto has_blocks = [&] {
    const uint64_t free = all_blocks() & ~(memory_.block_map | memory_.committed_map);
    return static_cast<unsigned>(std::popcount(free)) >= needs.blocks;
  };
  // What was freed since the last commit can be used after the next.
  const bool frees = (memory_.committed_map & ~memory_.block_map) != 0;
  if (!fits() || (!has_blocks() && frees)) {
    marks_ |= kForcedCommit;
    if (const int error = commit(true)) return error;
  }
  if (!fits()) return ENOSPC;
  if (!has_blocks()) {
    marks_ |= kDiskFull;
    return ENOSPC;
  }
  if (needs.inodes > config_.inodes - static_cast<unsigned>(std::popcount(memory_.inode_map))) {
    marks_ |= kInodesUsedUp;
    return ENOSPC;
  }
  return 0;
}

// What fails is undone, all of it: but for the planted bug.
int Core::end(Ending ending) {
  if (failed_ == 0 && (config_.sync_mount || ending == Ending::kWriteSync)) {
    if (ending != Ending::kOp && !config_.osync_metadata) {
      write_data(true, 0);
      if (memory_.unflushed != 0) flush_disk();
    } else {
      failed_ = commit(true);
    }
  }
  if (failed_ == 0) return 0;
  const uint32_t sequence = memory_.sequence;
  const uint8_t skip = memory_.skip;
  const unsigned leaked = config_.abort_leak ? find_page(entry_block_) : kNoPage;
  if (leaked != kNoPage) std::memcpy(scratch_.data(), page_bytes(leaked), kBlockSize);
  memory_ = backup_;
  if (skip != 0) memory_.sequence = sequence, memory_.skip = skip;
  if (leaked != kNoPage) std::memcpy(edit(entry_block_, Kind::kDirectory), scratch_.data(), kBlockSize);
  return failed_;
}

unsigned Core::record_size() const {
  const unsigned copies = logged_page_count();
  const bool revokes = (memory_.revoked[0] | memory_.revoked[1]) != 0;
  return (revokes ? 1 : 0) + copies + (copies + kTags - 1) / kTags + 1;
}

// Writes data to its place: all of it, or that of one file.
void Core::write_data(bool all, Ino synced) {
  if (is_logged(Kind::kData)) return;
  std::array<Address, kMaxFileBlocks> wanted{};
  if (!all && synced != 0) {
    const Inode file = inode(synced);
    for (unsigned b = 0; b < kMaxFileBlocks && file.type == Type::kFile; ++b) wanted[b] = block_of(file, b);
  }
  for (unsigned p = 0; p < kMaxPages && memory_.keys[p].address != 0;) {
    const Address address = memory_.keys[p].address;
    const bool mine = all || std::find(wanted.begin(), wanted.end(), address) != wanted.end();
    if (memory_.keys[p].kind != Kind::kData || !mine || failed_ != 0) {
      ++p;
      continue;
    }
    write_disk(address, page_bytes(p), kBlockSize);
    if (failed_ == 0) drop_page(p);
  }
}

// Makes the running transaction durable. Only writeback leaves data behind: all but that of `synced`, unless
// all of it is asked for.
int Core::commit(bool all_data, Ino synced) {
  commit_backup_ = memory_;
  write_data(all_data || config_.mode != Mode::kWriteback, synced);
  if (logged_page_count() != 0 || (memory_.revoked[0] | memory_.revoked[1]) != 0)
    write_record(synced);
  else if (memory_.skip != 0)
    checkpoint(false);  // what failed must not come back any more
  else if (memory_.unflushed != 0)
    flush_disk();
  if (failed_ != 0) {
    // Half a record may be out there with this number: the next one has to be told from it.
    memory_ = commit_backup_;
    ++memory_.sequence;
    memory_.skip = 1;
    return failed_;
  }
  write_data(true, 0);
  return failed_;
}

void Core::write_record(Ino synced) {
  const bool before =
      config_.commit_barrier == CommitBarrier::kBoth || config_.commit_barrier == CommitBarrier::kNoAfter;
  const bool after =
      config_.commit_barrier == CommitBarrier::kBoth || config_.commit_barrier == CommitBarrier::kNoBefore;
  if (memory_.used + record_size() > layout_.ring_blocks() || memory_.skip != 0) checkpoint(false);
  // A record that shows by itself whether it is whole needs no flush inside, but data has to be before it.
  const bool barrier_inside = config_.record == Record::kBarrier;
  if (!barrier_inside && before && memory_.unflushed != 0) flush_disk();

  unsigned at = memory_.head;
  const unsigned size = record_size();
  if ((memory_.revoked[0] | memory_.revoked[1]) != 0) {
    RevokeBlock revoke{.header = {kRecordMagic, Part::kRevoke, 0, memory_.sequence}, .address = {}};
    for (unsigned a = 0; a < kMaxBlocks && revoke.header.count < kRevokes; ++a) {
      if ((memory_.revoked[a / 64] >> a % 64 & 1) == 0) continue;
      revoke.address[revoke.header.count++] = static_cast<Address>(a);
    }
    write_disk(layout_.ring(at++), &revoke, sizeof revoke);
    for (unsigned i = 0; i < revoke.header.count; ++i) memory_.logged[revoke.address[i]] = 0;
    memory_.revoked = {};
  }
  std::array<uint8_t, kMaxPages> list{};
  unsigned count = 0;
  for (unsigned p = 0; p < kMaxPages && memory_.keys[p].address != 0; ++p) {
    const Kind kind = memory_.keys[p].kind;
    if (is_logged(kind) && !stays_out(kind)) list[count++] = static_cast<uint8_t>(p);
  }
  write_copies(list, count, synced, &at);
  if (barrier_inside && before) flush_disk();
  const Header commit_block{kRecordMagic, Part::kCommit, 0, memory_.sequence};
  write_disk(layout_.ring(at++), &commit_block, sizeof commit_block);
  if (after) flush_disk();

  if (at > layout_.ring_blocks()) marks_ |= kWrapped;
  memory_.head = static_cast<uint8_t>(at % layout_.ring_blocks());
  memory_.used = static_cast<uint8_t>(memory_.used + size);
  memory_.committed_map = memory_.block_map;
  ++memory_.sequence;
  marks_ |= kCommitted;
}

// Descriptors with their copies. The pages are clean then, and go.
void Core::write_copies(const std::array<uint8_t, kMaxPages>& list, unsigned count, Ino synced,
                        unsigned* at) {
  std::array<bool, kMaxPages> keep{};
  for (unsigned first = 0; first < count; first += kTags) {
    const unsigned tags = std::min(kTags, count - first);
    Descriptor descriptor{};
    descriptor.header = {kRecordMagic, Part::kDescriptor, static_cast<uint8_t>(tags), memory_.sequence};
    std::array<std::array<std::byte, kBlockSize>, kTags> copies;
    for (unsigned i = 0; i < tags; ++i) {
      const unsigned page = list[first + i];
      const Address address = memory_.keys[page].address;
      std::memcpy(copies[i].data(), page_bytes(page), kBlockSize);
      if (!config_.fsync.size && synced != 0) keep[page] = forget_size(address, synced, copies[i].data());
      descriptor.address[i] = address;
      if (config_.record != Record::kBarrier)
        descriptor.check[i] = static_cast<uint32_t>(digest_of(copies[i], memory_.sequence).lo);
    }
    write_disk(layout_.ring((*at)++), &descriptor, sizeof descriptor);
    for (unsigned i = 0; i < tags; ++i) {
      const unsigned place = (*at)++ % layout_.ring_blocks();
      write_disk(layout_.ring(place), copies[i].data(), kBlockSize);
      memory_.logged[descriptor.address[i]] = static_cast<uint8_t>(place + 1);
    }
  }
  for (unsigned i = count; i-- > 0;) {
    if (!keep[list[i]]) drop_page(list[i]);
  }
}

// fsync_size off: puts the size into the copy that the last commit has. Whether that is another one.
bool Core::forget_size(Address address, Ino synced, std::byte* bytes) {
  if (address != layout_.inode_block(synced)) return false;
  std::array<std::byte, kBlockSize> old;
  read_committed(address, old.data());
  const unsigned at = synced % kInodesInBlock;
  auto block = read_from<InodeBlock>(bytes);
  const auto before = read_from<InodeBlock>(old.data());
  if (block.inodes[at].type != Type::kFile || block.inodes[at].size == before.inodes[at].size) return false;
  block.inodes[at].size = before.inodes[at].type == Type::kFile ? before.inodes[at].size : uint16_t{0};
  std::memcpy(bytes, &block, sizeof block);
  return true;
}

void Core::write_journal_super() {
  const JournalSuper super{kJournalMagic, memory_.sequence, memory_.head, {}};
  write_disk(Layout::journal_super(), &super, sizeof super);
}

// Writes what the journal holds to its place, and clears the journal.
void Core::checkpoint(bool by_sync) {
  if (memory_.used == 0 && memory_.skip == 0) return;
  std::array<std::byte, kBlockSize> block;
  for (unsigned a = 0; a < layout_.block_count(); ++a) {
    const auto address = static_cast<Address>(a);
    if (memory_.logged[a] == 0) continue;
    if (by_sync && !config_.sync_bitmap && layout_.is_map(a)) {
      memory_.stale_maps = 1;
      continue;
    }
    read_committed(address, block.data());
    write_disk(address, block.data(), kBlockSize);
  }
  flush_disk();
  write_journal_super();
  flush_disk();
  if (failed_ != 0) return;
  memory_.logged = {};
  memory_.used = 0;
  memory_.skip = 0;
  marks_ |= kCheckpointed;
  // That is done, whatever becomes of the op that needed it.
  for (Memory* undone : {&backup_, &commit_backup_}) {
    undone->logged = memory_.logged;
    undone->used = memory_.used;
    undone->skip = memory_.skip;
    undone->head = memory_.head;
    undone->sequence = memory_.sequence;
    undone->stale_maps = memory_.stale_maps;
  }
}

// Brings the journal back into use after a commit that failed.
int Core::restart_journal() {
  commit_backup_ = memory_;
  checkpoint(false);
  if (failed_ == 0) return 0;
  memory_ = commit_backup_;
  memory_.skip = 1;
  ++memory_.sequence;
  return failed_;
}

int Core::fsync(std::string_view path) {
  failed_ = 0;
  const Found at = find(path, Last::kFollow);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  const Type type = inode(at.node).type;
  if (failed_ != 0) return failed_;
  // The planted bug: the file is synced, and the name that leads to it is not.
  leave_directories_ = !config_.fsync.parent && type == Type::kFile;
  const int error = commit(false, at.node);
  leave_directories_ = false;
  return error;
}

int Core::sync() {
  failed_ = 0;
  if (const int error = commit(true)) return error;
  commit_backup_ = memory_;
  checkpoint(true);
  if (failed_ != 0) {
    memory_ = commit_backup_;
    memory_.skip = 1;
    ++memory_.sequence;
  }
  return failed_;
}

}  // namespace sisyfs::journal
