// The memory of a mounted journal model, as one value without pointers: a snapshot is a copy of its bytes.
//
// The pool holds the blocks that changed since the last commit: the running transaction, and file data that
// is not written yet. Everything else is read from the disk; from the journal if its copy is newer. Unused
// parts are zero, so equal memories have equal bytes.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "models/journal/layout.h"

namespace sisyfs::journal {

inline constexpr unsigned kMaxPages = 24;

// Which block of the disk a page of the pool holds.
struct PageKey {
  Address address;  // 0: the page is free, and so are all behind it
  Kind kind;
};

using InoSet = uint16_t;
constexpr InoSet only(Ino ino) { return static_cast<InoSet>(1u << ino); }

struct Memory {
  uint64_t block_map;      // the data blocks in use now
  uint64_t committed_map;  // those of the last commit: they are not overwritten before the next commit
  std::array<uint64_t, kMaxBlocks / 64>
      revoked;        // blocks freed since the commit, of which the journal has a copy
  uint32_t sequence;  // of the running transaction
  InoSet inode_map, orphans, open;
  uint8_t mounted;
  uint8_t head;        // where the next record goes in the ring
  uint8_t used;        // blocks of the ring before it that a replay would need
  uint8_t unflushed;   // something was written that no flush has followed
  uint8_t skip;        // a commit failed: the journal must be started anew before the next
  uint8_t stale_maps;  // sync_bitmap off: they were not written when the journal was cleared
  std::array<uint8_t, kMaxBlocks> logged;  // by address: 1 + the ring index of the newest copy, or 0
  std::array<PageKey, kMaxPages> keys;
  std::array<std::byte, size_t{kMaxPages} * kBlockSize> pages;
};
static_assert(sizeof(Memory) == 48 + kMaxBlocks + 2 * kMaxPages + kMaxPages * kBlockSize,
              "no padding: the digest is that of the bytes");
static_assert(std::is_trivially_copyable_v<Memory>);

}  // namespace sisyfs::journal
