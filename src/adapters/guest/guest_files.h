// The programs that run in and around a kernel, built with this one and kept in it.
#pragma once

#include <cstddef>
#include <span>

namespace sisyfs {

std::span<const std::byte> guest_agent();  // inside/agent.cc, an executable
std::span<const std::byte> guest_shim();   // inside/shim.cc, a shared library
std::span<const std::byte> still_time();   // inside/still.cc, a shared library
std::span<const std::byte> host_agent();   // inside/host_agent.cc, an executable
std::span<const std::byte> host_disk();    // inside/host_disk.cc, an executable

}  // namespace sisyfs
