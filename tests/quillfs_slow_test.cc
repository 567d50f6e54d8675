// Goes through all planted mistakes of the examples. Each is found by a check without options within a
// minute; those of quillfs that mistakes.txt gives a finding also by the search that it names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "program.h"

namespace sisyfs::quillfs_slow_test {
namespace {

using testing::HasSubstr;

TEST(QuillfsSlowTest, EachPlantedMistakeWithAFindingIsFound) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  std::ifstream list(SISYFS_SOURCE_DIR "/examples/quillfs/mistakes.txt");
  int tried = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    std::string name, mode, kind, finding, options;
    fields >> name >> mode >> kind >> finding;
    std::getline(fields, options);
    ASSERT_FALSE(finding.empty()) << line;
    if (finding == "-") continue;
    ++tried;
    const std::string library = "'" + (directory / ("libquillfs_" + name + ".so")).string() + "'";
    const Answer answer = run("check " + library + " --progress off --time 60s" + options);
    EXPECT_EQ(answer.code, 1) << line << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(" (" + finding)) << line;
  }
  EXPECT_GT(tried, 40);
}

void expect_found_by_default(const std::string& name) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  const std::string library = "'" + (directory / ("lib" + name + ".so")).string() + "'";
  const Answer answer = run("check " + library + " --progress off --time 60s");
  EXPECT_EQ(answer.code, 1) << name << '\n' << answer.text;
}

TEST(QuillfsSlowTest, EachPlantedMistakeIsFoundByDefault) {
  std::ifstream list(SISYFS_SOURCE_DIR "/examples/quillfs/mistakes.txt");
  int tried = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.front() == '#') continue;
    expect_found_by_default("quillfs_" + line.substr(0, line.find(' ')));
    ++tried;
  }
  EXPECT_GE(tried, 77);
}

TEST(QuillfsSlowTest, EachPlantedBugOfPebblefsIsFoundByDefault) {
  for (const char* bug : {"checksum", "rename", "early_erase", "wrap", "tail_page", "bad_page", "group",
                          "fsync", "truncate", "leak", "malloc"})
    expect_found_by_default(std::string("pebblefs_") + bug);
}

TEST(QuillfsSlowTest, TheRightOnesHaveNoFindingInThreeMinutes) {
  for (const char* right : {"quillfs", "quillfs_ordered", "pebblefs"}) {
    const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
    const std::string library = "'" + (directory / ("lib" + std::string(right) + ".so")).string() + "'";
    const Answer answer = run("check " + library + " --progress off --budget 180s");
    EXPECT_EQ(answer.code, 0) << right << '\n' << answer.text;
  }
}

}  // namespace
}  // namespace sisyfs::quillfs_slow_test
