#include "cli/services/table.h"

#include <gtest/gtest.h>

namespace sisyfs::cli::table_test {
namespace {

ServiceCell cell(size_t column, Keeps keeps) {
  ServiceCell out;
  out.service = &services()[column];
  out.keeps = keeps;
  out.crash_states = 7;
  return out;
}

std::vector<ServiceRow> rows() {
  ServiceRow one{"ext4", {}, {cell(0, Keeps::kKept), cell(1, Keeps::kKept), cell(2, Keeps::kUnknown)}};
  one.cells[0].bound = "all";
  one.cells[1].bound = "prefixes";
  one.cells[2].why = "the search did not end";
  ServiceRow other{"ext2", {"mount=noatime"}, {}};
  other.cells = {cell(0, Keeps::kBroken), cell(1, Keeps::kKept), cell(2, Keeps::kKept)};
  other.cells[0].token = "s2:token";
  other.cells[0].finding = "not-allowed";
  other.cells[0].why = "/a is gone";
  return {one, other};
}

TEST(ServiceTableTest, TextHasALineForEachFileSystemThenTokens) {
  const std::string text = text_table(rows());
  EXPECT_TRUE(
      text.starts_with("                    sync mount  sync chmod  sync\n"
                       "ext4                kept        kept~       unknown\n"
                       "ext2 mount=noatime  broken      kept        kept\n\n"))
      << text;
  EXPECT_NE(text.find("\nBroken:\n  ext2 mount=noatime, sync mount: /a is gone\n"
                      "    ./sisyfs replay s2:token\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("\nUnknown:\n  ext4, sync: the search did not end\n"), text.npos) << text;
}

TEST(ServiceTableTest, MarkdownIsATableAndTheTokens) {
  const std::string text = markdown_table(rows());
  EXPECT_TRUE(
      text.starts_with("| file system | sync mount | sync chmod | sync |\n"
                       "| --- | --- | --- | --- |\n"
                       "| ext4 | kept | kept~ | unknown |\n"
                       "| ext2 mount=noatime | **broken** | kept | kept |\n"))
      << text;
  EXPECT_NE(text.find("| ext2 mount=noatime | sync mount | /a is gone | `s2:token` |\n"), text.npos) << text;
}

TEST(ServiceTableTest, JsonHasAnObjectForEachTargetWithAFieldForEachService) {
  const auto json = json_table(rows(), 1.5);
  EXPECT_EQ(json["schema"], "sisyfs.services/1");
  EXPECT_EQ(json["seconds"], 1.5);
  const auto& ext4 = json["targets"][0]["services"];
  EXPECT_EQ(ext4["sync_mount"]["kept"], true);
  EXPECT_EQ(ext4["sync_mount"]["bound"], "all");
  EXPECT_EQ(ext4["sync_mount"]["crash_states"], 7);
  EXPECT_EQ(ext4["sync"]["unknown"], true);
  EXPECT_EQ(ext4["sync"]["why"], "the search did not end");
  const auto& broken = json["targets"][1]["services"]["sync_mount"];
  EXPECT_EQ(broken["broken"], true);
  EXPECT_EQ(broken["token"], "s2:token");
  EXPECT_EQ(broken["finding"], "not-allowed");
  EXPECT_FALSE(broken.contains("kept"));
  EXPECT_TRUE(json["services"].contains("fsync"));
}

}  // namespace
}  // namespace sisyfs::cli::table_test
