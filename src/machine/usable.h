// The trial of use: whether a system that came back can be used.
//
// Every contract demands it: a file can be made, written and read back; everything can be deleted; then there
// is room again; the system unmounts, its own repair finds nothing and changes nothing, and it mounts empty.
#pragma once

#include <string>

#include "disk/media.h"
#include "target/target.h"

namespace sisyfs {

// Tries a mounted target that holds `tree`. True if all went well; otherwise `why`, if not null, says what
// did not. Target and media are used up.
bool is_usable(const TargetKind& kind, Target& target, Media& media, const Bounds& bounds, Tree tree,
               std::string* why);

}  // namespace sisyfs
