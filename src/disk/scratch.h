// Scratch: blocks of a disk in plain memory, for when nobody asks afterwards what was written.
//
// Here a block is bytes and no more: no digest, no history, no second version. So a write is a copy.
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
  // Holds nothing, as if constructed anew, but keeps its memory.
  void restart(const Geometry& geometry) {
    size_ = geometry.block_size;
    count_ = 0;
    places_.resize(geometry.block_count.value);
    if (++round_ != 0) return;
    places_.assign(places_.size(), Place{});  // the rounds have come around
    round_ = 1;
  }

  // The bytes of a block, null if they are not here. They may be changed, and live until the next add().
  std::byte* find(BlockAddress address) {
    const Place place = places_[address.value];
    return place.round == round_ ? bytes_.data() + size_t{place.slot} * size_ : nullptr;
  }
  // A place for a block that is not here; what it holds is not said.
  std::byte* add(BlockAddress address) {
    const size_t at = size_t{count_} * size_;
    if (at + size_ > bytes_.size()) bytes_.resize(2 * at + size_);
    places_[address.value] = {round_, count_++};
    return bytes_.data() + at;
  }

 private:
  struct Place {
    uint32_t round = 0;  // in which the block came here
    uint32_t slot = 0;
  };

  std::vector<Place> places_;  // by block
  std::vector<std::byte> bytes_;
  size_t size_ = 0;  // of a block
  uint32_t count_ = 0, round_ = 0;
};

}  // namespace sisyfs
