// The disk of the journal model: where everything lies, and what the bytes of each block mean.
//
//   superblock | journal superblock | ring of the journal | block map | inode map | inode table | data
//
// Blocks have 64 bytes. A record of the journal is one transaction: a revoke block if blocks that lie in the
// journal were freed, descriptors with the copies that they describe behind each, and a commit block. All
// structures are without padding, start at byte 0 of their block, and are copied in and out.
//
//   const Layout layout(config);
//   layout.ring(3);               // the address of the fourth block of the ring
//   layout.inode_block(5);        // the block of the inode table that holds inode 5
#pragma once

#include <array>
#include <cstdint>

#include "models/journal/config.h"

namespace sisyfs::journal {

using Ino = uint8_t;      // names an inode; 0 is none
using Address = uint8_t;  // of a block on the disk; 0 is none, for no pointer leads to the superblock

inline constexpr unsigned kBlockSize = 64;
inline constexpr Ino kRootIno = 1;
inline constexpr unsigned kInodesInBlock = 4;
inline constexpr unsigned kDirectPointers = 4;    // blocks that an inode points to
inline constexpr unsigned kIndirectPointers = 8;  // blocks that an indirect block points to
inline constexpr unsigned kMaxFileBlocks = kDirectPointers + kIndirectPointers;
inline constexpr unsigned kEntries = 4;  // of a directory block
inline constexpr unsigned kNameLength = 8;
inline constexpr unsigned kMaxBlocks = 128;  // of the disk

// The kind of a block.
enum class Kind : uint8_t {
  kUnknown,
  kSuper,
  kJournalSuper,
  kRevoke,
  kDescriptor,
  kCopy,
  kCommit,
  kBlockMap,
  kInodeMap,
  kInodes,
  kDirectory,
  kIndirect,
  kSymlink,
  kData,
  kHome,
};

struct Super {
  uint32_t magic;
  uint8_t blocks, inodes, journal;  // as in the configuration
  uint8_t clean;                    // the journal is not needed
};
inline constexpr uint32_t kSuperMagic = 0x4A4F5552;

// Where a replay starts. There is no record if the block there does not have this sequence number.
struct JournalSuper {
  uint32_t magic;
  uint32_t sequence;
  uint8_t start;  // in the ring
  std::array<uint8_t, 3> unused;
};
inline constexpr uint32_t kJournalMagic = 0x4A53424A;

enum class Part : uint8_t { kNone, kDescriptor, kRevoke, kCommit };

// What all blocks of a record but the copies start with.
struct Header {
  uint16_t magic;
  Part part;
  uint8_t count;  // of tags or of revoked blocks
  uint32_t sequence;
};
inline constexpr uint16_t kRecordMagic = 0x4A52;

inline constexpr unsigned kTags = 10, kRevokes = 48;
struct Descriptor {
  Header header;
  std::array<Address, kTags> address;  // where the copies belong that follow
  std::array<uint8_t, 2> unused;
  std::array<uint32_t, kTags> check;  // of their bytes and the sequence number; with Record::kBarrier 0
};
struct RevokeBlock {
  Header header;
  std::array<Address, kRevokes> address;
};

struct BlockMap {
  uint64_t used;  // a bit for each block of the data area
};
struct InodeMap {
  uint16_t used;
  uint16_t orphans;  // in use, without a name, to be freed
};

enum class Type : uint8_t { kFree, kFile, kDirectory, kSymlink };

struct Inode {
  Type type;
  uint8_t links;
  uint16_t size;  // in bytes; of a directory 0
  Ino parent;     // of a directory
  std::array<Address, kDirectPointers> direct;
  Address indirect;  // of a file
  std::array<uint8_t, 6> unused;
};
struct InodeBlock {
  std::array<Inode, kInodesInBlock> inodes;
};
struct IndirectBlock {
  std::array<Address, kIndirectPointers> address;
};

struct Entry {
  uint16_t ino;  // 0: free
  Type type;
  uint8_t name_length;
  std::array<char, kNameLength> name;
};
struct DirectoryBlock {
  std::array<Entry, kEntries> entries;
};

static_assert(sizeof(Super) == 8 && sizeof(JournalSuper) == 12 && sizeof(Header) == 8 &&
                  sizeof(Descriptor) == 60 && sizeof(Inode) == 16 && sizeof(Entry) == 12,
              "no structure has padding");
static_assert(sizeof(InodeBlock) <= kBlockSize && sizeof(DirectoryBlock) <= kBlockSize &&
              sizeof(Descriptor) <= kBlockSize && sizeof(RevokeBlock) <= kBlockSize);
static_assert(1 + kMaxJournal + 2 + kMaxInodes / kInodesInBlock + kMaxDataBlocks <= kMaxBlocks);

class Layout {
 public:
  explicit Layout(const Config& config)
      : ring_blocks_(config.journal - 1),
        maps_(1 + config.journal),
        inodes_(maps_ + 2),
        data_(inodes_ + (config.inodes + kInodesInBlock - 1) / kInodesInBlock),
        end_(data_ + config.blocks) {}

  unsigned block_count() const { return end_; }
  unsigned ring_blocks() const { return ring_blocks_; }
  static constexpr Address super() { return 0; }
  static constexpr Address journal_super() { return 1; }
  Address ring(unsigned position) const { return address(2 + position % ring_blocks_); }
  Address block_map() const { return address(maps_); }
  Address inode_map() const { return address(maps_ + 1); }
  Address inode_block(Ino ino) const { return address(inodes_ + ino / kInodesInBlock); }
  Address data(unsigned index) const { return address(data_ + index); }

  bool is_data(unsigned a) const { return a >= data_ && a < end_; }
  bool is_map(unsigned a) const { return a == maps_ || a == maps_ + 1; }
  bool is_inodes(unsigned a) const { return a >= inodes_ && a < data_; }
  // Whether a journal may hold a copy of this block.
  bool is_home(unsigned a) const { return a >= maps_ && a < end_; }
  unsigned index_of(Address a) const { return a - data_; }
  unsigned first_inode(Address a) const { return (a - inodes_) * kInodesInBlock; }
  // The kind of the block at an address, as far as the address decides it.
  Kind kind_of(Address a) const {
    if (a == block_map()) return Kind::kBlockMap;
    if (a == inode_map()) return Kind::kInodeMap;
    return is_inodes(a) ? Kind::kInodes : Kind::kHome;
  }

 private:
  static Address address(unsigned a) { return static_cast<Address>(a); }

  unsigned ring_blocks_;
  unsigned maps_, inodes_, data_, end_;
};

}  // namespace sisyfs::journal
