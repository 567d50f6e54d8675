// The museum's data file: errors, and that the built-in file is complete.
#include "cli/museum/exhibits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "adapters/kernel/file_systems.h"
#include "cli/cli.h"

namespace sisyfs::cli::exhibits_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kGood =
    "[[exhibit]]\n"
    "name = \"a\"\n"
    "title = \"t\"\n"
    "source = \"s\"\n"
    "takes = \"crash\"\n"
    "target = \"link\"\n"
    "wrong = [\"order=naive\"]\n"
    "set = [\"cache=off\"]\n";
const std::string kExpects = "finds = [\"M2\"]\nat = 3\n";

std::string refusal(const std::string& text) {
  const Result<Museum> museum = parse_museum(text, "f.toml");
  return museum ? "accepted" : museum.error().message;
}

TEST(ExhibitsTest, EntryIsReadWithItsDefaults) {
  const Result<Museum> museum = parse_museum(kGood + kExpects, "f.toml");
  ASSERT_TRUE(museum) << museum.error().message;
  ASSERT_EQ(museum->exhibits.size(), 1u);
  const Exhibit& e = museum->exhibits.front();
  EXPECT_EQ(e.finds, std::vector{FindingKind::kLostBlock});
  EXPECT_EQ(e.at, 3u);
  EXPECT_EQ(e.depth, 3u);
  EXPECT_TRUE(e.only.empty());
  EXPECT_EQ(e.dedup, Dedup::kExact);
  EXPECT_EQ(e.twin, Twin::kClean);
  EXPECT_FALSE(e.in_long_run);
  EXPECT_THAT(wrong_settings(e), testing::ElementsAre("order=naive", "cache=off"));
}

TEST(ExhibitsTest, ModelHasNoBoundUnlessItSaysOne) {
  const Result<Museum> museum = parse_museum(
      "[[model]]\nname = \"m\"\ntitle = \"t\"\ntarget = \"link\"\n"
      "[[model]]\nname = \"n\"\ntitle = \"t\"\ntarget = \"link\"\ndepth = 4\n",
      "f.toml");
  ASSERT_TRUE(museum) << museum.error().message;
  EXPECT_EQ(museum->models[0].depth, SearchBounds::kNoDepth);
  EXPECT_EQ(museum->models[1].depth, 4u);
  EXPECT_EQ(museum->models[1].long_depth, 4u);
}

TEST(ExhibitsTest, WaitingEntryExpectsNothing) {
  const Result<Museum> museum = parse_museum(kGood + "waits = \"rain\"\n", "f.toml");
  ASSERT_TRUE(museum) << museum.error().message;
  EXPECT_EQ(museum->exhibits.front().waits, "rain");
  EXPECT_THAT(refusal(kGood + "waits = \"rain\"\n" + kExpects), HasSubstr("unknown key"));
}

TEST(ExhibitsTest, WhatIsNoTomlIsRefusedWithItsLine) {
  EXPECT_THAT(refusal("[[exhibit]]\nname = \n"), StartsWith("f.toml:2: this is not TOML: "));
}

TEST(ExhibitsTest, RefusalNamesFileLineAndEntry) {
  EXPECT_EQ(refusal(kGood + "finds = [\"Q7\"]\nat = 3\n"),
            "f.toml:9: exhibit 'a': 'finds': unknown finding 'Q7'");
}

TEST(ExhibitsTest, EachMistakeIsNamed) {
  const auto says = [](const std::string& text, const char* what) {
    EXPECT_THAT(refusal(text), testing::AllOf(StartsWith("f.toml:"), HasSubstr(what))) << text;
  };
  says(kGood + "at = 3\n", "'finds' is missing");
  says(kGood + "finds = [\"M2\"]\n", "'at' is missing");
  says(kGood + "finds = [\"M2\"]\nat = 0\n", "'at' must be a whole number");
  says(kGood + "finds = \"M2\"\nat = 3\n", "'finds' must be a list of texts");
  says(kGood + "finds = [1]\nat = 3\n", "'finds' must be a list of texts");
  says(kGood + kExpects + "colour = \"red\"\n", "unknown key 'colour'");
  says(kGood + kExpects + "twin = \"evil\"\n", "'twin' must be one of clean, no-finding, other, not 'evil'");
  says(kGood + kExpects + "search = \"sideways\"\n", "unknown search 'sideways'");
  says(kGood + kExpects + "dedup = \"no\"\n", "unknown dedup 'no'");
  says(kGood + kExpects + "long = 1\n", "'long' must be true or false");
  says(kGood + kExpects + kGood + kExpects, "another entry with this name");
  says("[[exhibit]]\nname = \"A b\"\n", "'name' has other characters");
  says("[[exhibit]]\ntitle = \"t\"\n", "'name' is missing");
  says("[exhibit]\nname = \"a\"\n", "must be entries, each under [[exhibit]]");
  says("[[statue]]\nname = \"a\"\n", "unknown key 'statue'");
  says("# nothing\n", "no [[exhibit]] and no [[model]]");
}

