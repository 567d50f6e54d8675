// Block: the immutable content of one disk block, with its digest.
//
// The all-zero block is the null reference, so a fresh disk needs no memory for its blocks. Equal blocks
// usually share memory (see make_block) but need not: equality is by digest.
//
// A page of raw flash whose program or erase was interrupted may be unreadable. This is a content too, with a
// digest that no bytes have. It is stored, compared and counted like any other; a read of it is an error.
//
//   BlockRef block = make_block(bytes);
//   if (same_content(block.get(), other.get())) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/digest.h"
#include "base/ref.h"
#include "disk/geometry.h"

namespace sisyfs {

inline constexpr Digest kUnreadableDigest{0x756e7265616461u, 0x626c65};

struct Block {
  RefCount refs;
  uint32_t size = 0;  // bytes that follow this header
  Digest digest;

  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(this) + sizeof(Block), size};
  }
  bool readable() const { return digest != kUnreadableDigest; }
  static void destroy(const Block* block);
};

using BlockRef = Ref<Block>;  // null: all bytes are zero

// The block with these bytes. Looks first in a small direct-mapped cache of this thread, so that content
// that is written again and again is stored once; docs/design/images.md says why there is no global table.
BlockRef make_block(std::span<const std::byte> bytes);
// The same with a digest of the caller's own. Such blocks are not to be mixed with others: it is the caller
// who makes sure that equal digests mean equal bytes.
BlockRef make_block(std::span<const std::byte> bytes, const Digest& digest);

// The same content in memory of its own; a permanent block is not copied.
BlockRef copy_of(const Block* block);

// The block of `size` bytes of this value.
BlockRef filled_block(uint32_t size, std::byte value);
// The block that cannot be read. Its bytes mean nothing.
BlockRef unreadable_block(uint32_t size);

// Copies the bytes of a readable block of out.size() bytes.
inline void copy_bytes(const Block* block, std::span<std::byte> out) {
  if (block == nullptr)
    std::memset(out.data(), 0, out.size());
  else
    std::memcpy(out.data(), block->bytes().data(), out.size());
}

inline bool is_readable(const Block* block) { return block == nullptr || block->readable(); }

// Raw flash: erased pages have all bits set. Only erased pages of NAND can be programmed.
inline constexpr std::byte kErased{0xFF};
bool is_erased(const Block* block);
// NOR: what a page holds after these bytes were programmed over its content: a program only clears bits.
BlockRef programmed_over(const Block* old, std::span<const std::byte> bytes);
// Whether these bytes ask for bits that the content does not have. Bytes of 0xFF ask for nothing.
bool asks_for_bits(const Block* old, std::span<const std::byte> bytes);

inline bool same_content(const Block* a, const Block* b) {
  return a == b || (a != nullptr && b != nullptr && a->digest == b->digest);
}

// The part of a block at this address in the digest of an image. Zero blocks add nothing.
inline Digest contribution(BlockAddress address, const Block* block) {
  return block == nullptr ? Digest{} : digest_at(address.value, block->digest);
}

// The part of a block at this address in the digest of a log. Here a zero block counts too.
inline Digest identity(BlockAddress address, const Block* block) {
  return digest_at(address.value, block == nullptr ? Digest{0x7a65726f, 0} : block->digest);
}

}  // namespace sisyfs
