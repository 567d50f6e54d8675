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

// The first op of a trial of use that a mounted target with this tree refuses for lack of space. Nothing if
// it has room for the file of the trial. On a disk on which a fresh system has none, no trial can succeed.
// Target and media are used up.
std::optional<Op> refused_for_space(const TargetKind& kind, Target& target, Media& media,
                                    const Bounds& bounds, Tree tree);

// Tries a mounted target that holds `tree`. True if all went well. `notes`, if not null, says what was done,
// and what did not go well. Target and media are used up.
bool is_usable(const TargetKind& kind, Target& target, Media& media, const Bounds& bounds, Tree tree,
               TrialNotes* notes);

}  // namespace sisyfs
