// DenseIndex: gives the keys it is shown the numbers 0, 1, 2 … in order of first appearance.
//
// So that what belongs to a block or unit of an epoch lies in plain arrays. Open addressing; clearing
// keeps the memory, so that an index that is used again allocates nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/digest.h"

namespace sisyfs {

class DenseIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t size() const { return static_cast<uint32_t>(keys_.size()); }

  // The number of a key, or kNone if it was never added.
  uint32_t find(uint64_t key) const { return table_.empty() ? kNone : table_[place_of(key)]; }

  // The number of a key; size() - 1 if it is new.
  uint32_t add(uint64_t key) {
    if (2 * (keys_.size() + 1) > table_.size()) grow();
    uint32_t& entry = table_[place_of(key)];
    if (entry == kNone) {
      entry = size();
      keys_.push_back(key);
    }
    return entry;
  }

  void clear() {
    // Each key empties its place, the last one first: on the way to a key lie only keys that came before it.
    for (size_t i = keys_.size(); i-- > 0;) table_[place_of(keys_[i])] = kNone;
    keys_.clear();
  }

 private:
  // Where the key is, or the empty place where it belongs.
  uint64_t place_of(uint64_t key) const {
    const uint64_t mask = table_.size() - 1;
    uint64_t place = mul_fold(key + 1, 0x9e3779b97f4a7c15u) & mask;
    while (table_[place] != kNone && keys_[table_[place]] != key) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    table_.assign(table_.empty() ? 16 : 2 * table_.size(), kNone);
    for (uint32_t i = 0; i < size(); i++) table_[place_of(keys_[i])] = i;
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> table_;  // a power of two, at most half full
};

}  // namespace sisyfs
