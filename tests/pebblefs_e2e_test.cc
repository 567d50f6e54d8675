// The example file system: the correct version has no finding to its bound, and each planted bug is found
// within a few calls, as the expected kind of finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::pebblefs_e2e_test {
namespace {

using testing::HasSubstr;

std::string library(const std::string& bug) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  return "'" + (directory / ("libpebblefs" + bug + ".so")).string() + "'";
}

Answer check(const std::string& bug, const std::string& arguments) {
  return run("check " + library(bug) + " --progress off " + arguments);
}

TEST(PebblefsE2eTest, TheRightOneIsCleanToTheBound) {
  for (const std::string arguments :
       {"--depth 5", "--depth 3 --set failures=1", "--depth 4 --set nesting=1 --set both_ways=on",
        "--depth 4 --set blocks=20 --set write=2 --set file_blocks=4",
        "--depth 3 --set block=64 --set erase_blocks=2 --set blocks=20"}) {
    const Answer answer = check("", arguments);
    EXPECT_EQ(answer.code, 0) << arguments << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("the power went in the middle of an op")) << arguments;
  }
}

TEST(PebblefsE2eTest, TheRightOneIsCleanOnNorAndWhereUnitsRefuseErases) {
  for (const std::string arguments :
       {"--depth 4 --set flash=nor", "--depth 3 --set flash=nor --set torn_bits=on --set program=4",
        "--depth 4 --set erase_cycles=2", "--depth 4 --set erase_cycles=2 --set crash=prefixes"}) {
    const Answer answer = check("", arguments);
    EXPECT_EQ(answer.code, 0) << arguments << '\n' << answer.text;
  }
  const Answer nor = check("_checksum", "--depth 4 --set flash=nor");
  EXPECT_EQ(nor.code, 1) << nor.text;
  EXPECT_THAT(nor.text, HasSubstr("was cut off at byte"));
  // It does not notice that a unit does nothing.
  EXPECT_EQ(check("", "--depth 3 --set erase_cycles=2 --set bad_unit=program-noop").code, 1);
}

TEST(PebblefsE2eTest, BadUnitsAreStagesOfACampaignWhereTheyAreHandled) {
  const Answer claims = check("", "--states 20000 --set handles_bad_units=on --stages worn-erases");
  EXPECT_THAT(claims.text, HasSubstr("worn-erases"));
  EXPECT_NE(claims.code, 2) << claims.text;
  EXPECT_THAT(check("", "--states 20000 --stages worn-erases").text,
              HasSubstr("there is no stage 'worn-erases'"));
}

TEST(PebblefsE2eTest, OptionsOfRawFlashAreRefusedWhereTheyMeanNothing) {
  EXPECT_THAT(check("", "--set torn_bits=on").text, HasSubstr("torn_bits is an option of NOR"));
  EXPECT_THAT(check("", "--set flash=nor --set program=3").text, HasSubstr("does not divide pages of 128"));
  EXPECT_THAT(check("", "--set bad_units=6").text, HasSubstr("format answers EIO"));
}

TEST(PebblefsE2eTest, ASmallFlashGetsFull) {
  const Answer answer =
      check("", "--depth 5 --set blocks=20 --set file_blocks=4 --set write=2 --set files=3");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("an op was refused for lack of space"));
}

TEST(PebblefsE2eTest, EachPlantedBugIsFound) {
  struct Planted {
    std::string bug, finding, story;
  };
  const std::vector<Planted> all = {
      {"checksum", "not-allowed (R3", "0xff"},
      {"rename", "not-allowed (R3", "file /a: missing"},
      {"early_erase", "not-mountable (R1", "a page of the log is missing"},
      {"wrap", "not-usable (R5", "mounted again"},
      {"tail_page", "flash-misuse (D2", "which is not erased"},
      {"bad_page", "not-usable (R5", "its check finds"},
      {"group", "not-allowed (R3", "against what the call leads to"},
      {"fsync", "not-allowed (R3", "lost durability"},
      {"truncate", "not-clean (R4", "data lies behind the end of its file"},
      {"leak", "memory-leak (T3", "after unmount"},
  };
  for (const Planted& planted : all) {
    const Answer answer = check("_" + planted.bug, "--depth 4");
    EXPECT_EQ(answer.code, 1) << planted.bug << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("FOUND " + planted.finding)) << planted.bug;
    EXPECT_THAT(answer.text, HasSubstr(planted.story)) << planted.bug;
  }
}

}  // namespace
}  // namespace sisyfs::pebblefs_e2e_test
