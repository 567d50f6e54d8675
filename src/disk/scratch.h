// Scratch: blocks in plain memory, for writes that are thrown away afterwards.
//
// A block is only bytes here: no digest, no history, no second version. So a write costs a copy.
//
//   Scratch scratch;
//   scratch.restart(geometry);
//   if (std::byte* bytes = scratch.find(address)) ...
//   std::memcpy(scratch.add(address), bytes, geometry.block_size);
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "disk/geometry.h"

namespace sisyfs {

class Scratch {
 public:
  // Drops all blocks. Keeps the memory.
  void restart(const Geometry& geometry) {
    size_ = geometry.block_size;
    count_ = 0;
    entries_.resize(geometry.block_count.value);
    if (++round_ != 0) return;
    entries_.assign(entries_.size(), Entry{});  // the round number has wrapped around
    round_ = 1;
  }

  // The bytes of a block, null if it was not added. They may be changed, and are valid until the next add().
  std::byte* find(BlockAddress address) {
    const Entry entry = entries_[address.value];
    return entry.round == round_ ? bytes_.data() + size_t{entry.slot} * size_ : nullptr;
  }
  // Memory for a block that was not added yet. Its bytes are undefined.
  std::byte* add(BlockAddress address) {
    const size_t at = size_t{count_} * size_;
    if (at + size_ > bytes_.size()) bytes_.resize(2 * at + size_);
    entries_[address.value] = {round_, count_++};
    return bytes_.data() + at;
  }

 private:
  struct Entry {
    uint32_t round = 0;  // in which the block was added
    uint32_t slot = 0;
  };

  std::vector<Entry> entries_;  // by block
  std::vector<std::byte> bytes_;
  size_t size_ = 0;  // of a block
  uint32_t count_ = 0, round_ = 0;
};

}  // namespace sisyfs
