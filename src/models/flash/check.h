// The flash model as a check: its options, what they mean, and how it is run.
//
//   sisyfs check flash --set checksum=off
#pragma once

#include <memory>
#include <vector>

#include "finding/check.h"
#include "machine/setup.h"
#include "models/flash/config.h"
#include "target/options.h"

namespace sisyfs::flash {

std::vector<OptionSpec> option_specs();
Config config_of(const Options& options);
// What the options ask for, told to the adapter, and as a check. Bad input where there is too little room.
Result<DiskSetup> setup_of(const Options& options);
Result<std::unique_ptr<Check>> make_check(const Options& options);

}  // namespace sisyfs::flash
