// What a write puts in doubt whose units reach the medium in any order, on a device that otherwise keeps
// order.
//
// A cut keeps the first writes to a disk since its last flush, and any units of the next one. As with raw
// flash (epoch_flash.cc), what an interrupted write may leave is put on the chain before the piece that
// completes it: a piece for each subset of the units, in the order of binary numbers. Each piece holds all
// blocks of the write, with the old content where a unit is missing. So the last piece is the write itself.
#include <algorithm>

#include "base/assert.h"
#include "crash/epoch.h"

namespace sisyfs {

void Epoch::add_scattered(const Event& event) {
  SISYFS_ASSERT(!event.tied_to_previous, "a device that keeps order settles whole writes");
  const uint64_t count = event.count.value, first_unit = unit_of(event.first);
  const uint64_t units = unit_of(event.first + BlockCount(count - 1)) - first_unit + 1;
  const uint64_t parts = std::min<uint64_t>(units, DeviceModel::kScatteredParts);
  note_before(event.first, count);
  for (uint64_t subset = 1; subset < uint64_t{1} << parts; subset++) {
    begin_piece(event.first);
    for (uint64_t i = 0; i < count; i++) {
      const BlockAddress address = event.first + BlockCount(i);
      const uint64_t part = (unit_of(address) - first_unit) * parts / units;
      add_slot(address, (subset >> part & 1) != 0 ? BlockRef::share(event.block(i)) : before_[i]);
    }
  }
}

}  // namespace sisyfs
