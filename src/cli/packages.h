// Packages of the distribution that only some targets need.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sisyfs::cli {

// Installs them, and says so in one line. Where that is not allowed, the error names the one command to run.
Status install_packages(const std::vector<std::string>& packages);

}  // namespace sisyfs::cli
