#include "crash/device_model.h"

#include <fmt/format.h>

namespace sisyfs {

Status DeviceModel::check(const Geometry& geometry) const {
  if (writes_are_tied() || unit_bytes % geometry.block_size == 0) return {};
  return bad_input(
      fmt::format("The device tears writes at {} bytes, but the blocks of the disk have {}: use a disk whose "
                  "block size divides the unit.",
                  unit_bytes, geometry.block_size));
}

}  // namespace sisyfs
