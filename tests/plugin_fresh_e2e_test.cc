// Plug-ins on a disk that held something before it was formatted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace sisyfs::plugin_fresh_e2e_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(PluginFreshTest, DataBeforeSizeIsClean) {
  for (const char* more : {"", " --set fresh=zeros", " --set crash=prefixes", " --set device=hostile"}) {
    const Answer a = check_plugin("plot", std::string("--depth 4") + more);
    EXPECT_EQ(a.code, 0) << more << "\n" << a.text;
  }
}

// Regression: fresh disks held zeros, and a file that grew may come back with zeros. So a file that showed
// what was on the disk before passed.
TEST(PluginFreshTest, BytesOfTheFreshDiskInAFileAreFound) {
  const Answer a = check_plugin("plot_size_first", "--depth 2");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(on_one_line(a.text),
              AllOf(HasSubstr("not-allowed (R3"),
                    HasSubstr("/a holds bytes that were on the disk before it was formatted, of block ")));
  const Answer again = run("replay '" + token_in(a.text) + "'");
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(on_one_line(again.text),
              HasSubstr("/a holds bytes that were on the disk before it was formatted"));
}

TEST(PluginFreshTest, TheContentOfTheFreshDiskIsASetting) {
  EXPECT_EQ(check_plugin("plot_size_first", "--depth 3 --set fresh=zeros").code, 0);
}

// With fresh=zeros, contract=atomic: the setting is in the token, and the replay has it.
TEST(PluginFreshTest, AReplayHasTheSettingOfTheFinding) {
  const Answer a = check_plugin("plot_size_first", "--depth 2 --set fresh=zeros --set contract=atomic");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("fresh=zeros"), Not(HasSubstr("before it was formatted"))));
  const Answer again = run("replay '" + token_in(a.text) + "'");
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(on_one_line(again.text),
              AllOf(HasSubstr("fresh=zeros"), Not(HasSubstr("before it was formatted"))));
}

TEST(PluginFreshTest, StaleDataIsAllowedWhereItIsDeclaredOrNothingIsClaimed) {
  const Answer declared = check_plugin("plot_declared_stale", "--depth 4 --set offsets=start");
  EXPECT_EQ(declared.code, 0) << declared.text;
  // A hole was never written, and must not show old bytes.
  const Answer hole = check_plugin("plot_declared_stale", "--depth 3");
  EXPECT_EQ(hole.code, 1) << hole.text;
  EXPECT_NE(hole.text.find("write /a 512 512"), std::string::npos) << hole.text;
  const Answer structure = check_plugin("plot_size_first", "--depth 4 --set contract=structure");
  EXPECT_EQ(structure.code, 0) << structure.text;
  EXPECT_EQ(check_plugin("plot_declared_stale", "--depth 2 --set contract=atomic").code, 1);
}

}  // namespace
}  // namespace sisyfs::plugin_fresh_e2e_test
