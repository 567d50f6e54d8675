// --set start=aged and start=full: searches that begin on a disk that is fragmented or nearly full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "program.h"

namespace sisyfs::start_image_e2e_test {
namespace {

using testing::HasSubstr;

std::string quillfs(const std::string& mistake) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  return "check '" + (directory / ("libquillfs" + mistake + ".so")).string() + "' --progress off ";
}

TEST(StartImageE2eTest, ARightSystemIsCleanOnBoth) {
  for (const char* start : {"aged", "full"}) {
    for (const char* mode : {"", "_ordered"}) {
      const Answer answer = run(quillfs(mode) + "--depth 2 --set start=" + start);
      EXPECT_EQ(answer.code, 0) << start << mode << '\n' << answer.text;
    }
  }
  const Answer full = run(quillfs("") + "--depth 2 --set start=full --set write=8 --set file_blocks=16");
  EXPECT_EQ(full.code, 0) << full.text;
  EXPECT_THAT(full.text, HasSubstr("an op was refused for lack of space"));
}

TEST(StartImageE2eTest, AFindingThereIsReplayed) {
  const Answer found = run(quillfs("_fsync_link") + "--depth 4 --set start=aged --set crash=persisted");
  EXPECT_EQ(found.code, 1) << found.text;
  const size_t at = found.text.find("./sisyfs replay ") + 16;
  const Answer again = run("replay --quiet " + found.text.substr(at, found.text.find('\n', at) - at));
  EXPECT_EQ(again.code, 1) << again.text;
}

TEST(StartImageE2eTest, Libext2fsStartsWithBoth) {
  for (const char* start : {"aged", "full"}) {
    const Answer answer = run(
        std::string("check libext2fs --progress off --depth 2 --set crash=persisted --set start=") + start);
    if (answer.code == 2) GTEST_SKIP() << answer.text;
    EXPECT_EQ(answer.code, 3) << start << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("every path of 2 steps was walked"));
  }
}

TEST(StartImageE2eTest, WhatCannotBeIsRefused) {
  const Answer both = run(quillfs("") + "--depth 2 --set start=aged --set first_mount=on");
  EXPECT_EQ(both.code, 2) << both.text;
  EXPECT_THAT(both.text, HasSubstr("first_mount=on begins on a new disk"));
}

}  // namespace
}  // namespace sisyfs::start_image_e2e_test
