// Goes through all planted mistakes of examples/quillfs: each that mistakes.txt gives a finding is found as
// that.
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

}  // namespace
}  // namespace sisyfs::quillfs_slow_test
