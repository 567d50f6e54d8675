// Starts processes that die with this one.
//
// The kernel ends such a process (PR_SET_PDEATHSIG) when the thread that started it ends. So all are started
// by one thread that lives as long as this process.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace sisyfs {

struct LaunchOrder {
  std::string program;
  std::vector<std::string> arguments;    // with the name of the program
  std::vector<std::string> environment;  // all of it
  // Descriptors of this process and their numbers there. Nothing else is open there but the standard streams,
  // which are /dev/null if they are not among these.
  std::vector<std::pair<int, int>> descriptors;
  int cpu = -1;  // that it is pinned to; -1: any
  // Its number of a socket over which it sends the listener of its accesses (repair/watched_tool.h), before
  // it begins; -1: it is not watched.
  int watched = -1;
};

// The process, in a session of its own; -1 with errno if it cannot be started.
pid_t launch(const LaunchOrder& order);

}  // namespace sisyfs
