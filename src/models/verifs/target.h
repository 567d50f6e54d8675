// The VeriFS model as a Target without a disk: all that it has is memory, which it can keep and bring back by
// two ops of its own, snapshot and restore (the ioctls CHECKPOINT and RESTORE of VeriFS).
//
//   std::unique_ptr<Target> target = verifs::make_target(verifs::Config{});
//
// docs/models/verifs.md describes it and its planted bugs.
#pragma once

#include <memory>

#include "models/verifs/config.h"
#include "target/target.h"

namespace sisyfs::verifs {

std::unique_ptr<Target> make_target(const Config& config);

}  // namespace sisyfs::verifs
