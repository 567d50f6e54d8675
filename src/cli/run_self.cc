#include "cli/run_self.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

extern char** environ;

namespace sisyfs::cli {

Result<int> run_self(std::vector<std::string> words, SelfOutput output) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output == SelfOutput::kDropped) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  pid_t child = 0;
  std::fflush(nullptr);
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return system_error(fmt::format("cannot start the replay: {}", std::strerror(error)));
  int status = 0;
  pid_t ended = -1;
  // Ctrl-C interrupts the wait. The child gets it too, and a replay is short.
  while ((ended = waitpid(child, &status, 0)) == -1 && errno == EINTR) {
  }
  if (ended != child || !WIFEXITED(status)) return system_error("the replay was killed by a signal");
  return WEXITSTATUS(status);
}

}  // namespace sisyfs::cli
