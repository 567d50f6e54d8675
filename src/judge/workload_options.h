// Options that all file systems have in common: the workload, and the crash states.
#pragma once

#include <string_view>
#include <vector>

#include "machine/setup.h"
#include "target/options.h"

namespace sisyfs {

// Sets bounds, device and power cuts of a setup from the options fsync, remount, one_write, system_ops,
// files, dirs, depth, write, file_blocks, impossible and those about power cuts, which the target must have.
// The options handles and sync_writes are read if the target has them, and so are those of call_specs(),
// linux_specs() and names_spec().
void set_workload(const Options& options, DiskSetup& setup);

// How wide the workload is unless the user sets it: as in the published models, or as for systems that nobody
// has searched before.
enum class Width : uint8_t { kPublished, kWide };
// The options about what calls are made: truncates, offsets, fdatasync, reads.
std::vector<OptionSpec> call_specs(Width width);
// The options about calls that Linux has and POSIX has not, of the target's ops: fallocate (also punch_hole
// and zero_range), exchange (also rename_new), direct, mapped (also msync), commit (also syncfs). One without
// any of them gets none of the options. `by_default`: whether they are tried unless the user says otherwise.
std::vector<OptionSpec> linux_specs(OpSet ops, bool by_default);
// The option about names.
OptionSpec names_spec();

// Defaults of `crash`. kThesisCuts is for the models of the thesis, whose devices keep the order of writes.
// kPlainDiskCuts is for all others: every crash state of a device that reorders writes between two flushes.
inline constexpr std::string_view kThesisCuts = "prefixes", kPlainDiskCuts = "lazy";

// The options about power cuts: kCutOptions. Each help text begins with `prefix`.
inline constexpr std::string_view kCutOptions[] = {"crash",     "device",    "atomic",  "write_cache",
                                                   "discarded", "fresh",     "samples", "sample_seed",
                                                   "nesting",   "all_nested"};
std::vector<OptionSpec> cut_specs(std::string_view prefix = "", std::string_view crash = kThesisCuts);
// DiskSetup::kind is set before.
void set_cuts(const Options& options, DiskSetup& setup);

// The value of the option fresh. set_cuts() puts it into the device.
FreshContent fresh_of(const Options& options);

// The option both_ways, for targets that can recover by mount alone. set_cuts() reads it.
OptionSpec both_ways_spec(bool by_default = false);
// The option both_modes, for targets whose check has two modes of repair. set_cuts() reads it.
OptionSpec both_modes_spec();
// The option first_mount, for targets that can be saved while they are not mounted. set_cuts() reads it.
OptionSpec first_mount_spec();

// The option start, for targets that take any name. set_cuts() reads it.
OptionSpec start_spec();

// The option failures, for targets that handle I/O errors. Its value goes to DiskSetup::failures.
OptionSpec failures_spec();

}  // namespace sisyfs
