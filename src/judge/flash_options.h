// The options that all file systems on raw flash share: which flash it is, and which of its units are bad.
//
//   for (OptionSpec& spec : flash_specs({}, kPageSize)) specs.push_back(std::move(spec));
//   ...
//   if (Status s = set_flash(options, setup); !s) return s.error();
#pragma once

#include <vector>

#include "machine/setup.h"
#include "target/options.h"

namespace sisyfs {

// What a target claims of the flash that it is meant for: the defaults of the options.
struct FlashClaims {
  bool nor = false;
  bool handles_bad_units = false;  // a campaign tries bad units
};

// `page`: bytes of a page, unless the user sets something else.
std::vector<OptionSpec> flash_specs(const FlashClaims& claims, uint32_t page);

// Sets the rules of the flash, its bad units, and what may be torn. The shape of the disks and the device are
// set already. Bad input if the options do not go together, or if there is no raw flash and one was set.
Status set_flash(const Options& options, DiskSetup& setup);

}  // namespace sisyfs
