// The journal model as a check: its options, what they mean, and how it is run.
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
// What the options ask for, or why they do not go together: told to the adapter, and as a check.
Result<DiskSetup> setup_of(const Options& options);
Result<std::unique_ptr<Check>> make_check(const Options& options);

}  // namespace sisyfs::journal
