// How a process that ran foreign code ended, in words.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace sisyfs::cli {

// `status` is that of waitpid(). `inside`: it ended within a call into foreign code. Prints the report that a
// sanitizer wrote for the process, if there is one.
std::string text_of_death(pid_t process, int status, bool inside);

// A call that is over its own limit by this much ignores the signal that should end it.
inline constexpr uint32_t kGraceSeconds = 5;
// What is said of it.
inline constexpr const char* kStuck = "it does not react, and ignores signals";
// What is said of a process that ended at an assertion of the checker.
inline constexpr const char* kOwnAssertion =
    "stopped at a failed check of its own: a bug of Sisyfs, or the target wrote to memory of the checker";

// Removes the reports that sanitizers wrote for processes of this run, also for those in which calls were
// tried.
void remove_reports();

// By SIGKILL, which usually comes from somebody else.
bool is_killed(int status);

// Whether an assertion of the checker ended the process, which has printed it.
bool is_own_assertion(int status, bool inside);

}  // namespace sisyfs::cli
