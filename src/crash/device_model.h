// DeviceModel: what a device promises about writes that were not flushed when the power went.
//
//   DeviceModel disk{.unit_bytes = 512, .order = WriteOrder::kFree, .tearing = true};
//
// A field says what the device guarantees, so a weaker device is the safer assumption. All that the rest
// of this room asks of a model is how writes fall into pieces and pieces into chains (epoch.h); a new
// kind of device is a new rule there, not a new enumerator.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "disk/geometry.h"

namespace sisyfs {

enum class WriteOrder : uint8_t {
  kInOrder,  // writes reach the medium in issue order: a cut keeps a prefix of them
  kFree,     // in any order between two flushes; only versions of one unit keep theirs
};

enum class WriteCache : uint8_t {
  kWriteThrough,  // a write is durable when it returns; so a cut keeps a prefix, whatever `order` says
  kVolatile,      // a write is durable after a later flush, or at once with FUA
};

struct DeviceModel {
  uint32_t unit_bytes = 0;               // what is written atomically when writes tear; 0: the whole write
  WriteOrder order = WriteOrder::kFree;  // see above
  WriteCache cache = WriteCache::kVolatile;
  bool tearing = false;  // a write may be cut between its units; false: all of it or nothing

  friend bool operator==(const DeviceModel&, const DeviceModel&) = default;

  bool writes_are_tied() const { return !tearing || unit_bytes == 0; }
  bool keeps_order() const { return order == WriteOrder::kInOrder || cache == WriteCache::kWriteThrough; }

  // The blocks of one unit on a disk of this shape; 1 when writes are tied and no unit matters.
  uint64_t blocks_per_unit(const Geometry& geometry) const {
    return writes_are_tied() ? 1 : unit_bytes / geometry.block_size;
  }

  // Whether this model can be applied to a disk of this shape; the error says what to change.
  Status check(const Geometry& geometry) const;
};

}  // namespace sisyfs
