// The flash model as a check, and its options.
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
// The setup and the check that the options ask for. Bad input if there is too little space.
Result<DiskSetup> setup_of(const Options& options);
Result<std::unique_ptr<Check>> make_check(const Options& options);

}  // namespace sisyfs::flash
