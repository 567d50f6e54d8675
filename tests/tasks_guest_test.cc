// Two processes in a guest: each has open files of its own, and what one of them is promised must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::tasks_guest_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TasksGuestTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  }
  // What both processes do with one file, and the other way round.
  Answer check(const std::string& settings) const {
    const std::string script = at_.write("script",
                                         "create /a\n"
                                         "open /a @1\n"
                                         "open /a @3\n"
                                         "append @1 4096 | append @3 4096\n"
                                         "fsync @1 | fsync @3\n"
                                         "crash after\n");
    return run("check ext4 --progress off --set handles=on --set crash=subsets --script " + script + " " +
               settings);
  }
  TemporaryDirectory at_;
};

TEST_F(TasksGuestTest, TwoProcessesShareAFile) {
  const Answer answer = check("--tasks 2");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("PASS: ext4"));
}

// The agent does not make this call if the second process is to make it.
TEST_F(TasksGuestTest, APromiseToTheSecondProcessThatIsNotKeptIsFound) {
  const Answer one = check("--set plant=forgets@fsync");
  EXPECT_EQ(one.code, 0) << "one process does not meet it: " << one.text;
  const Answer two = check("--tasks 2 --set plant=forgets@fsync");
  EXPECT_EQ(two.code, 1) << two.text;
  EXPECT_THAT(on_one_line(two.text),
              AllOf(HasSubstr("(R3)"), HasSubstr("fsync @3 (task 2)"), HasSubstr("tasks=2")));
  const std::string token = token_in(two.text);
  ASSERT_NE(token, "") << two.text;
  EXPECT_EQ(run("replay " + token).code, 1);
}

// A descriptor of one process is none of the other.
TEST_F(TasksGuestTest, ProcessesHaveDescriptorsOfTheirOwn) {
  const FileSystem& ext4 = *file_system("ext4");
  GuestWithDisk one(ext4);
  ASSERT_TRUE(one.booted());
  ASSERT_EQ(one.mount(), 0);
  ASSERT_EQ(one.create("/a"), 0);
  const auto call = [&](guest::Call what, uint32_t handle, uint32_t process) {
    guest::Command command{.what = guest::Do::kCall, .number = static_cast<uint32_t>(what), .handle = handle};
    command.process = process;
    command.length = 4;
    return one.guest().run(command, {"/a", "", ""}, std::as_bytes(std::span("abc")));
  };
  using guest::Call;
  EXPECT_EQ(call(Call::kOpen, 2, 1).error, 0);
  EXPECT_EQ(call(Call::kWrite, 2, 1).error, 0);
  EXPECT_EQ(call(Call::kFsync, 2, 0).error, EBADF) << "asked of the wrong process";
  EXPECT_EQ(call(Call::kOpen, 0, 0).error, 0);
  EXPECT_EQ(one.call(Call::kUnlink, "/a"), 0);
  EXPECT_EQ(call(Call::kWrite, 2, 1).error, 0) << "it has no name any more";
  EXPECT_EQ(call(Call::kClose, 2, 1).error, 0);
  EXPECT_EQ(call(Call::kOpen, 3, 1).error, ENOENT);
  EXPECT_EQ(one.unmount(), 0) << "and nothing is held";
}

}  // namespace
}  // namespace sisyfs::tasks_guest_test
