#include "judge/disk_system.h"

#include <gtest/gtest.h>

#include <map>

#include "explore/run.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::disk_system_test {
namespace {

static_assert(TransitionSystem<DiskSystem> && FollowableSystem<DiskSystem>);
static_assert(TransitionSystem<ShapedDiskSystem> && FollowableSystem<ShapedDiskSystem>);

Result<DiskSystem> system_of(const ToyMistakes& mistakes, bool lazy = false) {
  DiskSetup setup = toy_setup(mistakes);
  setup.cuts.lazy = lazy;
  setup.failures.most = 1;
  return DiskSystem::make(setup);
}

template <class System>
SearchResult search(const System& system, uint32_t depth, Dedup dedup = Dedup::kExact, unsigned threads = 1) {
  SearchOptions options;
  options.bounds.depth = depth;
  options.dedup = dedup;
  options.threads = threads;
  return run_search(system, options, nullptr);
}

TEST(DiskSystemTest, ATargetThatCannotBeStartedIsRefused) {
  EXPECT_TRUE(system_of({}));
  DiskSetup setup = toy_setup({.wrong_errno = true});
  setup.start.ops = {Op::of(OpKind::kCreate, Path("/a")), Op::of(OpKind::kUnlink, Path("/a"))};
  const Result<DiskSystem> system = DiskSystem::make(setup);
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().message,
            "the target cannot be formatted and brought to its start: " + std::string(errno_text(EPERM)));
}

// All successors of a state.
struct All : detail::FullSink<DiskSystem> {
  DiskSystemState& next() { return built; }
  void commit(Choice choice, Outcome outcome) { all[choice] = {outcome.findings, built.print}; }
  DiskSystemState built;
  std::map<Choice, std::pair<FindingBits, Digest>> all;
};

TEST(DiskSystemTest, FollowLeadsWhereExpandDoes) {
  for (const bool lazy : {false, true}) {
    const Result<DiskSystem> system = system_of({}, lazy);
    DiskSystemState state, to;
    system->initial(state);
    All sink;
    system->expand(state, sink);
    EXPECT_GT(sink.all.size(), 5u);
    for (const auto& [choice, seen] : sink.all) {
      ASSERT_TRUE(system->follow(state, choice, to));
      EXPECT_EQ(system->fingerprint(to), seen.second);
    }
    EXPECT_FALSE(system->follow(state, DiskMove{.op = 999}.choice(), to));
  }
}

TEST(DiskSystemTest, AStateInWhichAPathEndedHasNoSuccessors) {
  const Result<DiskSystem> system = system_of({});
  DiskSystemState state;
  system->initial(state);
  state.over = true;
  All sink;
  system->expand(state, sink);
  EXPECT_TRUE(sink.all.empty());
}

TEST(DiskSystemTest, TheSearchIsTheSameWithAnyNumberOfThreads) {
  for (const bool lazy : {false, true}) {
    const Result<DiskSystem> system = system_of({.no_mount = true}, lazy);
    const SearchResult one = search(*system, 4), four = search(*system, 4, Dedup::kExact, 4);
    EXPECT_EQ(one.states, four.states);
    EXPECT_EQ(one.transitions, four.transitions);
    EXPECT_EQ(one.findings, four.findings);
    EXPECT_NE(one.findings, 0u);
    EXPECT_EQ(search(*system_of({}, lazy), 4).findings, 0u);
  }
}

// Merged states have the same successors, so merging finds neither less nor more.
TEST(DiskSystemTest, EqualFingerprintsHideNothing) {
  for (const ToyMistakes& mistakes : {ToyMistakes{}, ToyMistakes{.no_mount = true}}) {
    const Result<DiskSystem> system = system_of(mistakes);
    const SearchResult merged = search(*system, 2), all = search(*system, 2, Dedup::kNone);
    EXPECT_LT(merged.states, all.states);
    EXPECT_EQ(merged.findings, all.findings);
    EXPECT_EQ(merged.marks, all.marks);
  }
}

TEST(DiskSystemTest, CrashStatesOfASearchAreCounted) {
  const Result<DiskSystem> system = system_of({});
  EXPECT_EQ(system->workers().stood_for(), 0u);
  (void)search(*system, 2);
  EXPECT_GT(system->workers().stood_for(), 0u);
  EXPECT_GT(system->workers().runs(), 0u);
  EXPECT_EQ(system->workers().left_out(), 0u);
}

TEST(ShapedDiskSystemTest, MergesMoreThanTheSystemItself) {
  const Result<DiskSystem> system = system_of({.no_flush = true});
  const ShapedDiskSystem shaped(*system, 1);
  DiskSystemState a, b;
  system->initial(a);
  shaped.initial(b);
  EXPECT_EQ(a.print, b.print);
  EXPECT_EQ(shaped.fingerprint(a), shape_print(a, 1));
  const SearchResult coarse = search(shaped, 3), exact = search(*system, 3);
  EXPECT_LT(coarse.states, exact.states);
  EXPECT_EQ(coarse.findings & ~exact.findings, 0u);
}

// By tree, /a alone and /b alone are two states; by shape they are one.
TEST(ShapedDiskSystemTest, ByTreeMergesLessThanByShape) {
  const Result<DiskSystem> system = system_of({.hint = true});
  for (const uint32_t depth : {2u, 3u, 4u}) {
    const uint64_t exact = search(*system, depth).states;
    const uint64_t trees = search(ShapedDiskSystem(*system, 1, PrintKind::kTree), depth).states;
    const uint64_t shapes = search(ShapedDiskSystem(*system, 1), depth).states;
    EXPECT_LE(shapes, trees) << depth;
    EXPECT_LT(trees, exact) << depth;
  }
}

}  // namespace
}  // namespace sisyfs::disk_system_test
