// The F2FS model as a check, and its options.
//
//   sisyfs check f2fs --set preset=small --set reuse=lifo
#pragma once

#include <memory>
#include <vector>

#include "finding/check.h"
#include "machine/setup.h"
#include "models/f2fs/config.h"
#include "target/options.h"

namespace sisyfs::f2fs {

std::vector<OptionSpec> option_specs();
Config config_of(const Options& options);
// The setup and the check that the options ask for, or an error if they contradict each other.
Result<DiskSetup> setup_of(const Options& options);
Result<std::unique_ptr<Check>> make_check(const Options& options);

}  // namespace sisyfs::f2fs
