#include "models/f2fs/check.h"

#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <set>

#include "explore/same_result_for_test.h"
#include "finding/catalogue_bits_for_test.h"
#include "judge/catalogue.h"
#include "judge/disk_system.h"

namespace sisyfs::f2fs::check_test {
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
  return catalogued_search(*check_with(settings), search);
}

SearchResult search_by_shape(const std::vector<std::string>& settings, uint32_t depth, uint32_t ops,
                             unsigned threads) {
  SearchOptions search;
  search.bounds.depth = depth;
  search.dedup = Dedup::kShape;
  search.shape_ops = ops;
  search.threads = threads;
  return catalogued_search(*check_with(settings), search);
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
  EXPECT_NE(search({"cp_order=tables-last"}, 3).findings & bit(FindingKind::kLostRoot), 0u);
  // The body is that of the checkpoint before the last one.
  EXPECT_NE(search({"cp_order=footer-first", "dirs=0"}, 4).findings & bit(FindingKind::kLostBlock), 0u);
  EXPECT_NE(search({"cp_flush=off", "crash=subsets"}, 3).findings, 0u);
  EXPECT_NE(search({"one_write=off", "reuse=lifo"}, 4).findings & bit(FindingKind::kNotAllowed), 0u);
  EXPECT_NE(search({"rollforward=off"}, 3).findings & bit(FindingKind::kNotAllowed), 0u);
}

// A list from which the segment comes that was freed first puts its reuse off, until all others were taken.
// On a small disk four ops and a power cut are enough; the right model cleans there too, and is clean.
TEST(F2fsCheckTest, ReuseInTheOrderOfFreeingIsFoundOnASmallDisk) {
  const std::vector<std::string> right = {"preset=small", "write=11", "files=1", "dirs=0", "one_write=off"};
  std::vector<std::string> wrong = right;
  wrong.emplace_back("reuse=fifo");
  EXPECT_NE(search_by_shape(wrong, 5, 3, 2).findings & bit(FindingKind::kNotAllowed), 0u);
  EXPECT_EQ(search_by_shape(right, 5, 3, 2).findings, 0u);
}

// What the story of a finding says where it was seen.
std::string told(const Check& check, const FoundTrace& found) {
  const Result<Story> story = check.tell(found.trace);
  EXPECT_TRUE(story);
  for (const Observation& seen : story->steps.back().observed) {
    if (seen.kind == check.kinds()[found.kind]) return seen.text;
  }
  return "";
}

// Thesis 5.3.2 in full: not a file but the root directory is in the segment that was used again, so that
// after the power cut everything is gone. Directories are written as they change, as in the thesis.
TEST(F2fsCheckTest, TheRootDirectoryIsLostBySegmentReuse) {
  for (const Dedup dedup : {Dedup::kExact, Dedup::kShape}) {
    const auto check = check_with({"reuse=lifo", "eager_dirs=on"});
    SearchOptions options;
    options.bounds.depth = 8;
    options.dedup = dedup;
    options.stop = StopRule::kFirst;
    options.watched = check->kinds().bit(FindingKind::kLostRoot);
    options.threads = 2;
    const SearchResult result = check->search(options, {});
    ASSERT_EQ(catalogue_bits(*check, result.findings), bit(FindingKind::kLostRoot));
    const auto lost = static_cast<size_t>(std::countr_zero(check->kinds().bit(FindingKind::kLostRoot)));
    EXPECT_EQ(result.least_depth[lost], 4u);
    const std::vector<FoundTrace> traces = check->find_traces(options, result).traces;
    ASSERT_EQ(traces.size(), 1u);
    EXPECT_EQ(told(*check, traces[0]),
              "the inode of the root is disk block 116, which holds no such node (repaired); last written by "
              "write 15 of 'rename /b/a /c', over what was there at the start");
  }
  EXPECT_EQ(search({"eager_dirs=on"}, 4).findings, 0u);
  EXPECT_EQ(search({"eager_dirs=on", "preset=small"}, 4).findings, 0u);
}

// Thesis 5.3.2: what the last checkpoint still needs is written over, and a power cut brings the checkpoint
// back. And Figure 5.13: merging states by shape alone hides it at a depth where it can be seen; with the
// last two ops or more the same errors are found as without merging.
TEST(F2fsCheckTest, DedupByShapeAloneHidesSegmentReuse) {
  const std::vector<std::string> wrong = {"reuse=lifo", "one_write=off"};
  const FindingBits errors = search(wrong, 4).findings;
  EXPECT_EQ(errors, bit(FindingKind::kNotAllowed) | bit(FindingKind::kLostNode));
  EXPECT_EQ(search_by_shape(wrong, 4, 0, 2).findings, 0u);
  EXPECT_EQ(search_by_shape(wrong, 4, 1, 2).findings, bit(FindingKind::kNotAllowed));
  for (uint32_t ops = 2; ops <= 4; ++ops) EXPECT_EQ(search_by_shape(wrong, 4, ops, 2).findings, errors);
  EXPECT_EQ(search_by_shape({"one_write=off"}, 5, 3, 2).findings, 0u);
}

