// Checks on the kernel of the host, by the program: what it finds, what it refuses, what it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "host_for_test.h"
#include "program.h"

namespace sisyfs::host_root_test {
namespace {

using testing::HasSubstr;

std::string why_not(const char* name) { return why_not_on_host(*file_system(name)); }
std::string token_in(const std::string& text) {
  const size_t begin = text.find(" s2:") + 1;
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

TEST(HostCheckRootTest, Ext4IsCleanToDepth1) {
  if (const std::string why = why_not("ext4"); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = run("check ext4 --host --depth 1 --progress off");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("PASS: ext4 on=host"));
  EXPECT_THAT(answer.text, HasSubstr("made again, with other bytes"));
}

// Finds something with these ops, and replays it.
void expect_found(const std::string& ops, const std::string& arguments) {
  const std::string script = testing::TempDir() + "host-" + std::to_string(getpid());
  std::ofstream(script) << ops;
  const Answer found = run("check " + arguments + " --host --first --progress off --script '" + script + "'");
  std::filesystem::remove(script);
  ASSERT_EQ(found.code, 1) << found.text;
  utsname names{};
  uname(&names);
  EXPECT_THAT(found.text, HasSubstr(std::string("of Linux ") + names.release));
  const std::string token = token_in(found.text);
  EXPECT_THAT(token, HasSubstr("on=host"));
  for (int i = 0; i < 3; ++i) {
    const Answer replayed = run("replay " + token);
    EXPECT_EQ(replayed.code, 1) << replayed.text;
    EXPECT_THAT(replayed.text, HasSubstr("still happens"));
  }
}

// A journal whose commits are not ordered by flushes loses them.
TEST(HostCheckRootTest, Ext4WithoutBarriersIsFoundAndReplays) {
  if (const std::string why = why_not("ext4"); !why.empty()) GTEST_SKIP() << why;
  expect_found("create /a; fsync /a; crash", "ext4 --set mount=noatime,nobarrier");
}

// The directory is not written, and the bytes of the file may come later than its size.
TEST(HostCheckRootTest, Ext2ThatPromisesWhatItDoesNotKeepIsFoundAndReplays) {
  if (const std::string why = why_not("ext2"); !why.empty()) GTEST_SKIP() << why;
  expect_found("create /a; write_sync /a 1024 1024", "ext2 --set contract=fsync");
}

// --- what is refused --------------------------------------------------------------------------------

TEST(HostCheckRootTest, WithoutRootItIsRefused) {
  const std::string why = why_not("ext4");
  if (!why.empty()) GTEST_SKIP() << why;
  const Answer answer =
      run_line("setpriv --reuid 65534 --regid 65534 --clear-groups '" SISYFS_PROGRAM "' check ext4 --host");
  if (answer.text.find("setpriv") != std::string::npos || answer.code == 126 || answer.code == 127)
    GTEST_SKIP() << "the program cannot be run as another user: " << answer.text;
  EXPECT_EQ(answer.code, 2) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("needs root"));
}

TEST(HostCheckRootTest, WithoutFuseOrLoopItIsRefused) {
  const std::string why = why_not("ext4");
  if (!why.empty()) GTEST_SKIP() << why;
  for (const char* device : {"fuse", "loop-control"}) {
    const Answer answer = run_line(std::string("unshare -m sh -c \"mount -t tmpfs none /mnt && touch "
                                               "/mnt/none && mount --bind /mnt/none /dev/") +
                                   device + " && mount -o remount,ro,bind /dev/" + device +
                                   " && exec '" SISYFS_PROGRAM "' check ext4 --host --depth 1\"");
    EXPECT_EQ(answer.code, 2) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(std::string("/dev/") + device + " cannot be opened here"));
  }
}

TEST(HostCheckRootTest, AFileSystemThatTheKernelHasNotIsRefusedByName) {
  if (const std::string why = why_not("ext4"); !why.empty()) GTEST_SKIP() << why;
  for (const FileSystem& fs : file_systems()) {
    if (fs.rare.erase_unit != 0 || HostMachine::possible(std::string(fs.type))) continue;
    const Answer answer = run("check " + std::string(fs.name) + " --host --depth 1");
    EXPECT_EQ(answer.code, 2) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("has no file system " + std::string(fs.type)));
  }
}

TEST(HostCheckRootTest, WhatLiesOverAnotherFileSystemIsForGuests) {
  if (const std::string why = why_not("ext4"); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = run("check overlay --host --depth 1");
  EXPECT_EQ(answer.code, 2) << answer.text;
  if (HostMachine::possible("overlay")) {
    EXPECT_THAT(answer.text, HasSubstr("overlay is checked in a guest"));
  }
}

TEST(HostCheckRootTest, AKernelOfOnesOwnIsForGuests) {
  if (const std::string why = why_not("ext4"); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = run("check ext4 --host --depth 1 --set kernel=/bin/true");
  EXPECT_EQ(answer.code, 2) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("--host takes the running kernel"));
}

// --- what is left -----------------------------------------------------------------------------------

class HostLeftBehindRootTest : public testing::TestWithParam<const char*> {};

// scripts/left_behind.sh with more runs is for a longer look.
TEST_P(HostLeftBehindRootTest, ARunThatIsEndedLeavesNothing) {
  if (const std::string why = why_not("ext4"); !why.empty()) GTEST_SKIP() << why;
  const Answer answer =
      run_line(std::string("'" SISYFS_SOURCE_DIR "/scripts/left_behind.sh' '" SISYFS_PROGRAM "' 5 ") +
               GetParam() + " 4 host");
  if (answer.code == 3) GTEST_SKIP() << answer.text;
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("nothing was left by 5 runs"));
}

INSTANTIATE_TEST_SUITE_P(Signals, HostLeftBehindRootTest, testing::Values("KILL", "INT", "TERM"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sisyfs::host_root_test
