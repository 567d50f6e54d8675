// The F2FS model as a check: its options, what they mean, and how it is run.
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
// What the options ask for, or why they do not go together: told to the adapter, and as a check.
Result<DiskSetup> setup_of(const Options& options);
Result<std::unique_ptr<Check>> make_check(const Options& options);

}  // namespace sisyfs::f2fs