TEST(ExhibitsTest, TargetSettingsAndFindingsAreTriedBeforeTheRound) {
  const std::string head = "[[exhibit]]\nname = \"a\"\ntitle = \"t\"\nsource = \"s\"\ntakes = \"crash\"\n";
  EXPECT_THAT(refusal(head + "target = \"nofs\"\nwrong = [\"x=1\"]\n" + kExpects), HasSubstr("nofs"));
  EXPECT_THAT(refusal(head + "target = \"link\"\nwrong = [\"order=x\"]\n" + kExpects), HasSubstr("order"));
  EXPECT_THAT(refusal(head + "target = \"journal\"\nwrong = [\"revoke=off\"]\nfinds = [\"M1\"]\nat = 1\n"),
              HasSubstr("cannot have the finding M1"));
}

Museum shipped() {
  const Result<Museum> museum = parse_museum(shipped_exhibits(), "museum/exhibits.toml");
  EXPECT_TRUE(museum) << museum.error().message;
  return museum ? *museum : Museum{};
}

TEST(ShippedExhibitsTest, EachModelOfTheProgramHasExhibitsAndIsShownRight) {
  std::set<std::string> wrong, right;
  for (const Exhibit& e : shipped().exhibits) wrong.insert(e.target);
  for (const RightModel& m : shipped().models) right.insert(m.target);
  for (const auto& [name, entry] : registry().entries()) {
    if (file_system(name) != nullptr) continue;  // of a kernel: no model
    EXPECT_TRUE(wrong.contains(name)) << name;
    EXPECT_TRUE(right.contains(name)) << name;
  }
}

// Each switch whose help names a wrong position is the bug of an exhibit.
TEST(ShippedExhibitsTest, EachWrongSwitchIsAnExhibit) {
  std::set<std::string> shown;
  for (const Exhibit& e : shipped().exhibits)
    for (const std::string& setting : e.wrong) shown.insert(setting.substr(0, setting.find('=')));
  for (const auto& [name, entry] : registry().entries()) {
    for (const OptionSpec& option : entry.options) {
      const bool can_be_wrong = std::string(option.help).find("wrong") != std::string::npos;
      EXPECT_TRUE(!can_be_wrong || shown.contains(option.name)) << name << " " << option.name;
    }
  }
}

TEST(ShippedExhibitsTest, EachExhibitHasItsStory) {
  std::ifstream in(SISYFS_SOURCE_DIR "/docs/museum.md");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::set<std::string> names;
  for (const Exhibit& e : shipped().exhibits) {
    names.insert(e.name);
    const size_t at = text.find("\n### " + e.name + "\n");
    ASSERT_NE(at, std::string::npos) << e.name << " has no section in docs/museum.md";
    const size_t begin = at + e.name.size() + 7;
    std::string story = text.substr(begin, text.find("\n\n", begin) - begin);
    while (story.ends_with('\n')) story.pop_back();  // the last one ends with the file
    EXPECT_EQ(std::count(story.begin(), story.end(), '\n'), 2) << e.name << ": three lines\n" << story;
  }
  for (size_t at = text.find("\n### "); at != std::string::npos; at = text.find("\n### ", at + 1))
    EXPECT_TRUE(names.contains(text.substr(at + 5, text.find('\n', at + 1) - at - 5)))
        << "a section without an exhibit: " << text.substr(at + 5, 30);
}

}  // namespace
}  // namespace sisyfs::cli::exhibits_test
