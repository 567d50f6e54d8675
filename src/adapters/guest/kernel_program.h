// Whether a program is a kernel that can be booted as a guest. It is looked at, and not run.
#pragma once

#include <string>

#include "base/result.h"

namespace sisyfs {

// Bad input, with the reason, if this path is no user-mode Linux for the processor of this program, or one
// that cannot be given a clock of its own.
Status check_kernel_program(const std::string& path);

// The folder of the modules of such a kernel, beside it or where the package has them; empty if there is
// none.
std::string modules_of(const std::string& program);

}  // namespace sisyfs
