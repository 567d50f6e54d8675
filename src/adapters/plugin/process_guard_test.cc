#include "adapters/plugin/process_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>

namespace sisyfs::process_guard_test {
namespace {

// Runs a check in a process that is guarded, which this one must not become. What it printed to the real
// standard output, and after that how it ended: 0 if the check held.
std::string in_guarded_process(const std::function<bool(const RealStreams&)>& check) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    const bool held = check(guard_process());
    _exit(held ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char part[256];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) said.append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return said + (WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "killed");
}

TEST(ProcessGuardTest, StreamsOfTheCheckerAreNotDescriptorsOneAndTwo) {
  EXPECT_EQ(in_guarded_process([](const RealStreams& real) {
              return write(STDOUT_FILENO, "foreign", 7) == 7 && write(STDERR_FILENO, "x", 1) == 1 &&
                     write(real.output, "checker ", 8) == 8;
            }),
            "checker 0");
}

TEST(ProcessGuardTest, AnotherProcessIsSignalledOnlyOnPurpose) {
  EXPECT_EQ(in_guarded_process([](const RealStreams&) {
              const pid_t child = fork();
              if (child == 0) {
                pause();
                _exit(0);
              }
              const bool refused = kill(child, SIGKILL) == -1 && errno == EPERM;
              int status = 0;
              return refused && send_signal(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child &&
                     WIFSIGNALED(status);
            }),
            "0");
}

TEST(ProcessGuardTest, ASignalToItselfIsRaised) {
  EXPECT_EQ(in_guarded_process([](const RealStreams&) { return raise(SIGUSR1) == 0; }), "killed");
}

TEST(ProcessGuardTest, LimitsStay) {
  EXPECT_EQ(in_guarded_process([](const RealStreams&) {
              rlimit before{}, after{};
              const rlimit none{};
              return getrlimit(RLIMIT_FSIZE, &before) == 0 && setrlimit(RLIMIT_FSIZE, &none) == 0 &&
                     getrlimit(RLIMIT_FSIZE, &after) == 0 && before.rlim_cur == after.rlim_cur;
            }),
            "0");
}

TEST(ProcessGuardTest, KeptDescriptorsStayOpen) {
  EXPECT_EQ(in_guarded_process([](const RealStreams&) {
              const int kept = keep_descriptor(open("/dev/zero", O_RDONLY | O_CLOEXEC));
              for (int i = 0; i < 1100; ++i) close(i);
              close_range(3, ~0u, 0);
              dup2(STDIN_FILENO, kept);
              char byte = 1;
              return read(kept, &byte, 1) == 1 && byte == 0;
            }),
            "0");
}

// More are asked for than there is room: those that were given up make room again.
TEST(ProcessGuardTest, KeptDescriptorsAreUsedAgain) {
  EXPECT_EQ(in_guarded_process([](const RealStreams&) {
              for (int i = 0; i < 200; ++i) {
                const int kept = keep_descriptor(open("/dev/zero", O_RDONLY | O_CLOEXEC));
                char byte = 1;
                if (static_cast<uint32_t>(kept) < kept_descriptors().first || read(kept, &byte, 1) != 1)
                  return false;
                close_kept(kept);
                if (read(kept, &byte, 1) == 1) return false;
              }
              return true;
            }),
            "0");
}

TEST(ProcessGuardTest, OtherDescriptorsAreClosedAsEver) {
  EXPECT_EQ(in_guarded_process([](const RealStreams&) {
              const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
              return close(file) == 0 && fcntl(file, F_GETFD) == -1;
            }),
            "0");
}

}  // namespace
}  // namespace sisyfs::process_guard_test
