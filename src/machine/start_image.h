// StartImage: a file system on which a search begins: new, aged, or nearly full.
//
// An aged one has seen a few hundred ops that create, overwrite, rename and delete, so that its disk is
// fragmented. A full one has files that fill it, up to a few blocks. Both keep files, the ballast, which the
// workload leaves alone (Variety::ballast) and the expectation knows: they are still there after each power
// cut. The ops depend on the target's answers alone. A target without room for all of them gets fewer.
//
//   Tree tree;
//   int error = make_start_image(StartImage::kAged, kind, bounds, [&](const Op& op) { return
//   target.apply(op); }, tree);
#pragma once

#include <functional>

#include "target/target_kind.h"
#include "workload/op.h"

namespace sisyfs {

enum class StartImage : uint8_t { kNew, kAged, kFull };

// Bad input if such a start cannot be made of this kind of target.
Status check_start_image(StartImage image, const TargetKind& kind, const Bounds& bounds);

// Does the ops on the target and on the tree. Returns 0, or an errno if the target answers what it should
// not.
int make_start_image(StartImage image, const TargetKind& kind, const Bounds& bounds,
                     const std::function<OpResult(const Op&)>& call, Tree& tree);

}  // namespace sisyfs
