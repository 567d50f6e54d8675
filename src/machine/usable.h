// The trial of use: whether a system that came back can be used.
//
// Every contract demands it: a file can be made, written and read back; everything can be deleted; then there
// is room again; the system unmounts, its own repair finds nothing and changes nothing, and it mounts empty.
#pragma once

#include <optional>

#include "disk/media.h"
#include "machine/recovery.h"
#include "target/target.h"

namespace sisyfs {

// The first write that a trial of use does to a system with this tree: it makes a file, or deletes one if
// there is no place for another. Nothing if neither is possible.
std::optional<Op> first_write(const TargetKind& kind, const Bounds& bounds, const Tree& tree);

// Tries a mounted target that holds `tree`. True if all went well. `notes`, if not null, says what was done,
// and what did not go well. Target and media are used up.
bool is_usable(const TargetKind& kind, Target& target, Media& media, const Bounds& bounds, Tree tree,
               TrialNotes* notes);

}  // namespace sisyfs
