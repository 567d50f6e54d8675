// Repair tools of kernel file systems: two modes that are compared, power cuts in e2fsck, and what a run says
// of how a tool reaches the disk. 'preen' and 'watch' are options that are not listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::repair_modes_guest_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RepairModes : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_guest(file_system("ext2")); !why.empty()) GTEST_SKIP() << why;
    if (const Status can = can_watch_tools(); !can) GTEST_SKIP() << can.error().message;
  }
  void TearDown() override { std::filesystem::remove(script_); }

  // A tool that does this with an image.
  std::string tool(const std::string& lines) {
    script_ = testing::TempDir() + "repair_modes_" + std::to_string(getpid()) + ".sh";
    std::ofstream(script_) << "#!/bin/sh\n" << lines;
    std::filesystem::permissions(script_, std::filesystem::perms::owner_all);
    return script_;
  }

  std::string script_;
};

constexpr const char* kSmall =
    "check ext2 --all --depth 1 --progress off --set dirs=0 --set links=off --set xattrs=off --set "
    "both_modes=on ";

TEST_F(RepairModes, ACautiousModeThatBringsBackAnotherTreeIsFound) {
  const std::string wrong =
      tool("e2fsck -p \"$1\"\ndebugfs -w -R 'mkdir left' \"$1\" > /dev/null 2>&1\nexit 0\n");
  const Answer answer = run(kSmall + ("--set preen=" + wrong));
  EXPECT_EQ(answer.code, 1) << answer.text;
  EXPECT_THAT(on_one_line(answer.text),
              AllOf(HasSubstr("two-outcomes (R7)"), HasSubstr("after its check in the cautious mode: ")));
}

TEST_F(RepairModes, TheTwinIsClean) {
  const std::string right = tool("exec e2fsck -p \"$1\"\n");
  const Answer answer = run(kSmall + ("--set preen=" + right));
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("the disk sees each read, write and flush of the repair tool"));
}

// What it does not repair it need not bring back.
TEST_F(RepairModes, ACautiousModeMayRefuse) {
  const std::string refuses = tool("debugfs -w -R 'mkdir left' \"$1\" > /dev/null 2>&1\nexit 4\n");
  const Answer answer = run(kSmall + ("--set preen=" + refuses));
  EXPECT_EQ(answer.code, 0) << answer.text;
}

TEST_F(RepairModes, OneModeIsNotCompared) {
  const Answer vfat = run("check vfat --depth 1 --set both_modes=on");
  EXPECT_EQ(vfat.code, 2) << vfat.text;
  EXPECT_THAT(vfat.text,
              HasSubstr("both_modes=on compares two modes of a repair tool, and fsck.vfat has one"));
  const Answer mounts = run("check ext4 --depth 1 --set both_modes=on");
  EXPECT_EQ(mounts.code, 2) << mounts.text;
  EXPECT_THAT(mounts.text, HasSubstr("recovery=repair"));
}

// Power cuts in a copy that is written back are others than in the tool.
TEST_F(RepairModes, ARunSaysHowTheToolReachesTheDisk) {
  const std::string small =
      "check ext2 --depth 1 --progress off --set dirs=0 --set nesting=1 --set crash=prefixes ";
  const Answer seen = run(small), copied = run(small + "--set watch=off");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(copied.code, 0) << copied.text;
  EXPECT_THAT(seen.text, HasSubstr("  repairs   the disk sees each read, write and flush"));
  EXPECT_THAT(copied.text,
              AllOf(HasSubstr("  repairs   the repair tool works on a copy"), Not(HasSubstr("sees each"))));
}

}  // namespace
}  // namespace sisyfs::repair_modes_guest_test
