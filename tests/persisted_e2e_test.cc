// crash=persisted: the power goes only right after a call that promised something, and nothing is lost. It
// finds what was promised and never written. It cannot find what needs a lost write, and never says PASS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace sisyfs::persisted_e2e_test {
namespace {

using testing::HasSubstr;
using json = nlohmann::json;

std::string quillfs(const std::string& mistake) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  return "check '" + (directory / ("libquillfs_" + mistake + ".so")).string() + "' --progress off ";
}

TEST(PersistedTest, AnFsyncThatDoesNotWriteWhatItShouldIsFound) {
  for (const char* mistake : {"fsync_link", "fsync_rename", "fsync_directory", "fsync_size", "osync_size"}) {
    const Answer found = run(quillfs(mistake) + "--set crash=persisted --depth 4 --json -");
    ASSERT_EQ(found.code, 1) << mistake << '\n' << found.text;
    const json finding = json::parse(found.text)["findings"][0];
    EXPECT_EQ(finding["code"], "R3") << mistake;
    const Answer again = run("replay --quiet " + finding["token"].get<std::string>());
    EXPECT_EQ(again.code, 1) << again.text;
  }
}

TEST(PersistedTest, AMissingFlushNeedsALostWriteAndIsNotFound) {
  for (const char* mistake : {"flush_commit", "flush_record"}) {
    const Answer persisted = run(quillfs(mistake) + "--set crash=persisted --depth 3");
    EXPECT_EQ(persisted.code, 3) << mistake << '\n' << persisted.text;
    EXPECT_EQ(run(quillfs(mistake) + "--depth 3 --first").code, 1) << mistake;
  }
}

TEST(PersistedTest, ACleanRunSaysWhatWasNotTried) {
  const Answer clean = run(quillfs("ordered") + "--set crash=persisted --depth 3");
  EXPECT_EQ(clean.code, 3) << clean.text;
  EXPECT_THAT(clean.text, HasSubstr("UNKNOWN"));
  EXPECT_THAT(clean.text, HasSubstr("but not with every power cut"));
  EXPECT_THAT(clean.text, HasSubstr("  cuts      the power went only right after a call that had promised"));
  EXPECT_THAT(clean.text, HasSubstr(" crash states, by the settings"));
  EXPECT_THAT(clean.text, HasSubstr("power cuts within calls, lost writes (--set crash=lazy)"));
  const json found = json::parse(run(quillfs("ordered") + "--set crash=persisted --depth 2 --json -").text);
  EXPECT_EQ(found["verdict"], "unknown");
  EXPECT_EQ(found["exhausted"], false);
  EXPECT_GT(found["left_out"], 0);
  EXPECT_THAT(found["cuts"], HasSubstr("nothing that was written was lost"));
  EXPECT_FALSE(json::parse(run(quillfs("ordered") + "--depth 2 --json -").text).contains("cuts"));
}

TEST(PersistedTest, RecoveryIsNotCut) {
  const Answer refused = run(quillfs("ordered") + "--set crash=persisted --set nesting=1 --depth 2");
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("nesting needs another value of crash"));
}

}  // namespace
}  // namespace sisyfs::persisted_e2e_test
