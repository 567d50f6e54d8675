// Wear: how often each erase unit of raw flash was erased, and which units are bad.
//
// A unit that was erased Geometry::flash.erase_cycles times is bad from then on. A unit may also be bad from
// the start. What a bad unit does is BadUnit (geometry.h). Nothing tells a target which units are bad but
// the answers of its accesses.
//
// The wear of a unit is a block of the image, behind the blocks of the disks: Geometry::wear_of() is its
// address. So it is saved, compared, put in doubt and decided like the content of a page. An erase that was
// begun counts. An image has such blocks only with FlashRules::units_go_bad.
//
//   Image image = with_bad_units(fresh_image(geometry, content), units);
//   if (is_bad(geometry, image.block(geometry.wear_of(page)))) ...
#pragma once

#include <cstdint>
#include <span>

#include "disk/image.h"

namespace sisyfs {

// How often the unit was erased.
uint32_t erases_of(const Block* wear);
// Whether the unit is bad.
bool is_bad(const Geometry& geometry, const Block* wear);
// The wear after one more erase.
BlockRef wear_after_erase(const Geometry& geometry, const Block* wear);

// The image with these units bad, by their numbers. They lie on the flash.
Image with_bad_units(Image image, std::span<const uint32_t> units);
// Whether any unit is bad. False where units never are.
bool has_bad_unit(const Image& image);

}  // namespace sisyfs
