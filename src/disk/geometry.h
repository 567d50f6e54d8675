// The units of a disk, each with a type of its own, and the shape of a disk.
//
// An address, a count and a byte offset are all numbers, and swapping two of them is a bug that no test
// of equal numbers shows. Here it does not compile:
//
//   Geometry geometry{.block_size = 512, .block_count = BlockCount(64)};
//   geometry.contains(BlockAddress(60), BlockCount(4));  // true: the last four blocks
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "base/digest.h"

namespace sisyfs {

// How many blocks.
struct BlockCount {
  uint64_t value = 0;

  constexpr BlockCount() = default;
  constexpr explicit BlockCount(uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(const BlockCount&, const BlockCount&) = default;
};

// Which block, counted from the start of the disk.
struct BlockAddress {
  uint64_t value = 0;

  constexpr BlockAddress() = default;
  constexpr explicit BlockAddress(uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(const BlockAddress&, const BlockAddress&) = default;
  friend constexpr BlockAddress operator+(BlockAddress a, BlockCount n) {
    return BlockAddress(a.value + n.value);
  }
  friend constexpr BlockCount operator-(BlockAddress a, BlockAddress b) {
    return BlockCount(a.value - b.value);
  }
};

// Which byte, counted from the start of the disk.
struct ByteOffset {
  uint64_t value = 0;

  constexpr ByteOffset() = default;
  constexpr explicit ByteOffset(uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(const ByteOffset&, const ByteOffset&) = default;
};

// The shape of a disk. A block is the smallest thing that is read, written or lost; a device that tears
// writes into sectors is described by a disk whose block is the sector.
struct Geometry {
  uint32_t block_size = 512;  // bytes, at least 1
  BlockCount block_count;     // at least 1
  // Raw flash: the blocks are its pages, and so many of them are erased together. They divide block_count.
  uint32_t erase_blocks = 0;  // 0: no raw flash

  friend bool operator==(const Geometry&, const Geometry&) = default;

  bool is_flash() const { return erase_blocks != 0; }

  // Whether all of [first, first + count) lies on the disk. Never overflows.
  bool contains(BlockAddress first, BlockCount count) const {
    return first.value <= block_count.value && count.value <= block_count.value - first.value;
  }
  ByteOffset offset_of(BlockAddress address) const { return ByteOffset(address.value * block_size); }
  // The digest of a disk of this shape on which every block is zero.
  Digest digest() const {
    return digest_at(block_size, digest_at(block_count.value, Digest{0x67656f6d65747279u, 1 + erase_blocks}));
  }
};

}  // namespace sisyfs
