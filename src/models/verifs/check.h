// The VeriFS models as checks: their options, what they mean, and how they are run.
//
//   sisyfs check verifs2 --set hole_zero=off
#pragma once

#include <memory>
#include <vector>

#include "finding/check.h"
#include "machine/setup.h"
#include "models/verifs/config.h"
#include "target/options.h"

namespace sisyfs::verifs {

// Those of one version: the first has no links and no limit to its bytes.
std::vector<OptionSpec> option_specs(Version version);
Config config_of(Version version, const Options& options);
// What the options ask for, told to the adapter, and as a check.
DiskSetup setup_of(Version version, const Options& options);
Result<std::unique_ptr<Check>> make_check(Version version, const Options& options);

}  // namespace sisyfs::verifs
