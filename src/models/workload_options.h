// The options that whole file systems have in common: what is done to them, and what a power cut leaves.
#pragma once

#include "judge/disk_setup.h"
#include "target/options.h"

namespace sisyfs {

// Sets bounds, device and power cuts of a setup from the options fsync, remount, handles, one_write,
// system_ops, files, dirs, depth, write, file_blocks, impossible and crash, which must be among the target's,
// and sync_writes, which is there where the target knows O_SYNC.
void set_workload(const Options& options, DiskSetup& setup);

}  // namespace sisyfs
