// The F2FS model as a check: its options, what they mean, and the workload that goes with them.
#pragma once

#include <memory>
#include <vector>

#include "judge/check.h"
#include "models/f2fs_layout.h"
#include "target/options.h"

namespace sisyfs::f2fs {

std::vector<OptionSpec> option_specs();
// The options as sizes and switches, or why they do not go together.
Result<Config> config_of(const Options& options);
Result<std::unique_ptr<Check>> make_check(const Options& options);

}  // namespace sisyfs::f2fs
