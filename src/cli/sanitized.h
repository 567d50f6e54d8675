// Plug-ins built with AddressSanitizer need its runtime to be the first library of the process.
#pragma once

#include <string>

#include "base/result.h"

namespace sisyfs::cli {

// If the target is a plug-in that needs the runtime, and this process does not have it: starts this program
// anew with the runtime, and does not return. Otherwise does nothing. An error says what is missing.
Status start_with_sanitizer(const std::string& target);

}  // namespace sisyfs::cli
