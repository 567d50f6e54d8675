// The VeriFS model as a Target without a disk. Its state is in memory. The ops snapshot and restore (the
// ioctls CHECKPOINT and RESTORE of VeriFS) save that state and bring it back.
//
//   TargetKind kind = verifs::kind_of(verifs::Config{});
//   std::unique_ptr<Target> target = kind.make();
//
// docs/models/verifs.md describes it and its planted bugs.
#pragma once

#include "models/verifs/config.h"
#include "target/target.h"

namespace sisyfs::verifs {

TargetKind kind_of(const Config& config);

}  // namespace sisyfs::verifs