// However clean a search by shape is, it has not seen everything.
TEST(F2fsCheckTest, ACleanSearchByShapeIsNoPass) {
  const SearchResult result = search_by_shape({"files=1", "dirs=0"}, 3, 3, 1);
  EXPECT_EQ(result.findings, 0u);
  EXPECT_EQ(result.verdict, Verdict::kUnknown);
  EXPECT_FALSE(result.exhausted);
}

// The state after these ops, none of which is cut.
DiskSystemState after(const DiskSystem& system, const std::vector<std::string>& ops) {
  DiskSystemState state, next;
  system.initial(state);
  for (const std::string& op : ops) {
    std::optional<uint32_t> number;
    {
      const WorkerPool::Lease worker(system.workers());
      worker->begin(state);
      for (uint32_t i = 0; i < worker->ops().size(); ++i)
        if (to_text(worker->ops()[i].op) == op) number = i;
    }
    EXPECT_TRUE(number) << op;
    if (!number || !system.follow(state, DiskMove{.op = *number}.choice(), next)) break;
    state = next;
  }
  return state;
}

// docs/design/shape.md: what dedup by shape takes for one. How often a file was overwritten before the last
// k ops is nowhere in its tree, but decides where the logs are; and one op on a file or on another of the
// same shape is one letter.
TEST(F2fsCheckTest, StatesOfOneShapeHaveDifferentDisks) {
  const Result<Options> options = Options::parse(option_specs(), {"one_write=off"});
  ASSERT_TRUE(options);
  Result<DiskSetup> setup = setup_of(*options);
  ASSERT_TRUE(setup);
  const Result<DiskSystem> system = DiskSystem::make(*std::move(setup));
  ASSERT_TRUE(system);
  const std::string even = "write /a 0 888", odd = "write /a 0 888 v1";
  const DiskSystemState three = after(*system, {"create /a", "append /a 888", odd, even, odd});
  const DiskSystemState four = after(*system, {"create /a", "append /a 888", odd, even, odd, even});
  EXPECT_EQ(shape_print(three, 3), shape_print(four, 3));
  EXPECT_NE(shape_print(three, 4), shape_print(four, 4));
  EXPECT_NE(three.disk.current, four.disk.current);

  const DiskSystemState first = after(*system, {"create /a", "create /b", "fsync /a"});
  const DiskSystemState second = after(*system, {"create /a", "create /b", "fsync /b"});
  EXPECT_EQ(shape_print(first, 8), shape_print(second, 8));
  EXPECT_NE(first.disk.current, second.disk.current);
  // A directory is not a file: its fsync is a checkpoint.
  EXPECT_NE(shape_print(first, 1), shape_print(after(*system, {"create /a", "create /b", "fsync /"}), 1));
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

// A clean run is only worth something if it went where mistakes are. Three searches, each to its bound, that
// go to every place there is a mark for; docs/models/f2fs.md has them as commands.
TEST(F2fsCheckTest, RareThingsAreReachedWithinTheBound) {
  const std::pair<std::vector<std::string>, uint32_t> searches[] = {
      {{"preset=small", "nids=6", "write=7", "one_write=off"}, 4},
      {{"preset=small", "files=5", "dirs=0", "fsync=off", "remount=off"}, 5},
      {{"handles=on", "write=22"}, 4}};
  std::set<std::string_view> reached, all;
  for (const auto& [settings, depth] : searches) {
    const auto check = check_with(settings);
    SearchOptions options;
    options.bounds.depth = depth;
    const SearchResult result = check->search(options, {});
    EXPECT_EQ(result.verdict, Verdict::kPass) << settings[0];
    for (const MarkInfo& mark : check->marks()) {
      all.insert(mark.says);
      if ((result.marks & mark.bit) != 0) reached.insert(mark.says);
    }
  }
  // The right model leaves nothing to repair.
  EXPECT_EQ(all.erase("recovery repaired something"), 1u);
  EXPECT_EQ(reached, all);
  EXPECT_EQ(reached.count("garbage was collected in the middle of an op"), 1u);
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
}  // namespace sisyfs::f2fs::check_test
