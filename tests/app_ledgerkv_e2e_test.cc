// The toy store in examples/ledgerkv under `sisyfs app`: each planted mistake is found, the right store is
// clean under every contract, and the audit knows which fsync is superfluous.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app_for_test.h"
#include "crash/files/file_rules.h"

namespace sisyfs::app_ledgerkv_e2e_test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::IsEmpty;

class LedgerkvTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_fuse(); !why.empty()) GTEST_SKIP() << why;
    std::filesystem::copy(SISYFS_SOURCE_DIR "/examples/ledgerkv", at_.place.file("ledgerkv"));
    std::filesystem::remove(at_.place.file("ledgerkv/ledgerkv"));
    const Answer made = run_line("make -C '" + at_.place.file("ledgerkv") + "'");
    ASSERT_EQ(made.code, 0) << made.text;
  }

  Answer check(const std::string& bug, const std::string& more = "") const {
    return at_.app("--empty --run " + at_.place.file("ledgerkv/run.sh") + " --check " +
                       at_.place.file("ledgerkv/check.sh") + " " + more,
                   bug.empty() ? "" : "LEDGERKV_BUG=" + bug);
  }
  // Calls of the audit, by their verdict.
  std::map<std::string, std::vector<json>> audited() const {
    std::map<std::string, std::vector<json>> out;
    const json result = at_.result();
    for (const json& flush : result["audit"])
      out[flush["verdict"].get<std::string>()].push_back(flush["call"]);
    return out;
  }

  AppRun at_;
};

TEST_F(LedgerkvTest, EachPlantedMistakeIsFoundUnderPosix) {
  for (const char* bug : {"no_fsync", "no_dirsync_create", "no_dirsync_rename", "rename_early", "wrong_order",
                          "ack_early", "no_checksum"}) {
    const Answer a = check(bug);
    EXPECT_EQ(a.code, 1) << bug << "\n" << a.text;
    EXPECT_EQ(at_.result()["verdict"], "fail") << bug;
    EXPECT_THAT(at_.result()["happens_under"], Contains("posix")) << bug;
  }
}

// The object of the missing fsync, as the README explains each mistake.
TEST_F(LedgerkvTest, MissingFsyncIsNamed) {
  const std::map<std::string, std::set<std::string>> missing{
      {"no_fsync", {"log.1", "log.2"}}, {"no_dirsync_create", {"."}}, {"no_dirsync_rename", {"."}}};
  for (const auto& [bug, objects] : missing) {
    const Answer a = check(bug);
    ASSERT_EQ(a.code, 1) << bug << "\n" << a.text;
    const json would_help = at_.result()["would_help"];
    ASSERT_FALSE(would_help.empty()) << bug << "\n" << a.text;
    for (const json& set : would_help)
      for (const json& flush : set)
        EXPECT_THAT(objects, Contains(flush["fsync"].get<std::string>())) << bug << "\n" << a.text;
  }
}

TEST_F(LedgerkvTest, RightStoreIsCleanUnderEveryContract) {
  for (const FileRules& rules : all_file_rules()) {
    const Answer a = check("", "--contract " + std::string(rules.name));
    EXPECT_EQ(a.code, 0) << a.text;
    EXPECT_EQ(at_.result()["exhausted"], true) << rules.name;
    EXPECT_EQ(at_.result()["contract"], rules.name);
  }
}

TEST_F(LedgerkvTest, LostPageNeedsNoContractToBeFoundWhereTheStoreDoesNotLook) {
  // Without a checksum a file system that may lose one page of two shows it; one that keeps order does not.
  EXPECT_EQ(check("no_checksum", "--contract f2fs").code, 1);
  EXPECT_EQ(check("no_checksum", "--contract in-order").code, 0);
}

TEST_F(LedgerkvTest, AuditNamesThePlantedSuperfluousFsyncAndNoOther) {
  const Answer right = check("", "--audit");
  ASSERT_EQ(right.code, 0) << right.text;
  const auto needed = audited();
  EXPECT_EQ(needed.size(), 1U) << right.text;
  ASSERT_TRUE(needed.contains("needed")) << right.text;

  const Answer extra = check("extra_fsync", "--audit");
  ASSERT_EQ(extra.code, 0) << extra.text;
  auto with_extra = audited();
  EXPECT_EQ(with_extra["needed"].size(), needed.at("needed").size()) << extra.text;
  ASSERT_EQ(with_extra["superfluous"].size(), 1U) << extra.text;
  EXPECT_EQ(with_extra.size(), 2U) << extra.text;
  // The one that comes first behind the removal of the old log.
  EXPECT_EQ(with_extra["superfluous"][0]["text"], "fsync .") << extra.text;
}

}  // namespace
}  // namespace sisyfs::app_ledgerkv_e2e_test
