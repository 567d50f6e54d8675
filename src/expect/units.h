// Data units: checks that each unit of a recovered file is a version that the file had at that offset.
//
// A unit is data_unit bytes at a multiple of data_unit; its bytes persist together. Units are checked one by
// one, so a file may mix versions. Beyond its end a version reads as zeros, like a hole.
#pragma once

#include <cstdint>
#include <optional>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

// The offset of the first unit of `data` that is not a version of `object` from the window, or that breaks a
// promise; nothing if all units are allowed. The object must exist at some time of the window. With
// stale_data a unit may hold anything if it was written for the first time in the window.
std::optional<uint64_t> first_wrong_unit(const History& history, ObjectId object, const FileData& data,
                                         const ContractRules& rules);

// Whether a power cut may leave the object with this size.
bool size_allowed(const History& history, ObjectId object, uint64_t size, const ContractRules& rules);

// Whether a power cut may leave the file as a whole as it was at this position: no promise excludes its size
// or one of its units. The object must exist there.
bool version_allowed(const History& history, ObjectId object, size_t position, const ContractRules& rules);

}  // namespace sisyfs
