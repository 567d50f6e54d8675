// The disk of the F2FS model: its blocks as packed structs, and where each part lies.
//
// Sizes are those of the thesis: blocks of 148 bytes, segments of 4 blocks, 4 entries in every table, 16
// nodes.
//
//   pack 0 | pack 1 | SIT, SIT again | NAT, NAT again | SSA | main area, in segments
//
// A pack is a header, a body and a footer. Blocks of the main area are named by their number there (Blk); the
// rest of the disk by Place. Every block begins with a letter that says what it is, so that a reader which
// believes nothing can tell a node from data that was written over it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "disk/geometry.h"

namespace sisyfs::f2fs {

inline constexpr unsigned kBlockBytes = 148;
inline constexpr unsigned kSegmentBlocks = 4;
inline constexpr unsigned kMaxSegments = 64;
inline constexpr unsigned kNids = 16;
inline constexpr unsigned kPerTableBlock = 4;  // entries of SIT and NAT in a block
inline constexpr unsigned kNatBlocks = kNids / kPerTableBlock;
inline constexpr unsigned kNameMax = 16;
inline constexpr unsigned kInodeData = 2;    // data blocks that an inode names itself
inline constexpr unsigned kNodeEntries = 4;  // of direct and indirect nodes
inline constexpr unsigned kMaxFileBlocks = kInodeData + kNodeEntries + kNodeEntries * kNodeEntries;
inline constexpr unsigned kDentries = 4;
inline constexpr unsigned kMaxDentryBlocks = 4;

using Nid = uint8_t;
using Blk = uint16_t;
inline constexpr Nid kRoot = 0, kNoNid = 0xFF;
inline constexpr Blk kNoBlk = 0xFFFF;
inline constexpr Blk kNewBlk = 0xFFFE;  // counted as used, not written yet; never on the disk

enum Log : uint8_t { kHotData, kWarmData, kColdData, kHotNode, kWarmNode, kColdNode, kLogs };
enum class Type : uint8_t { kFile = 1, kDirectory = 2 };
enum class NodeKind : uint8_t { kInode = 1, kDirect = 2, kIndirect = 3 };

// What a write says that it is; 0 is unknown.
enum class Kind : uint16_t { kUnknown, kHeader, kBody, kFooter, kSit, kNat, kSsa, kNode, kDentry, kData };

using Block = std::array<std::byte, kBlockBytes>;

#pragma pack(push, 1)
// Of a node block, for roll-forward: who it is, since which checkpoint, and where its log goes on.
struct Footer {
  char magic;  // 'N'
  NodeKind kind;
  Nid nid;
  Nid ino;
  uint8_t offset;     // among the nodes of the file: 0 inode, 1 direct, 2 indirect, 3.. below the indirect
  uint8_t fsync;      // the last block of an fsync: what precedes it in the log is complete
  uint8_t dentry;     // and the name has to be made again
  uint8_t directory;  // belongs to a directory
  uint32_t version;
  Blk next;  // of the warm node log; otherwise kNoBlk
};
struct InodeBody {
  Type type;
  uint8_t links;
  Nid parent;
  uint8_t name_length;
  uint32_t size;
  char name[kNameMax];
  Blk data[kInodeData];
  Nid direct;
  Nid indirect;
};
struct NodeBlock {
  Footer footer;
  union {
    InodeBody inode;
    Blk data[kNodeEntries];
    Nid nodes[kNodeEntries];
    char bytes[kBlockBytes - sizeof(Footer)];
  };
};
struct Dentry {
  uint32_t hash;
  Nid ino;
  Type type;
  uint8_t name_length;
};
struct DentryBlock {
  char magic;  // 'D'
  uint8_t bitmap;
  Dentry entries[kDentries];
  char names[kDentries][kNameMax];
  char pad[kBlockBytes - 2 - kDentries * (sizeof(Dentry) + kNameMax)];
};
struct Summary {
  Nid nid;        // the node itself, or the one that names the data block
  uint8_t entry;  // where in that node; kNodeItself for a node
};
inline constexpr uint8_t kNodeItself = 0xFF;
struct SsaBlock {
  char magic;  // 'A'
  Summary entries[kSegmentBlocks];
  char pad[kBlockBytes - 1 - kSegmentBlocks * sizeof(Summary)];
};
struct SitBlock {
  char magic;  // 'S'
  struct {
    uint8_t count, bitmap;
  } entries[kPerTableBlock];
  char pad[kBlockBytes - 1 - kPerTableBlock * 2];
};
struct NatBlock {
  char magic;  // 'T'
  struct {
    Blk block;
    Nid ino;
  } entries[kPerTableBlock];
  char pad[kBlockBytes - 1 - kPerTableBlock * 3];
};
struct PackEnd {
  char magic;  // 'H' or 'F'
  uint32_t version;
  char pad[kBlockBytes - 5];
};
struct Curseg {
  uint8_t segment;  // kNoSegment: the log opens one with its next block
  uint8_t next;
  Summary summary[kSegmentBlocks];
};
struct PackBody {
  char magic;  // 'B'
  uint16_t sit_copies;
  uint8_t nat_copies;
  uint16_t valid_blocks;
  uint8_t free_nids;
  Curseg logs[kLogs];
  char pad[kBlockBytes - 7 - kLogs * sizeof(Curseg)];
};
#pragma pack(pop)
inline constexpr uint8_t kNoSegment = 0xFF;

static_assert(sizeof(NodeBlock) == kBlockBytes && sizeof(DentryBlock) == kBlockBytes);
static_assert(sizeof(SsaBlock) == kBlockBytes && sizeof(SitBlock) == kBlockBytes);
static_assert(sizeof(NatBlock) == kBlockBytes && sizeof(PackEnd) == kBlockBytes);
static_assert(sizeof(PackBody) == kBlockBytes);

// When a segment without valid blocks may be written again: after a checkpoint, or at once (wrong).
enum class Reuse : uint8_t { kCheckpoint, kLifo, kFifo };
enum class CpOrder : uint8_t { kRight, kFooterFirst, kTablesLast };

// What the options say.
struct Config {
  unsigned segments = 60;
  unsigned dentry_blocks = 4;
  unsigned reserved_segments = 20;  // not offered to users: room for logs, checkpoints and cleaning
  Reuse reuse = Reuse::kCheckpoint;
  CpOrder cp_order = CpOrder::kRight;
  bool bitmaps = true;
  bool cp_flush = true;
  bool rollforward = true;

