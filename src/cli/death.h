// How a process that ran foreign code ended, in words.
#pragma once

#include <sys/types.h>

#include <string>

namespace sisyfs::cli {

// `status` is that of waitpid(). `inside`: it ended within a call into foreign code. Prints the report that a
// sanitizer wrote for the process, if there is one.
std::string text_of_death(pid_t process, int status, bool inside);

// Whether an assertion of the checker ended the process, which has printed it.
bool is_own_assertion(int status, bool inside);

}  // namespace sisyfs::cli
