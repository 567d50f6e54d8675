// DenseIndex: numbers keys 0, 1, 2 … in the order in which they are added.
//
// With it, data about the blocks or units of an epoch lies in plain arrays. The table uses open addressing.
// clear() keeps the memory, so an index that is used again allocates nothing.
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
  uint32_t find(uint64_t key) const { return table_.empty() ? kNone : table_[bucket_of(key)]; }

  // The number of a key; size() - 1 if it is new.
  uint32_t add(uint64_t key) {
    if (2 * (keys_.size() + 1) > table_.size()) grow();
    uint32_t& entry = table_[bucket_of(key)];
    if (entry == kNone) {
      entry = size();
      keys_.push_back(key);
    }
    return entry;
  }

  void clear() {
    // The key added last goes first: the probe sequence of a key passes only keys that were added before it.
    for (size_t i = keys_.size(); i-- > 0;) table_[bucket_of(keys_[i])] = kNone;
    keys_.clear();
  }

 private:
  // The bucket of the key, or the empty bucket where it belongs.
  uint64_t bucket_of(uint64_t key) const {
    const uint64_t mask = table_.size() - 1;
    uint64_t bucket = mul_fold(key + 1, 0x9e3779b97f4a7c15u) & mask;
    while (table_[bucket] != kNone && keys_[table_[bucket]] != key) bucket = (bucket + 1) & mask;
    return bucket;
  }
  void grow() {
    table_.assign(table_.empty() ? 16 : 2 * table_.size(), kNone);
    for (uint32_t i = 0; i < size(); i++) table_[bucket_of(keys_[i])] = i;
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> table_;  // a power of two, at most half full
};

}  // namespace sisyfs
