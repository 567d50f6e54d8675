#include "models/journal_check.h"

#include <gtest/gtest.h>

#include "explore/same_result_for_test.h"
#include "judge/catalogue.h"

namespace sisyfs::journal {
namespace {

using Settings = std::vector<std::string>;

std::unique_ptr<Check> check_with(const Settings& settings) {
  const Result<Options> options = Options::parse(option_specs(), settings);
  EXPECT_TRUE(options);
  auto check = make_check(*options);
  EXPECT_TRUE(check);
  return *std::move(check);
}

SearchResult search(const Settings& settings, uint32_t depth, unsigned threads = 2) {
  SearchOptions search;
  search.bounds.depth = depth;
  search.threads = threads;
  return check_with(settings)->search(search, {});
}

Settings operator+(Settings a, const Settings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One file and one directory side by side: few ops in each state, so that long paths are reached.
const Settings kNarrow = {"files=1", "dirs=1", "depth=1", "write=1", "rename=off", "remount=off"};

TEST(JournalCheckTest, TheRightModelIsCleanInEachMode) {
  for (const char* mode : {"mode=ordered", "mode=writeback", "mode=data"}) {
    EXPECT_EQ(search({mode}, 4).findings, 0u);
    EXPECT_EQ(search({mode, "fsck=fast"}, 3).findings, 0u);
    EXPECT_EQ(search({mode, "fsck=off"}, 4).findings, 0u);
    EXPECT_EQ(search({mode, "links=on", "impossible=on", "handles=on"}, 3).findings, 0u);
    EXPECT_EQ(search({mode, "crash=subsets"}, 3).findings, 0u);
    EXPECT_EQ(search({mode, "crash=subsets", "record=tagged"}, 3).findings, 0u);
    EXPECT_EQ(search({mode, "sync_mount=on"}, 3).findings, 0u);
    EXPECT_EQ(search({mode, "blocks=6", "inodes=4", "journal=14", "write=3"}, 4).findings, 0u);
  }
}

// The same searches with one switch in its wrong position.
TEST(JournalCheckTest, EachPlantedBugIsFoundByTheSearch) {
  struct Plant {
    Settings settings;
    uint32_t depth;
    FindingKind finds;
  };
  const Plant plants[] = {
      {{"record=ends", "crash=subsets"}, 2, FindingKind::kLostNode},
      {{"commit_barrier=no-before", "crash=subsets"}, 2, FindingKind::kLostNode},
      {{"commit_barrier=no-after"}, 2, FindingKind::kNotAllowed},
      {{"commit_barrier=none"}, 2, FindingKind::kNotAllowed},
      {{"clean_flag=early"}, 2, FindingKind::kBadEntry},
      {{"abort_leak=on", "blocks=3"}, 4, FindingKind::kWrongEffect},
      {{"error_ino=stored", "inodes=3"}, 2, FindingKind::kWrongEffect},
      {{"fsck_map=forget"}, 2, FindingKind::kLostNode},
      {{"fsync_parent=off"}, 2, FindingKind::kNotAllowed},
      {{"fsync_size=off"}, 3, FindingKind::kNotAllowed},
      {{"sync_bitmap=off"}, 2, FindingKind::kLostNode},
      {{"sync_mount=on", "osync=data"}, 2, FindingKind::kNotAllowed},
      {kNarrow + Settings{"reuse_type=confused"}, 6, FindingKind::kNotAllowed},
      {kNarrow + Settings{"revoke=off"}, 7, FindingKind::kNotAllowed},
  };
  for (const Plant& plant : plants)
    EXPECT_NE(search(plant.settings, plant.depth).findings & bit(plant.finds), 0u) << plant.settings.back();
  EXPECT_EQ(search({"blocks=3"}, 4).findings, 0u);
  EXPECT_EQ(search({"inodes=3"}, 4).findings, 0u);
  EXPECT_EQ(search(kNarrow, 7).findings, 0u);
}

// What only a device that reorders can bring about is silent on one that does not.
TEST(JournalCheckTest, AMissingBarrierNeedsADeviceThatReorders) {
  EXPECT_EQ(search({"record=ends"}, 4).findings, 0u);
  EXPECT_EQ(search({"commit_barrier=no-before"}, 4).findings, 0u);
}

TEST(JournalCheckTest, ThreadsChangeNothing) {
  for (const Settings& settings : {Settings{"fsync_size=off"}, {"mode=data", "links=on"}, {"crash=subsets"}})
    expect_same(search(settings, 3, 1), search(settings, 3, 2));
}

// A clean run is only worth something if it went where mistakes are.
TEST(JournalCheckTest, RareThingsAreReachedWithinTheBound) {
  const Settings settings = {"blocks=5", "inodes=5", "journal=14", "write=4", "one_write=off", "dirs=1"};
  const auto check = check_with(settings);
  const SearchResult result = search(settings, 6);
  EXPECT_EQ(result.findings, 0u);
  for (const std::string_view wanted :
       {"a transaction was committed", "the journal was checkpointed", "a commit was needed to make room",
        "the journal wrapped around", "recovery replayed the journal",
        "recovery left out a record that was not whole", "recovery left out a copy that was revoked",
        "no block was free", "all inodes were in use"}) {
    bool reached = false;
    for (const MarkInfo& mark : check->marks())
      reached = reached || (mark.says == wanted && (result.marks & mark.bit) != 0);
    EXPECT_TRUE(reached) << wanted;
  }
}

TEST(JournalCheckTest, SizesThatCannotBeAreRefused) {
  const auto error = [](const Settings& settings) {
    const Result<Options> options = Options::parse(option_specs(), settings);
    EXPECT_TRUE(options);
    const auto check = make_check(*options);
    return check ? std::string() : check.error().message;
  };
  EXPECT_EQ(error({"mode=data", "journal=14", "write=7"}),
            "write is at most 6 with a journal of 14 blocks for data");
  EXPECT_EQ(error({"mode=ordered", "journal=14", "write=7"}), "");
}

}  // namespace
}  // namespace sisyfs::journal
