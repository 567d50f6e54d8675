// Plug-ins built with AddressSanitizer need its runtime to be the first library of the process.
#pragma once

#include <string>

#include "base/result.h"

namespace sisyfs::cli {

// If the plug-in needs the runtime and this process does not have it, restarts this program with it and does
// not return. Otherwise does nothing. An error says what is missing.
Status start_with_sanitizer(const std::string& target);

}  // namespace sisyfs::cli
