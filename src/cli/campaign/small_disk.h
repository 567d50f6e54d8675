// The smallest disk on which each call of a target still works. On it space runs out after a few calls, so a
// search comes to full disks, to the last block and to cleaning.
//
//   Result<uint64_t> blocks = smallest_disk(entry, {"files=3"}, options);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "explore/search.h"
#include "finding/registry.h"

namespace sisyfs::cli {

// The value of the target's option `blocks`: the least one with which as many states are one call away from
// the start as with the usual one. Bad input if the target has no such option, if the user has set it, or if
// no smaller disk will do.
Result<uint64_t> smallest_disk(const CheckEntry& entry, const std::vector<std::string>& settings,
                               const SearchOptions& options);

}  // namespace sisyfs::cli
