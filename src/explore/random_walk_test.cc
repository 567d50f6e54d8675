#include <gtest/gtest.h>

#include "explore/run.h"
#include "explore/toy_systems.h"

namespace sisyfs::random_walk_test {
namespace {

SearchOptions walking(unsigned threads, uint64_t seed = 7) {
  SearchOptions o;
  o.order = SearchOrder::kWalk;
  o.threads = threads;
  o.walk = {.walks = 300, .length = 20, .seed = seed};
  return o;
}

TEST(RandomWalkTest, ThreadsChangeNothing) {
  const Blurred system;
  const SearchResult one = run_search(system, walking(1), {});
  EXPECT_EQ(one.transitions, 300u * 20 * 3) << "all successors on the way are judged";
  EXPECT_EQ(one.verdict, Verdict::kFail);
  ASSERT_EQ(one.traces.size(), 2u);
  const SearchResult two = run_search(system, walking(2), {});
  EXPECT_EQ(one.states, two.states);
  EXPECT_EQ(one.transitions, two.transitions);
  EXPECT_EQ(one.visited, two.visited);
  EXPECT_EQ(one.times_found, two.times_found);
  EXPECT_EQ(one.least_depth, two.least_depth);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one.traces[i].trace, two.traces[i].trace);
    EXPECT_EQ(one.traces[i].trace.size(), one.least_depth[one.traces[i].kind]);
  }
}

TEST(RandomWalkTest, AnotherSeedWalksElsewhere) {
  EXPECT_NE(run_search(Blurred{}, walking(1), {}).visited, run_search(Blurred{}, walking(1, 8), {}).visited);
}

TEST(RandomWalkTest, NeverProves) {
  SearchOptions o = walking(2);
  o.watched = 0;
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_FALSE(r.exhausted);
}

TEST(RandomWalkTest, TakesEachSuccessorWithEqualChance) {
  std::array<int, 5> taken{};
  for (uint64_t walk = 0; walk < 5000; ++walk) {
    WalkRandom random(3, walk);
    size_t chosen = 0;
    for (size_t k = 1; k <= taken.size(); ++k)
      if (random.below(k) == 0) chosen = k - 1;
    ++taken[chosen];
  }
  for (int n : taken) EXPECT_NEAR(n, 1000, 150);  // five standard deviations
}

}  // namespace
}  // namespace sisyfs::random_walk_test
