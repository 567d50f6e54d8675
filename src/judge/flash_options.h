// The options that all file systems on raw flash share: which flash it is, and which of its units are bad.
//
//   for (OptionSpec& spec : flash_specs(false, kPageSize)) specs.push_back(std::move(spec));
//   ...
//   if (Status s = set_flash(options, setup); !s) return s.error();
#pragma once

#include <vector>

#include "machine/setup.h"
#include "target/options.h"

namespace sisyfs {

// `nor`: the flash is NOR unless the user says something else. `page`: bytes of a page, unless the user does.
std::vector<OptionSpec> flash_specs(bool nor, uint32_t page);

// Sets the rules of the flash, its bad units, and what may be torn. The shape of the disks and the device are
// set already. Bad input if the options do not go together, or if there is no raw flash and one was set.
Status set_flash(const Options& options, DiskSetup& setup);

}  // namespace sisyfs
