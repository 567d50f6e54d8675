// Open files and permission bits of plug-ins, with the example file system that has a journal: it is clean,
// and each of its mistakes about them is found by the stage for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::handles_e2e_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string library(const std::string& build) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  return "'" + (directory / ("libquillfs" + build + ".so")).string() + "'";
}

Answer check(const std::string& build, const std::string& arguments) {
  return run("check " + library(build) + " --progress off " + arguments);
}

TEST(HandlesE2eTest, TheRightOneIsCleanToTheBoundInBothModes) {
  for (const std::string mode : {"", "_ordered"}) {
    for (const std::string arguments :
         {"--depth 5 --set crash=prefixes --set files=1", "--depth 4",
          "--depth 3 --set device=hostile --set modes=on", "--depth 3 --set nesting=1",
          "--depth 3 --set failures=1 --set modes=on",
          "--depth 3 --set impossible=on --set reads=on --set modes=on --set links=off"}) {
      const Answer answer = check(mode, "--set handles=on " + arguments);
      EXPECT_EQ(answer.code, 0) << mode << ' ' << arguments << '\n' << answer.text;
      EXPECT_THAT(answer.text, Not(HasSubstr("open @"))) << "all of them were tried: " << arguments;
    }
  }
}

TEST(HandlesE2eTest, ACampaignHasStagesForThem) {
  for (const std::string stage : {"handles", "modes"}) {
    const Answer answer = check("", "--stages " + stage + " --states 20000");
    EXPECT_EQ(answer.code, 3) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(stage));
  }
  const Answer other = run("check '" SISYFS_PLUGIN_DIR "/examples/libpebblefs.so' --stages handles");
  EXPECT_EQ(other.code, 2) << other.text;
  EXPECT_THAT(other.text, HasSubstr("there is no stage 'handles' for this target"));
}

// mistakes.txt says which mistakes need handles or modes, and what shows them.
TEST(HandlesE2eTest, EachMistakeIsFoundByItsStage) {
  std::ifstream list(SISYFS_SOURCE_DIR "/examples/quillfs/mistakes.txt");
  int tried = 0;
  for (std::string line; std::getline(list, line);) {
    const bool handles = line.ends_with("--set handles=on"), modes = line.ends_with("--set modes=on");
    if (!handles && !modes) continue;
    ++tried;
    std::istringstream fields(line);
    std::string name, mode, kind, finding;
    fields >> name >> mode >> kind >> finding;
    const Answer answer =
        check("_" + name, std::string("--time 60s --stages ") + (handles ? "handles" : "modes"));
    EXPECT_EQ(answer.code, 1) << line << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(" (" + finding)) << line;
    const Answer again = run("replay " + token_in(answer.text));
    EXPECT_EQ(again.code, 1) << again.text;
    EXPECT_THAT(again.text, HasSubstr("still happens")) << line;
  }
  EXPECT_EQ(tried, 8);
}

TEST(HandlesE2eTest, AFindingShowsWhatIsBehindAHandle) {
  const Answer answer = check("_handle_size", "--set handles=on --set crash=none");
  EXPECT_EQ(answer.code, 1) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("open /a @1: answers 0"));
  EXPECT_THAT(answer.text, HasSubstr("handle @1: size 0, expected"));
}

TEST(HandlesE2eTest, OpsAreListedAndWhatIsOffIsNamed) {
  const Answer off = run("ops " + library(""));
  EXPECT_THAT(off.text,
              HasSubstr("close @, write @, append @, truncate @, fsync @, fdatasync @ (--set handles=on)"));
  EXPECT_THAT(off.text, HasSubstr("chmod (--set modes=on)"));
  const Answer on =
      run("ops " + library("") +
          " --set handles=on --set modes=on --after 'create /a; open /a @1; unlink /a; append @1 512'");
  EXPECT_EQ(on.code, 0) << on.text;
  for (const char* line :
       {"\nwrite @1 0 512 v1\n", "\nappend @1 512\n", "\ntruncate @1 0\n", "\nclose @1\n", "chmod / 700\n"})
    EXPECT_THAT(on.text, HasSubstr(line)) << on.text;
  EXPECT_THAT(on.text, Not(HasSubstr("remount\n"))) << "a file is open";
}

// A script may do what a search does not: use a handle that is not open, or unmount with an open file.
TEST(HandlesE2eTest, AScriptMayUseHandles) {
  const std::string script = testing::TempDir() + "/handles.script";
  std::ofstream(script) << "create /a; append /a 512\n"
                           "open /a @1; open /a @2\n"
                           "? unlink /a\n"
                           "remount\n"
                           "write @1 0 512 v1; read @2 0 512; close @1; close @1; stat @2; close @2; sync\n";
  const Answer answer = check("", "--script '" + script + "'");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_EQ(check("_orphan_shared", "--script '" + script + "'").code, 1);
}

// Where memory cannot be saved by pages, the calls since mount are made again, and open files with them.
TEST(HandlesE2eTest, SnapshotsByReplayKeepHandles) {
  if (!std::filesystem::exists(SISYFS_PLUGIN_DIR "/libquill_asan.so"))
    GTEST_SKIP() << "this compiler has no AddressSanitizer";
  const Answer answer =
      run("check '" SISYFS_PLUGIN_DIR
          "/libquill_asan.so' --progress off --set handles=on --set crash=prefixes --depth 4");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("calls since mount are made again"));
}

TEST(HandlesE2eTest, HalfOfTheCallsIsRefused) {
  const Answer open = check_plugin("slots_open_alone", "");
  EXPECT_EQ(open.code, 2) << open.text;
  EXPECT_THAT(open.text, HasSubstr("the plug-in must have close, read_handle, stat_handle, mode"));
}

}  // namespace
}  // namespace sisyfs::handles_e2e_test
