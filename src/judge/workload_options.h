// The options that whole file systems have in common: what is done to them, and what a power cut leaves.
#pragma once

#include <string_view>
#include <vector>

#include "machine/setup.h"
#include "target/options.h"

namespace sisyfs {

// Sets bounds, device and power cuts of a setup from the options fsync, remount, handles, one_write,
// system_ops, files, dirs, depth, write, file_blocks, impossible and those about power cuts, which must be
// among the target's, and sync_writes, which is there where the target knows O_SYNC.
void set_workload(const Options& options, DiskSetup& setup);

// The values of `crash` where nothing is said of it. The first is for the models of the thesis, whose devices
// keep order; the second for all others: every crash state of a device that reorders between two flushes.
inline constexpr std::string_view kThesisCuts = "prefixes", kPlainDiskCuts = "lazy";

// The options about power cuts: kCutOptions. `prefix` comes first in what is said of each.
inline constexpr std::string_view kCutOptions[] = {"crash",       "device",    "atomic",
                                                   "write_cache", "discarded", "samples",
                                                   "sample_seed", "nesting",   "all_nested"};
std::vector<OptionSpec> cut_specs(std::string_view prefix = "", std::string_view crash = kThesisCuts);
// DiskSetup::kind is set before.
void set_cuts(const Options& options, DiskSetup& setup);

// The option both_ways, of targets whose mount is enough after a power cut; set_cuts knows it.
OptionSpec both_ways_spec();

// The option failures, of targets that say what they do when the disk fails. Its value goes to
// DiskSetup::failures.
OptionSpec failures_spec();

}  // namespace sisyfs
