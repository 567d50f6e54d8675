// DigestSet: a set of digests whose clear() is O(1) and keeps the memory.
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
    round_ = 1;  // the counter wrapped: slots of earlier rounds must not look valid
    for (Slot& slot : slots_) slot.round = 0;
  }

  // True if the digest was not in the set.
  bool insert(const Digest& digest) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    if (!put(digest)) return false;
    ++size_;
    return true;
  }

 private:
  struct Slot {
    Digest digest;
    uint32_t round = 0;  // the slot is in use if this equals round_
  };

  bool put(const Digest& digest) {
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
      if (slot.round == round_) put(slot.digest);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
  uint32_t round_ = 1;
};

}  // namespace sisyfs
