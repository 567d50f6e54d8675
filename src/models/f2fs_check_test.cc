#include "models/f2fs_check.h"

#include <gtest/gtest.h>

#include "judge/catalogue.h"

namespace sisyfs::f2fs {
namespace {

SearchResult search(const std::vector<std::string>& settings, uint32_t depth) {
  const Result<Options> options = Options::parse(option_specs(), settings);
  EXPECT_TRUE(options);
  const auto check = make_check(*options);
  EXPECT_TRUE(check);
  SearchOptions search;
  search.bounds.depth = depth;
  return (*check)->search(search, {});
}

TEST(F2fsCheckTest, TheRightModelIsClean) {
  EXPECT_EQ(search({}, 4).findings, 0u);
  EXPECT_EQ(search({"preset=small"}, 4).findings, 0u);
  EXPECT_EQ(search({"preset=small", "remount=on", "impossible=on"}, 3).findings, 0u);
  EXPECT_EQ(search({"crash=subsets", "files=1", "dirs=0"}, 3).findings, 0u);
}

// The same searches with one switch in its wrong position.
TEST(F2fsCheckTest, EachPlantedBugIsFoundByTheSearch) {
  EXPECT_NE(search({"bitmaps=off"}, 3).findings & bit(FindingKind::kLostNode), 0u);
  EXPECT_NE(search({"cp_order=tables-last"}, 3).findings & bit(FindingKind::kLostNode), 0u);
  // The body is that of the checkpoint before the last one.
  EXPECT_NE(search({"cp_order=footer-first", "dirs=0"}, 4).findings & bit(FindingKind::kLostBlock), 0u);
  EXPECT_NE(search({"cp_flush=off", "crash=subsets"}, 3).findings, 0u);
  EXPECT_NE(search({"one_write=off", "reuse=lifo"}, 4).findings & bit(FindingKind::kNotAllowed), 0u);
  EXPECT_NE(search({"rollforward=off"}, 3).findings & bit(FindingKind::kNotAllowed), 0u);
}

TEST(F2fsCheckTest, SizesThatCannotBeAreRefused) {
  const auto error = [](std::vector<std::string> settings) {
    const Result<Options> options = Options::parse(option_specs(), settings);
    EXPECT_TRUE(options);
    const auto check = make_check(*options);
    return check ? std::string() : check.error().message;
  };
  EXPECT_EQ(error({"segments=10"}), "segments is at least 14: six logs, and room to clean");
  EXPECT_EQ(error({"nids=2"}), "nids is at least 3: none, the root and one file");
  EXPECT_EQ(error({"segments=14", "user_blocks=21"}), "user_blocks is at most 20 with 14 segments");
  EXPECT_EQ(error({"preset=small"}), "");
}

}  // namespace
}  // namespace sisyfs::f2fs
