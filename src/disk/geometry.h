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

// What an erase unit of raw flash does once it is bad. All else still works on it.
enum class BadUnit : uint8_t {
  kRefusesErase,    // an erase fails and has no effect
  kRefusesProgram,  // a program fails and has no effect
  kIgnoresErase,    // an erase has no effect, and is said to have succeeded
  kIgnoresProgram,  // a program has no effect, and is said to have succeeded
};

// Raw flash that is not plain NAND, or whose units may be bad.
struct FlashRules {
  // NOR: bytes that are programmed at once; divides the block size. 0: NAND.
  uint32_t program_bytes = 0;
  uint32_t erase_cycles = 0;  // erases that a unit stands before it is bad; 0: any number
  BadUnit bad_unit = BadUnit::kRefusesErase;
  bool units_go_bad = false;  // units may be bad, from the start or by wear; see disk/wear.h

  friend bool operator==(const FlashRules&, const FlashRules&) = default;
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
  FlashRules flash = {};

  friend bool operator==(const Geometry&, const Geometry&) = default;

  bool is_flash() const { return erase_blocks != 0; }
  bool is_nor() const { return flash.program_bytes != 0; }

  uint64_t blocks_per_disk() const { return disks == 1 ? block_count.value : block_count.value / disks; }
  // The disk on which an address of the shared address space lies.
  uint32_t disk_of(BlockAddress address) const {
    return disks == 1 ? 0 : static_cast<uint32_t>(address.value / blocks_per_disk());
  }
  // The address of block 0 of a disk in the shared address space.
  BlockAddress first_block_of(uint32_t disk) const { return BlockAddress(disk * blocks_per_disk()); }
  // The shape of one of the disks.
  Geometry one_disk() const { return {block_size, BlockCount(blocks_per_disk()), erase_blocks, 1, flash}; }

  // Behind the blocks of all disks an image holds one more for each unit that may be bad: its wear.
  uint64_t stored_blocks() const {
    return block_count.value + (flash.units_go_bad ? block_count.value / erase_blocks : 0);
  }
  // Where the wear of the unit of this page is held.
  BlockAddress wear_of(BlockAddress page) const {
    return BlockAddress(block_count.value + page.value / erase_blocks);
  }
  // Whether an image holds a block at this address.
  bool stores(BlockAddress address) const {
    return address.value < block_count.value || (flash.units_go_bad && address.value < stored_blocks());
  }

  // Whether all of [first, first + count) lies within the blocks. Never overflows.
  bool contains(BlockAddress first, BlockCount count) const {
    return first.value <= block_count.value && count.value <= block_count.value - first.value;
  }
  ByteOffset offset_of(BlockAddress address) const { return ByteOffset(address.value * block_size); }
  // The digest of an image of this shape in which every block is zero.
  Digest digest() const {
    const uint64_t kind = 1 + uint64_t{erase_blocks} + (uint64_t{disks - 1} << 32);
    const Digest shape =
        digest_at(block_size, digest_at(block_count.value, Digest{0x67656f6d65747279u, kind}));
    if (flash == FlashRules()) return shape;
    const uint64_t rules = uint64_t{flash.erase_cycles} << 3 |
                           uint64_t{static_cast<uint8_t>(flash.bad_unit)} << 1 | (flash.units_go_bad ? 1 : 0);
    return digest_at(flash.program_bytes, digest_at(rules, shape));
  }
};

}  // namespace sisyfs
