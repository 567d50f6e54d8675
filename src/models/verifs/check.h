// The VeriFS models as checks, and their options.
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

// The options of one version. The first version has no links and no limit of bytes.
std::vector<OptionSpec> option_specs(Version version);
Config config_of(Version version, const Options& options);
// The setup and the check that the options ask for.
DiskSetup setup_of(Version version, const Options& options);
Result<std::unique_ptr<Check>> make_check(Version version, const Options& options);

}  // namespace sisyfs::verifs
