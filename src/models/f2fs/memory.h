// The memory of a mounted F2FS model, as one value without pointers: a snapshot is a copy of its bytes.
//
// Only dirty nodes and data are in it; clean ones are read from the disk each time. Unused parts are zero, so
// equal memories have equal bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "models/f2fs/layout.h"

namespace sisyfs::f2fs {

inline constexpr unsigned kMaxPages = 12;
inline constexpr unsigned kPoolBytes = kMaxPages * 148;  // with larger blocks there are fewer pages

// Which block of which file a page of the pool holds.
struct PageKey {
  Nid ino;  // 0: the page is free
  uint8_t block;
  Log log;  // where it will go
};

// A set of nids.
using NidSet = uint16_t;
constexpr NidSet only(Nid nid) { return static_cast<NidSet>(1u << nid); }

// LARGE CLASS: all that the system keeps in memory lies in one block without padding, which is the snapshot.
struct Memory {
  uint64_t free_segments;  // may be taken
  uint32_t version;        // of the checkpoint on which all this builds

  // The nids of the checkpoint, and what has changed since.
  NidSet checkpointed;  // nids that the checkpoint has in use
  NidSet blocked;       // freed since: not used again before the next checkpoint
  NidSet moved;         // inodes that got another name or parent since
  NidSet lost;          // directories that lost an entry since
  NidSet cut;           // files that lost a node since
  NidSet unsynced;      // files that changed since the checkpoint, and since their last fsync
  NidSet open;          // inodes of open files
  NidSet dirty_nodes;   // which of nodes[] are in use

  uint16_t sit_version, sit_dirty;  // by SIT block
  uint16_t nat_version, nat_dirty;  // by NAT block
  uint16_t used_blocks;             // of the capacity: nodes, and data blocks whether written or not
  uint8_t mounted;
  uint8_t pack;     // which pack holds the checkpoint
  uint8_t changed;  // something is different from the checkpoint
  uint8_t free_count;
  std::array<uint8_t, kMaxSegments> free_list;  // reuse=lifo, fifo: the next to take is the first

  std::array<LogPosition, kLogs> logs;
  std::array<SsaBlock, kLogs> summaries;  // of the segments that the logs write to
  uint8_t summaries_dirty;                // by log
  uint8_t unused;
  std::array<uint8_t, kMaxSegments> valid;  // by segment: a bit for each block
  std::array<NatEntry, kMaxNids> nat;
  std::array<Node, kMaxNids> nodes;  // by nid
  std::array<PageKey, kMaxPages> keys;
  std::array<std::byte, kPoolBytes> pages;
  uint8_t unused_too[4];
};
static_assert(sizeof(Memory) == 996 + kPoolBytes + 4, "no padding: the digest is that of the bytes");
static_assert(std::is_trivially_copyable_v<Memory>);

}  // namespace sisyfs::f2fs
