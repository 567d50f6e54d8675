// Sees the calls that no file system of ours is told of: sync and syncfs (seccomp user notification).
//
// A process puts the filter on itself and on all that it starts. Their calls then wait for an answer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sisyfs {

// The descriptor at which calls of this process wait from now on; -1 with errno.
int watch_syncs();

struct WaitingSync {
  uint64_t id = 0;
  pid_t thread = 0;
  std::optional<int> descriptor;  // of syncfs
};
// Nothing: the caller is gone.
std::optional<WaitingSync> next_sync(int listener);
// The call succeeds without being made, or is made.
void answer_sync(int listener, const WaitingSync& call, bool made_here);

}  // namespace sisyfs
