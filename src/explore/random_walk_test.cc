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

// Counts up, or falls back to 0 in one of nine ways. 30 is a finding.
struct Climber {
  using State = uint64_t;
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  static bool is_setback(Choice choice) { return choice != Choice{0}; }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint64_t choice = 0; choice < 10; ++choice) {
      const uint64_t to = choice == 0 ? s + 1 : 0;
      sink.next() = to;
      sink.commit(Choice{choice}, {.findings = to == 30 ? 1u : 0u});
    }
  }
};

// Story: power cuts are many of the successors of a file system, so walks hardly ever did ten calls in a row
// without one, and never met bugs that need many calls after a mount.
TEST(RandomWalkTest, SetbacksThatAreRarerLetAWalkGetFar) {
  SearchOptions options;
  options.order = SearchOrder::kWalk;
  options.walk = {.walks = 100, .length = 40, .seed = 1};
  EXPECT_EQ(run_search(Climber(), options, {}).findings, 0u);
  options.walk.setbacks_rarer = 200;
  const SearchResult result = run_search(Climber(), options, {});
  EXPECT_EQ(result.findings, 1u);
  EXPECT_GT(result.times_found[0], 10u);
}

// Ops of two kinds: op 0 counts up, and each of ten others falls back to 0. 30 is a finding.
struct Crowded {
  using State = uint64_t;
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    uint32_t op = 0, end = 11;
    if constexpr (requires { sink.picks(); })
      if (sink.picks()) {
        op = sink.pick(11, [](uint32_t i) { return i == 0 ? 0u : 1u; });
        end = op + 1;
      }
    for (; op < end; ++op) {
      const uint64_t to = op == 0 ? s + 1 : 0;
      sink.next() = to;
      sink.commit(Choice{op}, {.findings = to == 30 ? 1u : 0u});
    }
  }
};

// Story: walks over all kinds of op did not meet bugs that need a dozen ops of one kind.
TEST(RandomWalkTest, ASwarmMeetsWhatNeedsManyOpsOfOneKind) {
  SearchOptions options;
  options.order = SearchOrder::kWalk;
  options.walk = {.walks = 100, .length = 40, .seed = 1};
  EXPECT_EQ(run_search(Crowded{}, options, {}).findings, 0u);
  options.walk.swarm = true;
  const SearchResult r = run_search(Crowded{}, options, {});
  EXPECT_EQ(r.findings, 1u);
  EXPECT_EQ(r.transitions, 100u * 40) << "one op in each step";
}

}  // namespace
}  // namespace sisyfs::random_walk_test
