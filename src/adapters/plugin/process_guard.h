// Process guard: what a process does before it loads foreign code, so that the code cannot harm other
// processes, take away descriptors of the checker, or write to its standard output.
//
//   RealStreams real = guard_process();           // once, before the plug-in is loaded
//   socket = keep_descriptor(socket);             // moves it to where foreign code cannot close it
//   send_signal(child, SIGKILL);                  // instead of kill(), which the kernel refuses from then on
//
// Standard output and standard error of the process become /dev/null for foreign code. Descriptors 1 and 2
// are no longer the checker's; it has the real streams elsewhere (cli/own_streams.h).
//
// The arena (arena/process.c) names functions that a plug-in must not call, and ends the call. Code that
// makes system calls without libc is stopped by a filter of the kernel (seccomp). It also holds for programs
// that this process starts, so it refuses only what no repair tool needs:
//
//   signals to other processes     EPERM
//   limits of resources            has no effect, and says that it succeeded
//   closing what is kept           likewise
//   chroot                         EPERM
//
// A system without seccomp has no filter.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sisyfs {

// The descriptors of the real standard streams.
struct RealStreams {
  int output, error;
};
RealStreams guard_process();
bool process_is_guarded();

// Lets foreign code print to standard error from now on, instead of to /dev/null.
void show_prints();

// The descriptors that are kept: a range of numbers. Count 0: the limit of open files leaves no room for it.
struct KeptDescriptors {
  uint32_t first = 0, count = 0;
};
KeptDescriptors kept_descriptors();
// Gives an open descriptor a number in that range, and closes the old one. Returns the old one if there is no
// room. It is closed on exec.
int keep_descriptor(int descriptor);
void close_kept(int descriptor);

// As kill().
int send_signal(pid_t process, int signal);

}  // namespace sisyfs
