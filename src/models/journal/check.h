// The journal model as a check, and its options.
//
//   sisyfs check journal --set mode=data --set revoke=off
#pragma once

#include <memory>
#include <vector>

#include "finding/check.h"
#include "machine/setup.h"
#include "models/journal/config.h"
#include "target/options.h"

namespace sisyfs::journal {

std::vector<OptionSpec> option_specs();
Config config_of(const Options& options);
// The setup and the check that the options ask for, or an error if they contradict each other.
Result<DiskSetup> setup_of(const Options& options);
Result<std::unique_ptr<Check>> make_check(const Options& options);

}  // namespace sisyfs::journal
