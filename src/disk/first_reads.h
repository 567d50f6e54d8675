// FirstReads: the blocks that were read before they were written, in the order of their first reads.
//
// A block that was written first, or read before, is not added again: its content is known by then.
//
//   FirstReads reads;
//   reads.restart(media.state().current.geometry().block_count);
//   media.watch(&reads);
//   recover(media);
//   media.watch(nullptr);
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
    known_.assign(blocks.value, 0);  // the round number has wrapped around
    round_ = 1;
  }
  // True if it is the first read of a block that was not written before.
  bool read(BlockAddress address) {
    if (known_[address.value] == round_) return false;
    known_[address.value] = round_;
    addresses_.push_back(address);
    return true;
  }
  // The media are as they were at restart(): blocks that were written can be read again, and blocks that were
  // read are known.
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
