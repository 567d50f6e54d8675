#include "models/verifs/check.h"

#include <gtest/gtest.h>

#include "explore/same_result_for_test.h"
#include "finding/catalogue_bits_for_test.h"
#include "judge/catalogue.h"

namespace sisyfs::verifs::check_test {
namespace {

std::unique_ptr<Check> check_with(Version version, const std::vector<std::string>& settings) {
  const Result<Options> options = Options::parse(option_specs(version), settings);
  EXPECT_TRUE(options);
  auto check = make_check(version, *options);
  EXPECT_TRUE(check);
  return *std::move(check);
}

SearchResult search(Version version, const std::vector<std::string>& settings, uint32_t depth,
                    unsigned threads = 1) {
  SearchOptions options;
  options.bounds.depth = depth;
  options.threads = threads;
  return catalogued_search(*check_with(version, settings), options);
}

TEST(VerifsCheckTest, TheRightModelsAreCleanAndGoWhereMistakesAre) {
  for (const Version version : {Version::kFirst, Version::kSecond}) {
    const auto check = check_with(version, {});
    const SearchResult result = search(version, {}, 4);
    EXPECT_EQ(result.verdict, Verdict::kPass);
    EXPECT_EQ(result.findings, 0u);
    for (const MarkInfo& mark : check->marks()) EXPECT_NE(result.marks & mark.bit, 0u) << mark.says;
  }
  EXPECT_EQ(search(Version::kSecond, {"snapshots=2", "inodes=3", "impossible=off"}, 6).findings, 0u);
  EXPECT_EQ(search(Version::kFirst, {"snapshots=0"}, 6).findings, 0u);
}

struct Planted {
  const char* switch_;
  FindingKind found;
  uint32_t depth;
};
constexpr Planted kPlanted[] = {
    {"truncate_clear=off", FindingKind::kWrongEffect, 2},
    {"hole_zero=off", FindingKind::kWrongEffect, 2},
    {"size_update=on-growth", FindingKind::kWrongEffect, 3},
    {"name_cache=stale", FindingKind::kWrongErrno, 4},
};

TEST(VerifsCheckTest, EachPlantedBugIsFoundAtItsDepthAndReplays) {
  for (const Version version : {Version::kFirst, Version::kSecond}) {
    for (const Planted& planted : kPlanted) {
      EXPECT_EQ(search(version, {planted.switch_}, planted.depth - 1).findings, 0u) << planted.switch_;
      const auto check = check_with(version, {planted.switch_});
      SearchOptions options;
      options.stop = StopRule::kFirst;
      const SearchResult result = check->search(options, {});
      EXPECT_EQ(result.verdict, Verdict::kFail);
      EXPECT_EQ(catalogue_bits(*check, result.findings), bit(planted.found)) << planted.switch_;
      const std::vector<FoundTrace> traces = check->find_traces(options, result).traces;
      ASSERT_FALSE(traces.empty()) << "wrong answers of different ops are told apart";
      EXPECT_EQ(traces[0].trace.size(), planted.depth) << planted.switch_;
      const Result<Story> story = check->tell(traces[0].trace);
      ASSERT_TRUE(story);
      EXPECT_EQ(catalogue_bits(story->findings), bit(planted.found));
      EXPECT_TRUE(story->writes.empty()) << "there is no disk";
    }
  }
}

TEST(VerifsCheckTest, AttributesAreCleanAndThoseThatStayAreFound) {
  const SearchResult without = search(Version::kSecond, {}, 3);
  const SearchResult right = search(Version::kSecond, {"xattrs=on"}, 4);
  EXPECT_EQ(right.verdict, Verdict::kPass);
  EXPECT_EQ(right.findings, 0u);
  EXPECT_GT(search(Version::kSecond, {"xattrs=on"}, 3).states, without.states + 100);
  EXPECT_EQ(search(Version::kSecond, {"xattr_free=off"}, 4).findings, 0u) << "nobody sets any";
  EXPECT_EQ(search(Version::kSecond, {"xattrs=on", "xattr_free=off"}, 3).findings, 0u);
  EXPECT_EQ(search(Version::kSecond, {"xattrs=on", "xattr_free=off"}, 4).findings,
            bit(FindingKind::kWrongEffect));
}

TEST(VerifsCheckTest, AStaleCacheShowsOnlyAfterARestore) {
  const auto check = check_with(Version::kFirst, {"name_cache=stale"});
  SearchOptions options;
  options.stop = StopRule::kFirst;
  const std::vector<FoundTrace> traces = check->find_traces(options, check->search(options, {})).traces;
  ASSERT_FALSE(traces.empty());
  const Result<Story> story = check->tell(traces[0].trace);
  ASSERT_TRUE(story);
  ASSERT_EQ(story->steps.size(), 4u);
  EXPECT_EQ(story->steps[0].op, "snapshot");
  EXPECT_EQ(story->steps[2].op, "restore");
  EXPECT_EQ(story->steps[3].text, "answers EEXIST");
  EXPECT_EQ(search(Version::kFirst, {"name_cache=stale", "snapshots=0"}, 5).findings, 0u);
}

// What the file system's own snapshots leave behind lies in the state, so that no order of search shows.
TEST(VerifsCheckTest, ThreadsChangeNothing) {
  for (const char* setting : {"name_cache=fresh", "name_cache=stale"})
    expect_same(search(Version::kSecond, {setting}, 4, 1), search(Version::kSecond, {setting}, 4, 2));
}

}  // namespace
}  // namespace sisyfs::verifs::check_test
