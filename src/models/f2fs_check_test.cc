#include "models/f2fs_check.h"

#include <gtest/gtest.h>

#include "explore/same_result_for_test.h"
#include "judge/catalogue.h"

namespace sisyfs::f2fs {
namespace {

std::unique_ptr<Check> check_with(const std::vector<std::string>& settings) {
  const Result<Options> options = Options::parse(option_specs(), settings);
  EXPECT_TRUE(options);
  auto check = make_check(*options);
  EXPECT_TRUE(check);
  return *std::move(check);
}

SearchResult search(const std::vector<std::string>& settings, uint32_t depth) {
  SearchOptions search;
  search.bounds.depth = depth;
  return check_with(settings)->search(search, {});
}

SearchResult search_by_shape(const std::vector<std::string>& settings, uint32_t depth, uint32_t ops,
                             unsigned threads) {
  SearchOptions search;
  search.bounds.depth = depth;
  search.dedup = Dedup::kShape;
  search.shape_ops = ops;
  search.threads = threads;
  return check_with(settings)->search(search, {});
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

// Thesis 5.3.2: what the last checkpoint still needs is written over, and a power cut brings the checkpoint
// back. And Figure 5.13: merging states by shape alone hides it at a depth where it can be seen.
TEST(F2fsCheckTest, DedupByShapeAloneHidesSegmentReuse) {
  const std::vector<std::string> wrong = {"reuse=lifo", "one_write=off"};
  EXPECT_NE(search(wrong, 4).findings & bit(FindingKind::kNotAllowed), 0u);
  EXPECT_EQ(search_by_shape(wrong, 4, 0, 2).findings, 0u);
  EXPECT_NE(search_by_shape(wrong, 5, 3, 2).findings & bit(FindingKind::kNotAllowed), 0u);
  EXPECT_EQ(search_by_shape({"one_write=off"}, 5, 3, 2).findings, 0u);
}

TEST(F2fsCheckTest, ThreadsChangeNothing) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"reuse=lifo", "one_write=off"}, {"handles=on"}, {}}) {
    expect_same(search_by_shape(settings, 5, 3, 1), search_by_shape(settings, 5, 3, 2));
  }
}

// A state's fingerprint depended on what the worker had done before: the history of objects looked at a node
// that the older tree did not have. Counts of exact dedup then differed from run to run.
TEST(F2fsCheckTest, ThreadsChangeNothingInExactCounts) {
  SearchOptions options;
  options.bounds.depth = 5;
  const auto check = check_with({"files=2", "dirs=1"});
  const SearchResult one = check->search(options, {});
  options.threads = 2;
  for (int again = 0; again < 3; ++again) {
    expect_same(one, check->search(options, {}));
  }
}

// A clean run is only worth something if it went where mistakes are.
TEST(F2fsCheckTest, RareThingsAreReachedWithinTheBound) {
  const std::vector<std::string> settings = {"preset=small", "nids=12",       "dentry_blocks=1", "write=11",
                                             "files=5",      "one_write=off", "dirs=1"};
  const auto check = check_with(settings);
  const SearchResult result = search_by_shape(settings, 6, 3, 2);
  EXPECT_EQ(result.findings, 0u);
  for (const std::string_view wanted :
       {"garbage was collected", "garbage was collected with changes that no checkpoint held",
        "the disk was full", "a directory was full", "a file reached its greatest size",
        "recovery rolled forward to what was synced", "recovery rolled back what was not"}) {
    bool reached = false;
    for (const MarkInfo& mark : check->marks())
      reached = reached || (mark.says == wanted && (result.marks & mark.bit) != 0);
    EXPECT_TRUE(reached) << wanted;
  }
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
