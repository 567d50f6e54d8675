// FirstReads: which blocks of a disk were read for what they held before, in the order of their first reads.
//
// A block that was written first, or read before, does not count again: its content is known by then.
//
//   FirstReads reads;
//   reads.restart(disk.geometry().block_count);
//   disk.watch(&reads);
//   recover(disk);
//   disk.watch(nullptr);
//   for (BlockAddress address : reads.addresses()) ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "disk/geometry.h"

namespace sisyfs {

class FirstReads {
 public:
  void restart(BlockCount blocks) {
    known_.resize(blocks.value);
    addresses_.clear();
    if (++round_ != 0) return;
    known_.assign(blocks.value, 0);  // the rounds have come around
    round_ = 1;
  }
  // True if it is the first read of a block that was not written before.
  bool read(BlockAddress address) {
    if (known_[address.value] == round_) return false;
    known_[address.value] = round_;
    addresses_.push_back(address);
    return true;
  }
  // The disk is as it was at the start: what was written is to be read again, and what was read is known.
  void rewind() {
    if (++round_ == 0) {
      known_.assign(known_.size(), 0);
      round_ = 1;
    }
    for (const BlockAddress address : addresses_) known_[address.value] = round_;
  }
  void written(BlockAddress address) { known_[address.value] = round_; }

  std::span<const BlockAddress> addresses() const { return addresses_; }

 private:
  std::vector<uint32_t> known_;  // by block: the round in which its content became known
  uint32_t round_ = 0;
  std::vector<BlockAddress> addresses_;
};

}  // namespace sisyfs
