// The checks of kernel file systems, by the names of their targets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/kernel/file_systems.h"
#include "adapters/kernel/kernel_setup.h"
#include "base/result.h"
#include "finding/registry.h"

namespace sisyfs {

// Installs packages of the distribution, or says what to run.
using InstallPackages = std::function<Status(const std::vector<std::string>& packages)>;

// Adds a target for each file system.
void add_kernel_targets(CheckRegistry& registry, InstallPackages install);

// The check of one, and what its instances share.
struct KernelCheck {
  std::shared_ptr<KernelSetup> kernel;
  std::unique_ptr<Check> check;
};
std::vector<OptionSpec> kernel_option_specs(const FileSystem& fs);
Result<KernelCheck> make_kernel_check(const FileSystem& fs, const Options& options,
                                      const InstallPackages& install);

}  // namespace sisyfs
