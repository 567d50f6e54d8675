// The options that whole file systems have in common: what is done to them, and what a power cut leaves.
#pragma once

#include <string_view>
#include <vector>

#include "judge/disk_setup.h"
#include "target/options.h"

namespace sisyfs {

// Sets bounds, device and power cuts of a setup from the options fsync, remount, handles, one_write,
// system_ops, files, dirs, depth, write, file_blocks, impossible and those about trouble, which must be among
// the target's.
void set_workload(const Options& options, DiskSetup& setup);

// The options about power cuts and failing disks, crash, nesting, all_nested and failures. `prefix` comes first
// in what is said of each.
std::vector<OptionSpec> trouble_specs(std::string_view prefix = "");
void set_trouble(const Options& options, DiskSetup& setup);

}  // namespace sisyfs
