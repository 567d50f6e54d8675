// The standard streams of the program in a process that runs foreign code.
#pragma once

namespace sisyfs::cli {

// Guards this process (adapters/plugin/process_guard.h). `stdout` and `stderr` go on to mean the real
// streams, which then have other descriptors.
void guard_and_keep_streams();

}  // namespace sisyfs::cli
