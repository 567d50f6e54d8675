// Usability: whether a system that came back can be worked with.
//
// Every contract demands it: a file can be made, written, read back; everything can be deleted; then there
// is room again; it unmounts, its own repair finds nothing and changes nothing, and it mounts empty.
#pragma once

#include <string>

#include "disk/media.h"
#include "target/target.h"

namespace sisyfs {

// Tries it on a mounted target that holds `tree`. True if all went well; `why`, if not null, is told what did
// not. Target and disk are used up: what they hold afterwards is of no use.
bool is_usable(const TargetKind& kind, Target& target, Media& disk, const Bounds& bounds, Tree tree,
               std::string* why);

}  // namespace sisyfs
