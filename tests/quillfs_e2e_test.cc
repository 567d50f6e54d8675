// The example file system with a journal: both modes have no finding to the bound, and some of its planted
// mistakes are found with plain options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::quillfs_e2e_test {
namespace {

using testing::HasSubstr;

Answer check(const std::string& build, const std::string& arguments) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  return run("check '" + (directory / ("libquillfs" + build + ".so")).string() + "' --progress off " +
             arguments);
}

TEST(QuillfsE2eTest, TheRightOneIsCleanToTheBoundInBothModes) {
  for (const std::string mode : {"", "_ordered"}) {
    for (const std::string arguments :
         {"--depth 4", "--depth 3 --set device=hostile", "--depth 3 --set nesting=1",
          "--depth 3 --set failures=1", "--depth 3 --set impossible=on --set dirs=2",
          "--depth 3 --set block=256 --set unit=256 --set blocks=40",
          "--depth 3 --set unit=128 --set write=2"}) {
      const Answer answer = check(mode, arguments);
      EXPECT_EQ(answer.code, 0) << mode << ' ' << arguments << '\n' << answer.text;
      EXPECT_THAT(answer.text, HasSubstr("the power went in the middle of an op")) << mode << arguments;
    }
  }
}

TEST(QuillfsE2eTest, ASmallDiskGetsFull) {
  for (const std::string mode : {"", "_ordered"}) {
    const Answer answer = check(mode, "--depth 4 --set blocks=23 --set file_blocks=4 --set write=2");
    EXPECT_EQ(answer.code, 0) << mode << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("an op was refused for lack of space")) << mode;
  }
}

TEST(QuillfsE2eTest, SomePlantedMistakesAreFound) {
  struct Planted {
    std::string bug, finding;
  };
  const std::vector<Planted> all = {
      {"flush_record", "not-allowed (R3"},  {"flush_commit", "not-allowed (R3"},
      {"replay_oldest", "not-allowed (R3"}, {"fsync_link", "not-allowed (R3"},
      {"rename_leak", "not-clean (R4"},
  };
  for (const Planted& planted : all) {
    const Answer answer = check("_" + planted.bug, "--depth 4");
    EXPECT_EQ(answer.code, 1) << planted.bug << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("FOUND " + planted.finding)) << planted.bug;
  }
}

// Story: a power cut that broke the check and the use of the system was told twice.
TEST(QuillfsE2eTest, FindingsWithOneCauseAreOneStory) {
  const TemporaryDirectory dir;
  const Answer all = check("_flush_record", "--depth 3 --all --json " + dir.file("run.json"));
  EXPECT_EQ(all.code, 1) << all.text;
  for (const std::string name : {"not-usable", "lost-block"})
    EXPECT_THAT(all.text, HasSubstr("  Replay " + name + ": ./sisyfs replay s2:"));
  EXPECT_THAT(on_one_line(all.text), HasSubstr("in use: create /b: 0; append /b 512: 512"));
  // So it is when the file is replayed, which says of each finding what happens.
  const Answer again = run("replay " + dir.file("run.json"));
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, testing::ContainsRegex("not-usable s2:[^\n]*: still happens"));
  EXPECT_THAT(again.text, testing::Not(HasSubstr("FOUND not-usable")));
}

// Story: the first mount leaves a write unflushed, and a later power cut loses it. That write belonged to no
// step, and the search ended with exit code 4. It is an event of step 0 now, the start.
TEST(QuillfsE2eTest, WhatTheFirstMountLeftUnflushedMayBeLost) {
  const Answer answer = check("_flush_replay_header", "--depth 3");
  EXPECT_EQ(answer.code, 1) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("format and mount: these writes are not durable yet"));
  const Answer again = run("replay " + token_in(answer.text));
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("still happens"));
}

}  // namespace
}  // namespace sisyfs::quillfs_e2e_test
