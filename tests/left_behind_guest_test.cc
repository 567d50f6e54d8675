// Whatever way a run ends, no process, mount or file of it is left. The guest kernel has helpers, which are
// processes of their own: two of each guest once stayed behind, with its memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::left_behind_guest_test {
namespace {

using testing::HasSubstr;

class LeftBehindGuestTest : public testing::TestWithParam<const char*> {};

// scripts/left_behind.sh with more runs is for a longer look.
TEST_P(LeftBehindGuestTest, ARunThatIsEndedLeavesNothing) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = run_line(
      std::string("'" SISYFS_SOURCE_DIR "/scripts/left_behind.sh' '" SISYFS_PROGRAM "' 5 ") + GetParam());
  if (answer.code == 3) GTEST_SKIP() << answer.text;
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("nothing was left by 5 runs"));
}

INSTANTIATE_TEST_SUITE_P(Signals, LeftBehindGuestTest, testing::Values("KILL", "INT", "TERM"),
                         [](const auto& info) { return std::string(info.param); });

// Live processes of a session.
int processes_in(pid_t session) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::stringstream text;
    text << file.rdbuf();
    const size_t name = text.str().rfind(')');
    if (name == std::string::npos) continue;
    std::istringstream rest(text.str().substr(name + 1));
    char state = 0;
    pid_t parent = 0, group = 0, own = 0;
    rest >> state >> parent >> group >> own;
    count += own == session && state != 'Z' ? 1 : 0;
  }
  return count;
}

bool is_empty_soon(pid_t session) {
  for (int i = 0; i < 500 && processes_in(session) != 0; ++i) usleep(10'000);
  return processes_in(session) == 0;
}

TEST(GuestProcessesGuestTest, GoWithTheirGuest) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  pid_t session = 0;
  {
    GuestWithDisk one(*file_system("ext4"));
    ASSERT_TRUE(one.booted());
    session = one.guest().process();
    EXPECT_GT(processes_in(session), 1) << "the kernel and its helpers";
  }
  EXPECT_TRUE(is_empty_soon(session));
}

TEST(GuestProcessesGuestTest, GoWhenTheGuestEndsByItself) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  GuestWithDisk one(*file_system("ext4"));
  ASSERT_TRUE(one.booted());
  const pid_t session = one.guest().process();
  EXPECT_EQ(one.plant(guest::Plant::kPanic), -1);
  EXPECT_TRUE(is_empty_soon(session));
}

}  // namespace
}  // namespace sisyfs::left_behind_guest_test
