// The file-mapping models as checks: their options, and the two forms in which they run.
#pragma once

#include <memory>
#include <vector>

#include "finding/check.h"
#include "machine/setup.h"
#include "models/mapping/mapping.h"
#include "target/options.h"

namespace sisyfs::mapping {

enum class Model : uint8_t { kLink, kIndex };

// The options of both models, and the configuration that they give.
std::vector<OptionSpec> option_specs();
Config config_of(const Options& options);

// The model as a transition system of its own, ops split into steps and tasks interleaved (via=steps).
std::unique_ptr<Check> make_steps_check(Model model, const Config& config);

// The model as a target with a disk, checked through the adapter, ops run whole (via=disk).
DiskSetup disk_setup_of(Model model, const Options& options);

// The check that the options ask for, or an error if they contradict each other.
Result<std::unique_ptr<Check>> make_check(Model model, const Options& options);

}  // namespace sisyfs::mapping
