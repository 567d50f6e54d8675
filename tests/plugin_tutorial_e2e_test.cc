// Runs every command of docs/plugins.md in order, and compares the output with the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::plugin_tutorial_e2e_test {
namespace {

using testing::HasSubstr;

struct Command {
  std::string line;
  std::vector<std::string> prints;  // lines of the block that follows, as far as they do not depend on time
};

std::vector<Command> commands_of(const std::string& page) {
  std::vector<Command> all;
  std::istringstream lines(page);
  bool in_block = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      in_block = !in_block;
    } else if (in_block) {
      const bool left_out = line.find("  [") != std::string::npos;  // said in brackets, as everywhere
      if (!all.empty() && !line.empty() && !left_out) all.back().prints.push_back(line);
    } else if (line.starts_with("    ./sisyfs") || line.starts_with("    make")) {
      all.push_back({line.substr(4), {}});
    }
  }
  return all;
}

TEST(PluginTutorialTest, EveryCommandWorksAsThePageSays) {
  const TemporaryDirectory where;
  const std::filesystem::path source = SISYFS_SOURCE_DIR;
  std::filesystem::create_directory_symlink(source / "include", where.file("include"));
  std::filesystem::create_directories(where.file("examples"));
  std::filesystem::copy(source / "examples/pebblefs", where.file("examples/pebblefs"),
                        std::filesystem::copy_options::recursive);
  for (const char* made : {"libpebblefs.so", "libpebblefs_rename.so"})
    std::filesystem::remove(where.file("examples/pebblefs/") + made);
  std::filesystem::create_symlink(SISYFS_PROGRAM, where.file("sisyfs"));
  const std::vector<Command> all = commands_of(content_of(SISYFS_SOURCE_DIR "/docs/plugins.md"));
  ASSERT_GT(all.size(), 10u);
  // One sanitizer does not go with another.
  const bool has_own = !std::filesystem::exists(SISYFS_PLUGIN_DIR "/libslots_asan.so");
  for (const Command& command : all) {
    if (has_own && command.line.find("_asan.so") != std::string::npos) continue;
    SCOPED_TRACE(command.line);
    const Answer answer = run_line("cd '" + where.file("") + "' && " + command.line);
    const bool has_bug = command.line.find("_rename.so") != std::string::npos;
    EXPECT_EQ(answer.code, has_bug ? 1 : 0) << answer.text;
    for (const std::string& line : command.prints) EXPECT_THAT(answer.text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace sisyfs::plugin_tutorial_e2e_test
