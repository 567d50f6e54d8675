// The flash model as a Target that wants raw flash. Every op is durable and atomic when it returns.
//
//   std::unique_ptr<Target> target = flash::make_target(flash::Config{});
//
// docs/models/flash.md describes it and its planted bugs.
#pragma once

#include <memory>

#include "models/flash/config.h"
#include "target/target.h"

namespace sisyfs::flash {

std::unique_ptr<Target> make_target(const Config& config);

}  // namespace sisyfs::flash
