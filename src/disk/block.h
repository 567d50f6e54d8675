// Block: the immutable content of one disk block, with its digest.
//
// The all-zero block is the null reference: a fresh disk holds no memory, and zero is found by looking
// at a pointer. Equal blocks usually share memory (see make_block) but need not: equality is by digest.
//
//   BlockRef block = make_block(bytes);
//   if (same_content(block.get(), other.get())) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/digest.h"
#include "disk/geometry.h"
#include "disk/ref.h"

namespace sisyfs {

struct Block {
  RefCount refs;
  uint32_t size = 0;  // bytes that follow this header
  Digest digest;

  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(this) + sizeof(Block), size};
  }
  static void destroy(const Block* block);
};

using BlockRef = Ref<Block>;  // null: all bytes are zero

// The block with these bytes. Looks first in a small direct-mapped cache of this thread, so that content
// written again and again is stored once; docs/design/images.md says why there is no global table.
BlockRef make_block(std::span<const std::byte> bytes);

inline bool same_content(const Block* a, const Block* b) {
  return a == b || (a != nullptr && b != nullptr && a->digest == b->digest);
}

// What a block adds to the digest of an image that holds it at this address: zero blocks add nothing.
inline Digest contribution(BlockAddress address, const Block* block) {
  return block == nullptr ? Digest{} : digest_at(address.value, block->digest);
}

// What a block at an address is, as part of a history: here a zero block counts too.
inline Digest identity(BlockAddress address, const Block* block) {
  return digest_at(address.value, block == nullptr ? Digest{0x7a65726f, 0} : block->digest);
}

}  // namespace sisyfs
