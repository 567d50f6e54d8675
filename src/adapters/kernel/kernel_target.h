// A file system of a kernel as a Target.
//
// An instance is a booted guest, with the file system mounted or not. The memory of a kernel cannot be saved.
// So a snapshot is the disk as it was before the mount and the calls since then, and it is loaded by mounting
// that disk and making the calls again, on a disk of its own. The guest does the same each time
// (inside/shim.cc), and this is checked: the calls must make the same requests to the disk.
#pragma once

#include <memory>

#include "adapters/kernel/kernel_setup.h"
#include "target/target.h"

namespace sisyfs {

std::unique_ptr<Target> make_kernel_target(std::shared_ptr<KernelSetup> setup);

}  // namespace sisyfs
