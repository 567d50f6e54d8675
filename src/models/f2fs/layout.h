// The disk of the F2FS model: where everything lies, and what the bytes of each block mean.
//
//   pack 0 | pack 1 | SIT copy 0 | SIT copy 1 | NAT copy 0 | NAT copy 1 | SSA | main area
//
// A checkpoint pack is a header, a body and a footer, one block each. The main area is cut into segments of
// four blocks, and each log writes into one segment at a time. All structures are without padding, start at
// byte 0 of their block, and are copied in and out; what follows them is zero.
//
//   const Layout layout(config);
//   layout.sit(1, 3);                    // the address of block 3 of the second copy of the SIT
//   layout.main(segment, 2);             // the third block of a segment
//
// The sizes follow Table 5.4 of the thesis: four entries in each table, four blocks in a segment.
#pragma once

#include <array>
#include <cstdint>

#include "models/f2fs/config.h"

namespace sisyfs::f2fs {

using Nid = uint8_t;       // names a node; 0 is none
using Address = uint16_t;  // of a block on the disk; 0 is none

inline constexpr Nid kRootNid = 1;
inline constexpr Address kNoAddress = 0;
inline constexpr Address kNewAddress = 0xFFFF;  // allocated, and not yet written anywhere: only in memory
inline constexpr unsigned kSegmentBlocks = 4;
inline constexpr unsigned kTableEntries = 4;  // of a SIT, NAT or SSA block, and of an index block
inline constexpr unsigned kInodeData = 2;     // data blocks that an inode points to
inline constexpr unsigned kMaxFileBlocks = kInodeData + kTableEntries + kTableEntries * kTableEntries;
inline uint64_t max_file_size(const Config& config) { return uint64_t{kMaxFileBlocks} * config.block_size; }
inline constexpr unsigned kNameLength = 8;
inline constexpr unsigned kPackBlocks = 3;

// One log for each temperature of data and nodes.
enum Log : uint8_t { kHotData, kWarmData, kColdData, kHotNode, kWarmNode, kColdNode };
inline constexpr unsigned kLogs = 6;

// The first and the last block of a checkpoint pack. The pack counts if both hold the same version.
struct PackEnd {
  uint32_t magic;
  uint32_t version;
};
inline constexpr uint32_t kHeaderMagic = 0x48325346, kFooterMagic = 0x46325346;

struct LogPosition {
  uint8_t segment;
  uint8_t offset;  // of the next block to write, below kSegmentBlocks
  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

struct PackBody {
  std::array<LogPosition, kLogs> logs;
  uint16_t sit_version;  // by SIT block: which copy counts
  uint16_t nat_version;  // by NAT block
  uint16_t used_blocks;
  uint16_t nodes;
};

struct SitEntry {
  uint8_t valid_count;
  uint8_t valid_map;
};
struct SitBlock {
  std::array<SitEntry, kTableEntries> entries;
};

struct NatEntry {
  Address address;
  Nid ino;
  uint8_t version;  // how often the nid was given up
};
struct NatBlock {
  std::array<NatEntry, kTableEntries> entries;
};

// Whose block it is: of a node its nid and kIsNode, of data the node that points to it and the entry there.
struct Summary {
  Nid nid;
  uint8_t index;
  uint8_t version;  // that the nid had
  friend bool operator==(const Summary&, const Summary&) = default;
};
inline constexpr uint8_t kIsNode = 0xFF;
struct SsaBlock {
  std::array<Summary, kSegmentBlocks> entries;
};

enum class NodeKind : uint8_t { kNone, kInode, kDirect, kIndirect };

struct InodeBody {
  uint8_t links;
  Nid parent;           // with the name: for roll-forward, which makes the directory entry again
  uint8_t name_length;  // of the root 0
  uint8_t unused;
  std::array<char, kNameLength> name;
  uint32_t size;  // in bytes; of a directory 0
  std::array<Address, kInodeData> data;
  Nid direct;
  Nid indirect;
  std::array<uint8_t, 2> unused_too;
};

enum NodeFlags : uint8_t {
  kFsyncMark = 1,   // the file was synced by this inode
  kDentryMark = 2,  // and had no directory entry in the checkpoint
};

struct NodeFooter {
  Nid nid;
  Nid ino;
  uint8_t offset;  // of the node in its file: inode 0, direct 1, indirect 2, direct nodes below it 3 .. 6
  uint8_t flags;
  uint32_t version;  // of the checkpoint that it was written after
  Address next;      // where its log goes on
  uint16_t unused;
};
inline constexpr unsigned kNodeOffsets = 7;

struct Node {
  uint16_t magic;
  NodeKind kind;
  uint8_t directory;  // it belongs to a directory
  union {
    InodeBody inode;
    std::array<Address, kTableEntries> data;  // direct
    std::array<Nid, kTableEntries> nodes;     // indirect
    std::array<uint8_t, sizeof(InodeBody)> bytes;
  };
  NodeFooter footer;
};
inline constexpr uint16_t kNodeMagic = 0x4E32;

struct Dentry {
  uint32_t hash;  // of the name
  Nid ino;
  uint8_t directory;
  uint8_t name_length;
  uint8_t unused;
};
inline constexpr unsigned kDentries = 4;  // of a block

struct DentryBlock {
  uint8_t used;  // a bit for each entry
  std::array<uint8_t, 3> unused;
  std::array<Dentry, kDentries> entries;
  std::array<std::array<char, kNameLength>, kDentries> names;
};

static_assert(sizeof(Node) == 40 && sizeof(DentryBlock) == 68 && sizeof(PackBody) == 20 &&
                  sizeof(Summary) == 3,
              "no structure has padding");
static_assert(sizeof(Node) <= kMinBlockSize && sizeof(DentryBlock) <= kMinBlockSize);
static_assert(sizeof(PackBody) <= kMinBlockSize && sizeof(NatBlock) <= kMinBlockSize);

// The first block of the file that a node at this offset maps; of an indirect node nothing.
constexpr unsigned first_block_of(unsigned node_offset) {
  if (node_offset == 0) return 0;
  if (node_offset == 1) return kInodeData;
  return kInodeData + kTableEntries + (node_offset - 3) * kTableEntries;
}

class Layout {
 public:
  explicit Layout(const Config& config)
      : segments_(config.segments),
        sit_blocks_((config.segments + kTableEntries - 1) / kTableEntries),
        nat_blocks_((config.nids + kTableEntries - 1) / kTableEntries),
        sit_(2 * kPackBlocks),
        nat_(sit_ + 2 * sit_blocks_),
        ssa_(nat_ + 2 * nat_blocks_),
        main_(ssa_ + segments_) {}

