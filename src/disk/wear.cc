#include "disk/wear.h"

#include <cstring>

namespace sisyfs {
namespace {

// The wear of a unit that is bad from the start.
constexpr uint32_t kBad = UINT32_MAX;

BlockRef wear_block(uint32_t erases) { return make_block(std::as_bytes(std::span(&erases, 1))); }

}  // namespace

uint32_t erases_of(const Block* wear) {
  uint32_t erases = 0;
  if (wear != nullptr) std::memcpy(&erases, wear->bytes().data(), sizeof erases);
  return erases;
}

bool is_bad(const Geometry& geometry, const Block* wear) {
  const uint32_t erases = erases_of(wear), most = geometry.flash.erase_cycles;
  return erases == kBad || (most != 0 && erases >= most);
}

BlockRef wear_after_erase(const Geometry& geometry, const Block* wear) {
  const bool counts = geometry.flash.erase_cycles != 0 && !is_bad(geometry, wear);
  return counts ? wear_block(erases_of(wear) + 1) : BlockRef::share(wear);
}

Image with_bad_units(Image image, std::span<const uint32_t> units) {
  const Geometry& geometry = image.geometry();
  for (const uint32_t unit : units)
    image.set(geometry.wear_of(BlockAddress(uint64_t{unit} * geometry.erase_blocks)), wear_block(kBad));
  return image;
}

bool has_bad_unit(const Image& image) {
  const Geometry& geometry = image.geometry();
  if (!geometry.flash.units_go_bad) return false;
  for (uint64_t page = 0; page < geometry.block_count.value; page += geometry.erase_blocks)
    if (is_bad(geometry, image.block(geometry.wear_of(BlockAddress(page))))) return true;
  return false;
}

}  // namespace sisyfs