  unsigned main_blocks() const { return segments * kSegmentBlocks; }
  unsigned user_blocks() const { return (segments - reserved_segments) * kSegmentBlocks; }
  unsigned sit_blocks() const { return (segments + kPerTableBlock - 1) / kPerTableBlock; }
  unsigned pack_at(unsigned pack) const { return pack * 3; }
  unsigned sit_at(unsigned copy) const { return 6 + copy * sit_blocks(); }
  unsigned nat_at(unsigned copy) const { return sit_at(2) + copy * kNatBlocks; }
  unsigned ssa_at() const { return nat_at(2); }
  unsigned main_at() const { return ssa_at() + segments; }
  unsigned block_count() const { return main_at() + main_blocks(); }
};

// Where block `index` of a file is named: by which of its nodes, in which entry.
struct FilePlace {
  uint8_t node;  // as Footer::offset
  uint8_t entry;
};
constexpr FilePlace file_place(unsigned index) {
  if (index < kInodeData) return {0, static_cast<uint8_t>(index)};
  index -= kInodeData;
  if (index < kNodeEntries) return {1, static_cast<uint8_t>(index)};
  index -= kNodeEntries;
  return {static_cast<uint8_t>(3 + index / kNodeEntries), static_cast<uint8_t>(index % kNodeEntries)};
}
// The first block of a file that its node `offset` (not an indirect one) names.
constexpr unsigned first_index(unsigned offset) {
  return offset == 0 ? 0 : offset == 1 ? kInodeData : kInodeData + kNodeEntries * (offset - 2);
}
inline constexpr unsigned kFileNodes = 3 + kNodeEntries;

constexpr uint32_t name_hash(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace sisyfs::f2fs