  unsigned sit_blocks() const { return sit_blocks_; }
  unsigned nat_blocks() const { return nat_blocks_; }
  unsigned block_count() const { return main_ + segments_ * kSegmentBlocks; }

  Address pack(unsigned which, unsigned block) const { return address(which * kPackBlocks + block); }
  Address sit(unsigned copy, unsigned block) const { return address(sit_ + copy * sit_blocks_ + block); }
  Address nat(unsigned copy, unsigned block) const { return address(nat_ + copy * nat_blocks_ + block); }
  Address ssa(unsigned segment) const { return address(ssa_ + segment); }
  Address main(unsigned segment, unsigned block) const {
    return address(main_ + segment * kSegmentBlocks + block);
  }

  bool is_main(Address a) const { return a >= main_ && a < block_count(); }
  unsigned segment_of(Address a) const { return (a - main_) / kSegmentBlocks; }
  unsigned offset_of(Address a) const { return (a - main_) % kSegmentBlocks; }

  // For names in reports: the starts of the areas.
  unsigned sit_start() const { return sit_; }
  unsigned nat_start() const { return nat_; }
  unsigned ssa_start() const { return ssa_; }
  unsigned main_start() const { return main_; }

 private:
  static Address address(unsigned a) { return static_cast<Address>(a); }

  unsigned segments_, sit_blocks_, nat_blocks_;
  unsigned sit_, nat_, ssa_, main_;
};

}  // namespace sisyfs::f2fs
