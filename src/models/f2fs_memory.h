// What the F2FS model remembers while it is mounted: a plain value, copied by memcpy.
//
// Tables are cached whole, because they are small. Pages hold only what is dirty: a page that was written is
// zeroed and free again, so equal memories have equal bytes. Sets of nodes are bits of a word.
#pragma once

#include <cstring>
#include <type_traits>

#include "models/f2fs_layout.h"

namespace sisyfs::f2fs {

inline constexpr unsigned kPages = 20;
inline constexpr unsigned kPagesForOp = 10;  // no op makes more pages dirty, cached data aside

// What a page holds; 0 is a free page.
using PageKey = uint16_t;
constexpr PageKey node_key(Nid nid) { return static_cast<PageKey>(0x8000u | nid); }
constexpr PageKey data_key(Nid ino, unsigned index) {
  return static_cast<PageKey>(0x4000u | unsigned{ino} << 6 | index);
}
constexpr bool is_node(PageKey key) { return (key & 0x8000u) != 0; }
constexpr Nid nid_of(PageKey key) { return static_cast<Nid>(is_node(key) ? key & 0xFF : key >> 6 & 0xFF); }
constexpr unsigned index_of(PageKey key) { return key & 63u; }
// Nothing for what is no nid: the disk may say anything.
constexpr uint16_t bit_of(Nid nid) { return static_cast<uint16_t>(nid < kNids ? 1u << nid : 0); }

struct Memory {
  uint64_t free_segments;  // may be opened now
  uint32_t version;        // of the checkpoint that is in force
  Blk nat[kNids];          // kNewBlk: in a page only
  Nid nat_ino[kNids];
  uint8_t sit[kMaxSegments];  // valid blocks of each segment, as bits
  Curseg logs[kLogs];
  uint8_t free_list[kMaxSegments];  // reuse=lifo and fifo: the free segments in the order of their use
  uint8_t free_listed;
  uint8_t mounted;
  uint8_t pack;        // which pack is in force
  uint8_t nat_copies;  // which copy of each NAT block is in force
  uint16_t sit_copies;
  uint16_t sit_dirty, nat_dirty;  // table blocks that differ from the disk
  uint16_t used;                  // blocks that are valid or promised to a page
  // Since the last checkpoint, by nid:
  uint16_t fresh;    // inodes made
  uint16_t moved;    // inodes renamed
  uint16_t shrunk;   // directories that lost a name
  uint16_t changed;  // nodes changed, and inodes of which anything changed
  uint16_t gone;     // freed: not given out again before a checkpoint
  uint16_t open;     // files that are open
  PageKey keys[kPages];
  Block pages[kPages];
};
static_assert(std::is_trivially_copyable_v<Memory> && sizeof(Memory) < 4096);
static_assert(std::has_unique_object_representations_v<Memory>, "every byte means something");

}  // namespace sisyfs::f2fs
