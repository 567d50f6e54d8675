// DigestSet: which digests came up since the last clear(). Clearing is O(1) and keeps the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/digest.h"

namespace sisyfs {

class DigestSet {
 public:
  void clear() {
    size_ = 0;
    if (++round_ != 0) return;
    round_ = 1;  // it came round: what is left of earlier rounds must not look like this one
    for (Slot& slot : slots_) slot.round = 0;
  }

  // True if it was not there before.
  bool insert(const Digest& digest) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    if (!place(digest)) return false;
    ++size_;
    return true;
  }

 private:
  struct Slot {
    Digest digest;
    uint32_t round = 0;  // in use if it is the set's
  };

  bool place(const Digest& digest) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = DigestHash{}(digest)&mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.round != round_) {
        slot = {digest, round_};
        return true;
      }
      if (slot.digest == digest) return false;
    }
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.round == round_) place(slot.digest);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
  uint32_t round_ = 1;
};

}  // namespace sisyfs
