#include "cli/cli.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace sisyfs::cli::cli_test {
namespace {

void interrupt_twice() {
  watch_interrupt();
  raise(SIGINT);
  raise(SIGINT);  // at once: one Ctrl-C that was sent to a process and to its group
  if (!interrupted().load()) _exit(1);
  usleep(200'000);
  raise(SIGINT);
  _exit(2);
}

TEST(InterruptTest, TheSecondKillsUnlessItComesWithTheFirst) {
  EXPECT_EXIT(interrupt_twice(), testing::KilledBySignal(SIGINT), "");
}

void interrupt_the_traces() {
  watch_interrupt();
  raise(SIGINT);
  usleep(200'000);
  {
    const TracesInterrupt heeded;
    if (traces_interrupted().load()) _exit(1);
    raise(SIGINT);
    if (!traces_interrupted().load()) _exit(2);
  }
  usleep(200'000);
  raise(SIGINT);
  _exit(3);
}

TEST(InterruptTest, WhileTracesAreLookedForAnotherOneIsHeeded) {
  EXPECT_EXIT(interrupt_the_traces(), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace sisyfs::cli::cli_test
