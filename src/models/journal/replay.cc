// Replay: what the journal holds comes to where it belongs.
//
// The scan goes from the place and the sequence number in the journal's superblock from record to record, and
// ends at the first that is not whole. It only notes where the newest copy of each block lies
// (Memory::logged), so a check that may not write sees the same through it. A revoke record drops what the
// records before it said of a block: the block was freed then, and may hold file data now, which the journal
// has no copy of.
#include "base/digest.h"
#include "models/journal/core.h"

namespace sisyfs::journal {

// Notes the copies that a descriptor at this place tells of. False if it says what cannot be.
bool Core::take_tags(const Descriptor& descriptor, unsigned at, RecordTags& tags) {
  for (unsigned i = 0; i < descriptor.header.count; ++i) {
    const Address address = descriptor.address[i];
    if (!layout_.is_home(address) || tags.count == kMaxJournal) return false;
    const unsigned place = (at + 1 + i) % layout_.ring_blocks();
    if (config_.record == Record::kTagged) {
      std::array<std::byte, kBlockSize> copy;
      read_disk(layout_.ring(place), copy.data());
      if (static_cast<uint32_t>(digest_of(copy, descriptor.header.sequence).lo) != descriptor.check[i])
        return false;
    }
    tags.address[tags.count] = address;
    tags.place[tags.count++] = static_cast<uint8_t>(place);
  }
  return true;
}

// Reads the record of memory_.sequence at this place of the ring. Its blocks, at most `limit`; 0 if there is
// no whole one.
unsigned Core::parse_record(unsigned at, unsigned limit, RecordTags& tags) {
  tags.count = tags.revokes = 0;
  std::array<std::byte, kBlockSize> block;
  for (unsigned length = 0; length < limit;) {
    read_disk(layout_.ring(at + length), block.data());
    const auto header = read_from<Header>(block.data());
    if (header.magic != kRecordMagic || header.sequence != memory_.sequence) {
      if (length != 0) marks_ |= kTornRecord, torn_ = true;
      return 0;
    }
    if (header.part == Part::kCommit) return length + 1;
    torn_ = true;  // unless a commit block follows
    if (header.part == Part::kDescriptor) {
      const bool fits = header.count != 0 && header.count <= kTags && length + header.count + 1 < limit;
      if (!fits || !take_tags(read_from<Descriptor>(block.data()), at + length, tags)) {
        marks_ |= kTornRecord;
        return 0;
      }
      length += header.count + 1u;
    } else if (header.part == Part::kRevoke && header.count <= kRevokes) {
      const auto revoke = read_from<RevokeBlock>(block.data());
      for (unsigned i = 0; i < header.count && tags.revokes < tags.revoked.size(); ++i)
        tags.revoked[tags.revokes++] = revoke.address[i];
      ++length;
    } else {
      return 0;
    }
  }
  return 0;
}

void Core::apply_record(const RecordTags& tags) {
  for (unsigned i = 0; i < tags.revokes && config_.revoke; ++i) {
    if (tags.revoked[i] >= kMaxBlocks || memory_.logged[tags.revoked[i]] == 0) continue;
    memory_.logged[tags.revoked[i]] = 0;
    marks_ |= kRevokeUsed;
  }
  for (unsigned i = 0; i < tags.count; ++i) {
    memory_.logged[tags.address[i]] = static_cast<uint8_t>(tags.place[i] + 1);
    if (!config_.reuse_checked) note_types(tags.address[i]);
  }
}

// reuse_checked off: remembers which inodes the journal has changed as directories and then as files.
void Core::note_types(Address address) {
  if (!layout_.is_inodes(address)) return;
  const auto block = read_as<InodeBlock>(address);
  for (unsigned i = 0; i < kInodesInBlock; ++i) {
    const InoSet one = only(static_cast<Ino>(layout_.first_inode(address) + i));
    if (block.inodes[i].type == Type::kDirectory) directories_ |= one;
    if (block.inodes[i].type == Type::kFile && (directories_ & one) != 0) confused_ |= one;
  }
}

void Core::scan_journal(const JournalSuper& super) {
  memory_.sequence = super.sequence;
  memory_.head = super.start;
  memory_.used = 0;
  torn_ = false;
  directories_ = confused_ = 0;
  const unsigned ring = layout_.ring_blocks();
  while (memory_.used < ring) {
    const unsigned length = parse_record(memory_.head, ring - memory_.used, tags_);
    if (length == 0 || failed_ != 0) return;
    torn_ = false;
    apply_record(tags_);
    memory_.head = static_cast<uint8_t>((memory_.head + length) % ring);
    memory_.used = static_cast<uint8_t>(memory_.used + length);
    ++memory_.sequence;
  }
}

// Brings what the scan has found to its place, and clears the journal.
void Core::replay(bool in_fsck) {
  if (failed_ != 0) return;
  std::array<std::byte, kBlockSize> block;
  for (unsigned a = 0; a < layout_.block_count(); ++a) {
    if (memory_.logged[a] == 0) continue;
    marks_ |= kReplayed;
    if (in_fsck && !config_.fsck.writes_map && layout_.is_map(a)) continue;
    const auto address = static_cast<Address>(a);
    read_committed(address, block.data());
    if (confused_ != 0 && layout_.is_inodes(a)) {
      auto inodes = read_from<InodeBlock>(block.data());
      for (unsigned i = 0; i < kInodesInBlock; ++i) {
        Inode& one = inodes.inodes[i];
        if ((confused_ >> (layout_.first_inode(address) + i) & 1) == 0 || one.type != Type::kFile) continue;
        one.size = 0, one.direct = {}, one.indirect = 0;
      }
      std::memcpy(block.data(), &inodes, sizeof inodes);
    }
    write_disk(address, block.data(), kBlockSize);
  }
  if (in_fsck) load_maps();
  if (memory_.used != 0 && (in_fsck ? config_.fsck.flushes : config_.replay_flush)) flush_disk();
  if (failed_ != 0 || (memory_.used == 0 && !torn_)) return;
  // What was not whole must not be taken for a part of the next record.
  if (torn_) ++memory_.sequence;
  memory_.logged = {};
  memory_.used = 0;
  write_journal_super();
  flush_disk();
}

}  // namespace sisyfs::journal
