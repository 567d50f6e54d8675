#include "cli/campaign/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sisyfs::cli::stages_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<OptionSpec> disk_options() {
  return {OptionSpec::choice("crash", {"prefixes", "subsets", "lazy", "none"}, "lazy", ""),
          OptionSpec::choice("device", {"by-crash", "disk", "hostile"}, "by-crash", ""),
          OptionSpec::integer("nesting", 0, 3, 0, ""),
          OptionSpec::flag("impossible", false, ""),
          OptionSpec::integer("files", 1, 8, 2, ""),
          OptionSpec::integer("system_ops", 1, 1000, 3, "")};
}

std::vector<std::string_view> names_of(const std::vector<Stage>& stages) {
  std::vector<std::string_view> names;
  for (const Stage& stage : stages) names.push_back(stage.name);
  return names;
}

const Stage& named(const std::vector<Stage>& stages, std::string_view name) {
  for (const Stage& stage : stages)
    if (stage.name == name) return stage;
  throw std::out_of_range(std::string(name));
}

TEST(StagesTest, TheyAreThoseThatTheOptionsAllow) {
  const std::vector<Stage> stages = stages_for(disk_options(), {});
  EXPECT_THAT(names_of(stages), Contains("calls"));
  EXPECT_THAT(names_of(stages), Contains("torn"));
  EXPECT_THAT(names_of(stages), Not(Contains("failures"))) << "there is no such option";
  EXPECT_THAT(names_of(stages), Not(Contains("both-ways")));
  EXPECT_THAT(named(stages, "torn").settings, ElementsAre("device=hostile")) << "lazy is the default";
  EXPECT_THAT(named(stages, "recovery").settings, ElementsAre("crash=prefixes", "nesting=1"));
}

TEST(StagesTest, OtherWordsOfAnOptionAreKnown) {
  std::vector<OptionSpec> flash = {
      OptionSpec::choice("crash", {"flash", "lazy", "whole", "none"}, "flash", "")};
  const std::vector<Stage> stages = stages_for(flash, {});
  EXPECT_THAT(named(stages, "ordered").settings, ElementsAre("crash=whole"));
  EXPECT_THAT(names_of(stages), Not(Contains("torn")));
}

TEST(StagesTest, WhatTheUserHasSetStays) {
  const std::vector<Stage> stages = stages_for(disk_options(), {"files=4"});
  EXPECT_THAT(named(stages, "walks").settings, ElementsAre("impossible=on", "system_ops=1000"));
  EXPECT_THAT(names_of(stages), Not(Contains("large"))) << "only the number of files would differ";
}

TEST(StagesTest, ADefaultIsNotTriedTwice) {
  std::vector<OptionSpec> options = disk_options();
  options.push_back(OptionSpec::flag("both_ways", true, ""));
  EXPECT_THAT(names_of(stages_for(options, {})), Not(Contains("both-ways"))) << "'reordered' does that";
  options.back() = OptionSpec::flag("both_ways", false, "");
  EXPECT_THAT(names_of(stages_for(options, {})), Contains("both-ways"));
}

TEST(StagesTest, OpenFilesAndModesAreTriedWhereTheTargetHasThem) {
  std::vector<OptionSpec> options = disk_options();
  EXPECT_THAT(names_of(stages_for(options, {})), Not(Contains("handles")));
  options.push_back(OptionSpec::flag("handles", false, ""));
  options.push_back(OptionSpec::flag("modes", false, ""));
  const std::vector<Stage> stages = stages_for(options, {});
  EXPECT_THAT(named(stages, "handles").settings, ElementsAre("crash=prefixes", "handles=on"));
  EXPECT_THAT(named(stages, "modes").settings, ElementsAre("crash=prefixes", "modes=on"));
}

TEST(StagesTest, WalksTryTheCallsOfLinux) {
  std::vector<OptionSpec> options = disk_options();
  for (const char* name : {"fallocate", "exchange", "direct", "mapped", "commit"})
    options.push_back(OptionSpec::flag(name, std::string_view(name) == "direct", ""));
  EXPECT_THAT(
      named(stages_for(options, {"mapped=off"}), "walks").settings,
      ElementsAre("files=8", "fallocate=on", "exchange=on", "commit=on", "impossible=on", "system_ops=1000"));
}

// Bad units and torn bits are tried only where the target claims to be meant for them, or the user says so.
TEST(StagesTest, RawFlashIsTriedAsTheTargetClaims) {
  const auto stages_of = [](bool nor, bool handles, const std::vector<std::string>& given) {
    std::vector<OptionSpec> options = disk_options();
    options.push_back(OptionSpec::choice("flash", {"nand", "nor"}, nor ? "nor" : "nand", ""));
    options.push_back(OptionSpec::flag("torn_bits", false, ""));
    options.push_back(OptionSpec::integer("erase_cycles", 0, 1000, 0, ""));
    options.push_back(OptionSpec::choice("bad_unit", {"erase-error", "program-error"}, "erase-error", ""));
    options.push_back(OptionSpec::flag("handles_bad_units", handles, ""));
    return stages_for(options, given);
  };
  const auto plain = stages_of(false, false, {});
  for (const char* name : {"torn-bits", "worn-erases", "worn-programs"})
    EXPECT_THAT(names_of(plain), Not(Contains(name)));
  const auto claimed = stages_of(true, true, {});
  EXPECT_THAT(named(claimed, "torn-bits").settings, ElementsAre("torn_bits=on"));
  EXPECT_THAT(named(claimed, "worn-erases").settings, ElementsAre("crash=prefixes", "erase_cycles=2"));
  EXPECT_THAT(named(claimed, "worn-programs").settings,
              ElementsAre("crash=prefixes", "erase_cycles=2", "bad_unit=program-error"));
  const auto given = stages_of(false, false, {"flash=nor", "handles_bad_units=on"});
  EXPECT_THAT(names_of(given), Contains("torn-bits"));
  EXPECT_THAT(names_of(given), Contains("worn-erases"));
}

TEST(StagesTest, AListChooses) {
  const auto chosen = chosen_stages(stages_for(disk_options(), {}), "torn,calls");
  ASSERT_TRUE(chosen);
  EXPECT_THAT(names_of(*chosen), ElementsAre("calls", "torn"));
  for (const char* wrong : {"", "torn,", "tron", "torn,,calls"})
    EXPECT_FALSE(chosen_stages(stages_for(disk_options(), {}), wrong)) << wrong;
  EXPECT_THAT(chosen_stages(stages_for(disk_options(), {}), "tron").error().message,
              HasSubstr("no stage 'tron' for this target; its stages are calls, ordered"));
}

TEST(StagesTest, TheirOwnOptionsMeanOneSearch) {
  EXPECT_TRUE(is_of_one_search("crash=none"));
  EXPECT_TRUE(is_of_one_search("nesting=1"));
  EXPECT_TRUE(is_of_one_search("first_mount=on"));
  EXPECT_FALSE(is_of_one_search("files=3"));
  EXPECT_FALSE(is_of_one_search("crashes=3"));
}

}  // namespace
}  // namespace sisyfs::cli::stages_test
