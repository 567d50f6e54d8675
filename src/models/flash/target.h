// The flash model as a Target that wants raw flash. Every op is durable and atomic when it returns.
//
//   TargetKind kind = flash::kind_of(flash::Config{});
//   std::unique_ptr<Target> target = kind.make();
//
// docs/models/flash.md describes it and its planted bugs.
#pragma once

#include "models/flash/config.h"
#include "target/target.h"

namespace sisyfs::flash {

TargetKind kind_of(const Config& config);

}  // namespace sisyfs::flash
