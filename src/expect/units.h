// Data units: whether each unit of a file that came back is a version that the file had there.
//
// A unit is what persists together, data_unit bytes at a multiple of it. Units are judged one by one, so a
// file may mix versions. A version reads as zeros beyond its end: that is what a hole or growth leaves.
#pragma once

#include <cstdint>
#include <optional>

#include "expect/history.h"

namespace sisyfs {

// The offset of the first unit of `data` that is no version which `object` had there in the window and
// that its promises leave; nothing if all are. The object must be there at some point of the window.
std::optional<uint64_t> first_wrong_unit(const History& history, ObjectId object, const FileData& data,
                                         uint32_t unit);

// Whether a power cut may leave the object with this size.
bool size_allowed(const History& history, ObjectId object, uint64_t size);

}  // namespace sisyfs
