#include "models/journal/check.h"

#include <gtest/gtest.h>

#include "explore/same_result_for_test.h"
#include "finding/catalogue_bits_for_test.h"
#include "judge/catalogue.h"

namespace sisyfs::journal::check_test {
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
  return catalogued_search(*check_with(settings), search);
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
    EXPECT_EQ(search({mode, "sync_writes=on", "impossible=on"}, 3).findings, 0u);
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
      {{"sync_writes=on", "osync=data"}, 2, FindingKind::kNotAllowed},
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
  EXPECT_EQ(search({"record=ends", "crash=prefixes"}, 4).findings, 0u);
  EXPECT_EQ(search({"commit_barrier=no-before", "crash=prefixes"}, 4).findings, 0u);
}

// Who writes through needs no flush at all.
TEST(JournalCheckTest, AMissingBarrierNeedsADeviceWithACache) {
  EXPECT_NE(search({"commit_barrier=none"}, 3).findings, 0u);
  EXPECT_EQ(search({"commit_barrier=none", "write_cache=through"}, 3).findings, 0u);
}

const char* const kDamages[] = {"start=entry-free", "start=entry-beyond", "start=entry-type",
                                "start=entry-name"};

// FiSC 7.1: a bad entry on the disk. What is not damaged must come back, and the system must be a good one
// from there on; the search goes on behind the repair, with all its power cuts.
TEST(JournalCheckTest, FsckTakesABadEntryAndNothingElse) {
  for (const char* start : kDamages) {
    const SearchResult right = search({start}, 4);
    EXPECT_EQ(right.findings, 0u) << start;
    EXPECT_EQ(right.verdict, Verdict::kPass) << start;
    EXPECT_GT(right.states, 500u) << start;
    EXPECT_EQ(search({start, "crash=subsets", "links=on", "mode=data"}, 3).findings, 0u) << start;
    const SearchResult wrong = search({start, "fsck_dir=drop"}, 1);
    EXPECT_EQ(wrong.findings, bit(FindingKind::kNotAllowed)) << start;
    EXPECT_EQ(search({start, "fsck_dir=drop", "mode=writeback", "crash=none"}, 1).findings,
              bit(FindingKind::kNotAllowed))
        << start << ": a repair has no contract to hide behind";
  }
}

TEST(JournalCheckTest, TheStoryOfADamagedDiskTellsWhatWasRepairedAndWhatIsGone) {
  const auto check = check_with({"start=entry-free", "fsck_dir=drop"});
  SearchOptions options;
  options.bounds.depth = 1;
  const std::vector<FoundTrace> found =
      check->find_traces(options, check->kinds().bit(FindingKind::kNotAllowed)).traces;
  ASSERT_EQ(found.size(), 1u);
  const Result<Story> story = check->tell(found[0].trace);
  ASSERT_TRUE(story);
  EXPECT_EQ(catalogue_bits(story->findings), bit(FindingKind::kNotAllowed));
  ASSERT_EQ(story->steps.size(), 1u);
  const StoryStep& step = story->steps[0];
  EXPECT_EQ(step.op, "fsck");
  EXPECT_EQ(step.text.find("of the damaged disk, and mount; repaired: M8 bad-entry: entry 1 of directory 2, "
                           "for inode 15, cannot be"),
            0u)
      << step.text;
  ASSERT_EQ(step.observed.size(), 1u);
  EXPECT_EQ(step.observed[0].text, "file /a/a: missing");
  EXPECT_FALSE(step.writes.empty());
}

// One state has nothing before it, and by shape it must not be taken for the one behind the repair.
TEST(JournalCheckTest, ADamagedStartIsNoStateToComeBackTo) {
  const auto check = check_with({"start=entry-free"});
  SearchOptions options;
  options.bounds.depth = 1;
  const SearchResult one = check->search(options, {});
  EXPECT_EQ(one.transitions, 1u);
  EXPECT_EQ(one.states, 2u);
  options.bounds.depth = 3;
  options.dedup = Dedup::kShape;
  options.shape_ops = 0;
  EXPECT_GT(check->search(options, {}).states, 10u);
}

TEST(JournalCheckTest, ThreadsChangeNothing) {
  for (const Settings& settings :
       {Settings{"fsync_size=off"}, {"mode=data", "links=on"}, {"crash=subsets"}, {"start=entry-type"}})
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
  EXPECT_EQ(error({"start=entry-free", "fsck=fast"}),
            "a disk that is damaged at the start is mended by fsck=full only");
  EXPECT_EQ(error({"start=entry-free", "blocks=2"}),
            "the target cannot be formatted and brought to its start: ENOSPC");
}

}  // namespace
}  // namespace sisyfs::journal::check_test
