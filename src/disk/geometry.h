// Block addresses, block counts and byte offsets, each with a type of its own, and the shape of a disk.
//
// Swapping an address and a count is a bug that tests with equal numbers do not show. With these types it
// does not compile:
//
//   Geometry geometry{.block_size = 512, .block_count = BlockCount(64)};
//   geometry.contains(BlockAddress(60), BlockCount(4));  // true: the last four blocks
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "base/digest.h"

namespace sisyfs {

// A number of blocks.
struct BlockCount {
  uint64_t value = 0;

  constexpr BlockCount() = default;
  constexpr explicit BlockCount(uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(const BlockCount&, const BlockCount&) = default;
};

// The number of a block, counted from 0 at the start of the disk.
struct BlockAddress {
  uint64_t value = 0;

  constexpr BlockAddress() = default;
  constexpr explicit BlockAddress(uint64_t v) : value(v) {}
  // clang-tidy 14 takes the 0 of a defaulted comparison for a null pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend constexpr auto operator<=>(const BlockAddress&, const BlockAddress&) = default;
  friend constexpr BlockAddress operator+(BlockAddress a, BlockCount n) {
    return BlockAddress(a.value + n.value);
  }
  friend constexpr BlockCount operator-(BlockAddress a, BlockAddress b) {
    return BlockCount(a.value - b.value);
  }
};

// The number of a byte, counted from 0 at the start of the disk.
struct ByteOffset {
  uint64_t value = 0;

  constexpr ByteOffset() = default;
  constexpr explicit ByteOffset(uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(const ByteOffset&, const ByteOffset&) = default;
};

// The shape of a disk, or of all disks of one system under check.
//
// A block is the smallest unit that is read, written or lost. A device that tears writes into sectors is
// described by a disk whose block is the sector.
//
// Several disks share one address space: disk 0 has the first blocks, disk 1 the next ones, and so on. All
// have the same number of blocks. So one image holds the content of all disks, and one disk costs nothing
// extra (docs/design/images.md).
struct Geometry {
  uint32_t block_size = 512;  // bytes, at least 1
  BlockCount block_count;     // of all disks together, at least 1; a multiple of `disks`
  // Raw flash: the blocks are its pages, and this many of them are erased together. 0: not raw flash.
  // Divides the number of blocks of each disk.
  uint32_t erase_blocks = 0;
  uint32_t disks = 1;  // at least 1

  friend bool operator==(const Geometry&, const Geometry&) = default;

  bool is_flash() const { return erase_blocks != 0; }

  uint64_t blocks_per_disk() const { return disks == 1 ? block_count.value : block_count.value / disks; }
  // The disk on which an address of the shared address space lies.
  uint32_t disk_of(BlockAddress address) const {
    return disks == 1 ? 0 : static_cast<uint32_t>(address.value / blocks_per_disk());
  }
  // The address of block 0 of a disk in the shared address space.
  BlockAddress first_block_of(uint32_t disk) const { return BlockAddress(disk * blocks_per_disk()); }
  // The shape of one of the disks.
  Geometry one_disk() const { return {block_size, BlockCount(blocks_per_disk()), erase_blocks, 1}; }

  // Whether all of [first, first + count) lies within the blocks. Never overflows.
  bool contains(BlockAddress first, BlockCount count) const {
    return first.value <= block_count.value && count.value <= block_count.value - first.value;
  }
  ByteOffset offset_of(BlockAddress address) const { return ByteOffset(address.value * block_size); }
  // The digest of an image of this shape in which every block is zero.
  Digest digest() const {
    const uint64_t kind = 1 + uint64_t{erase_blocks} + (uint64_t{disks - 1} << 32);
    return digest_at(block_size, digest_at(block_count.value, Digest{0x67656f6d65747279u, kind}));
  }
};

}  // namespace sisyfs
