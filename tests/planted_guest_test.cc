// A whole check in which the kernel fails: each failure is a finding with its trace, the run goes on to its
// bound with another guest, and the finding can be replayed. 'plant' is an option that is not listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::planted_guest_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A run to its bound, also after a finding.
Answer check(const std::string& settings) {
  return run("check ext4 --all --depth 1 --progress off --set " + settings);
}

struct Planted {
  const char* plant;
  const char* token;     // its kind
  const char* observed;  // in one line
};
std::ostream& operator<<(std::ostream& out, const Planted& planted) { return out << planted.plant; }

class PlantedGuestTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedGuestTest, IsAFindingAndTheRunGoesOn) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  const Planted& planted = GetParam();
  // A guest that dies is booted anew for each confirmation.
  const bool survives = planted.token == std::string("T6");
  const Answer answer = check(std::string("plant=") + planted.plant +
                              (planted.plant == std::string("loop@fsync") ? " --set seconds=2" : "") +
                              (survives ? "" : " --confirm 1"));
  const std::string text = on_one_line(answer.text);
  EXPECT_EQ(answer.code, 1) << answer.text;
  EXPECT_THAT(text, AllOf(HasSubstr(planted.observed), HasSubstr(std::string("(") + planted.token)));
  EXPECT_THAT(text, AllOf(HasSubstr("FAIL: ext4"), HasSubstr("every path of 1 step was walked")));
  EXPECT_THAT(text, HasSubstr(survives ? "onfirmed 3 of 3" : "onfirmed 1 of 1"));
  const std::string token = token_in(answer.text);
  ASSERT_THAT(token, HasSubstr(std::string(":") + planted.token + ":")) << answer.text;
  const Answer again = run("replay --confirm 0 " + token);
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(on_one_line(again.text), HasSubstr(planted.observed));
  EXPECT_THAT(again.text, HasSubstr(": still happens (on Linux "));
}

INSTANTIATE_TEST_SUITE_P(
    Failures, PlantedGuestTest,
    testing::Values(
        Planted{"panic@fsync", "T1",
                "fsync /: the guest kernel has ended: Kernel panic - not syncing: sysrq triggered crash"},
        Planted{"panic@mount", "T1", "mount: the guest kernel has ended: Kernel panic"},
        Planted{"lost@fsync", "T1", "the guest kernel has ended: "},
        Planted{"memory@fsync", "T1", "fsync /: the guest kernel has ended: Out of memory"},
        Planted{"exit@create", "T1",
                "create /a: the guest kernel has ended: Kernel panic - not syncing: Attempted to kill init"},
        Planted{"loop@fsync", "T2", "fsync /: the guest kernel does not answer"},
        Planted{"stuck@create", "T2", "create /a: the guest kernel waits for something that does not come"},
        Planted{"stuck@mount", "T2", "mount: the guest kernel waits for something that does not come"},
        Planted{"stuck@unmount", "T2", "unmount: the guest kernel waits for something that does not come"},
        Planted{"warning@mkdir", "T6", "mkdir /a: the kernel says: WARNING: CPU: 0 PID: 1 at planted.c:1"},
        Planted{"warning@mount", "T6", "mount: the kernel says: WARNING: CPU: 0 PID: 1 at planted.c:1"}));

TEST(PlantTest, NothingPlantedIsFound) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = check("plant=panic@snapshot");
  EXPECT_EQ(answer.code, 0) << answer.text;
}

// A kernel that cannot even be brought to its start is no finding.
TEST(PlantTest, AFileSystemThatCannotBeMountedAtFirstIsAClearError) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = check("plant=stuck@reading");
  EXPECT_EQ(answer.code, 4) << answer.text;
  EXPECT_THAT(
      on_one_line(answer.text),
      HasSubstr("ext4 cannot be brought to its start: reading everything back: the guest kernel waits"));
}

TEST(PlantTest, WhatCannotBePlantedIsRefused) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  for (const char* wrong : {"panic", "panic@", "flood@fsync", "@"}) {
    const Answer answer = check(std::string("plant=") + wrong);
    EXPECT_EQ(answer.code, 2) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("nothing of that kind can be planted"));
  }
}

TEST(PlantTest, TheOptionIsNotListed) {
  EXPECT_THAT(run("targets ext4").text, AllOf(HasSubstr("--set seconds="), Not(HasSubstr("plant"))));
  EXPECT_THAT(run("targets ext4 --json").text, AllOf(HasSubstr("\"seconds\""), Not(HasSubstr("plant"))));
}

// --- each file system is made, mounted and read back -----------------------------------------------------

class EachFileSystemGuestTest : public testing::TestWithParam<std::string> {};

TEST_P(EachFileSystemGuestTest, DoesWhatTheReferenceTreeSays) {
  const FileSystem& fs = *file_system(GetParam());
  if (const std::string why = why_no_guest(&fs); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = run("check " + GetParam() + " --set crash=none --depth 1 --progress off");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("PASS: "));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const FileSystem& fs : file_systems())
    if (fs.rare.erase_unit == 0) all.emplace_back(fs.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kernel, EachFileSystemGuestTest, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(CheckGuestTest, Ext4KeepsItsPromises) {
  if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  const Answer answer = run("check ext4 --depth 1 --progress off");
  EXPECT_EQ(answer.code, 0) << answer.text;
}

}  // namespace
}  // namespace sisyfs::planted_guest_test
