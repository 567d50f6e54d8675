// The checks of kernel file systems, by the names of their targets.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "finding/registry.h"

namespace sisyfs {

// Installs packages of the distribution, or says what to run.
using InstallPackages = std::function<Status(const std::vector<std::string>& packages)>;

// Adds a target for each file system.
void add_kernel_targets(CheckRegistry& registry, InstallPackages install);

}  // namespace sisyfs
