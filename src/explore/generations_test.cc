#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <unordered_set>

#include "explore/run.h"
#include "explore/same_result_for_test.h"
#include "explore/toy_systems.h"

namespace sisyfs::generations_test {
namespace {

using testing::HasSubstr;

// The grid of explore_test.cc, with and without the ability to follow.
struct Grid {
  using State = uint64_t;
  uint32_t side = 60;
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint32_t c = 0; c < 3; ++c) {
      const State to = go(s, c);
      sink.next() = to;
      sink.commit(Choice{c}, {.findings = to == (uint64_t{side - 1} << 32 | 2), .marks = to == 1});
    }
  }
  State go(State s, uint32_t c) const {
    const uint64_t x = s >> 32, y = static_cast<uint32_t>(s);
    return c == 0 ? ((x + 1) % side) << 32 | y : c == 1 ? x << 32 | (y + 1) % side : 0;
  }
};
struct FollowableGrid : Grid {
  bool follow(const State& from, Choice choice, State& to) const {
    to = go(from, static_cast<uint32_t>(choice));
    return static_cast<uint32_t>(choice) < 3;
  }
};
static_assert(FollowableSystem<FollowableGrid> && !FollowableSystem<Grid>);

SearchOptions with(SearchOrder order, unsigned threads, uint32_t depth = SearchBounds::kNoDepth) {
  SearchOptions o;
  o.order = order;
  o.threads = threads;
  o.bounds.depth = depth;
  return o;
}

void expect_traces_lead_to_their_findings(const Blurred& system, const SearchResult& r) {
  for (const FoundTrace& found : r.traces) {
    uint64_t state = 0, next = 0;
    system.initial(state);
    for (Choice c : found.trace) {
      ASSERT_TRUE(system.follow(state, c, next));
      state = next;
    }
    EXPECT_TRUE(system.outcome_of(state).findings >> found.kind & 1);
    EXPECT_EQ(found.trace.size(), r.least_depth[found.kind]);
  }
}

TEST(GenerationsTest, AnswersAsTheSearchThatKeepsStates) {
  for (uint32_t depth : {0u, 1u, 40u, SearchBounds::kNoDepth}) {
    const SearchResult kept = run_search(Grid{}, with(SearchOrder::kBreadthFirst, 1, depth), {});
    SearchResult r = run_search(FollowableGrid{}, with(SearchOrder::kBreadthFirst, 2, depth), {});
    EXPECT_EQ(r.traces.size(), static_cast<size_t>(depth == SearchBounds::kNoDepth));
    EXPECT_TRUE(kept.traces.empty());
    if (!r.traces.empty()) {
      EXPECT_EQ(r.traces[0].trace, find_traces(Grid{}, {}, kept.findings).traces[0].trace);
    }
    r.traces.clear();
    expect_same(kept, r);
  }
}

// A queue, a set, one state after the other: what every number of threads has to equal.
TEST(GenerationsTest, KeepsTheFirstOfMergedStatesAsAPlainQueueDoes) {
  const Blurred system;
  struct Entry {
    uint64_t state;
    uint32_t depth;
  };
  std::deque<Entry> queue{{1, 0}};
  std::unordered_set<uint64_t> seen{1};
  uint64_t transitions = 0, found = 0;
  uint32_t deepest = 0;
  for (; !queue.empty(); queue.pop_front()) {
    for (uint32_t c = 0; c < system.branching; ++c) {
      const uint64_t to = Blurred::step(queue.front().state, c);
      ++transitions;
      found += system.outcome_of(to).findings & 1;
      if (!seen.insert(to % system.classes).second) continue;
      queue.push_back({to, queue.front().depth + 1});
      deepest = queue.front().depth + 1;
    }
  }
  for (unsigned threads : {1u, 2u, 3u}) {
    const SearchResult r = run_search(system, with(SearchOrder::kBreadthFirst, threads), {});
    EXPECT_EQ(r.states, seen.size());
    EXPECT_EQ(r.transitions, transitions);
    EXPECT_EQ(r.times_found[0], found) << "which of the merged states was kept decides what is found";
    EXPECT_EQ(r.depth, deepest);
    EXPECT_TRUE(r.exhausted);
  }
}

TEST(GenerationsTest, ThreadsChangeNothingEvenWhereFingerprintsAreCoarse) {
  const Blurred system{.classes = 40000};
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kMostRecovery, SearchOrder::kRarest}) {
    for (uint32_t depth : {9u, SearchBounds::kNoDepth}) {
      const SearchResult one = run_search(system, with(order, 1, depth), {});
      EXPECT_GT(one.states, 5000u);
      EXPECT_EQ(one.traces.size(), 2u);
      expect_traces_lead_to_their_findings(system, one);
      for (unsigned threads : {2u, 3u}) expect_same(one, run_search(system, with(order, threads, depth), {}));
    }
  }
}

TEST(GenerationsTest, BestFirstOrdersDifferFromEachOther) {
  const Blurred system{.classes = 100000};
  SearchOptions o = with(SearchOrder::kMostRecovery, 2);
  o.bounds.states = 20000;
  const SearchResult recovery = run_search(system, o, {});
  o.order = SearchOrder::kRarest;
  const SearchResult rarest = run_search(system, o, {});
  o.order = SearchOrder::kBreadthFirst;
  const SearchResult layers = run_search(system, o, {});
  EXPECT_NE(recovery.visited, rarest.visited);
  EXPECT_NE(recovery.visited, layers.visited);
  EXPECT_GT(recovery.depth, layers.depth) << "a best-first search runs ahead";
}

// A row of steps, each of which reaches something new, in a grid that is wide beside it.
struct NewAlongOneSide {
  using State = uint64_t;
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint32_t side = 0; side < 4; ++side) {
      sink.next() = s + (uint64_t{1} << 16 * side);
      const bool is_new = side == 3 && s << 16 == 0;
      sink.commit(Choice{side}, {.findings = sink.next() >> 48 == 10, .new_edges = is_new});
    }
  }
};

TEST(GenerationsTest, NewEdgesAreFollowedAtOnce) {
  SearchOptions o = with(SearchOrder::kCoverage, 1);
  o.stop = StopRule::kFirst;
  const SearchResult coverage = run_search(NewAlongOneSide{}, o, {});
  EXPECT_EQ(coverage.verdict, Verdict::kFail);
  EXPECT_EQ(coverage.states, 41u) << "four successors of each of ten states, and the first state";
  o.order = SearchOrder::kBreadthFirst;
  const SearchResult layers = run_search(NewAlongOneSide{}, o, {});
  EXPECT_EQ(layers.verdict, Verdict::kFail);
  EXPECT_EQ(layers.states, 1001u) << "all that four sides add up to in ten steps";
}

TEST(GenerationsTest, BestFirstProvesOnlyWhatItExhausts) {
  SearchOptions o = with(SearchOrder::kMostRecovery, 2);
  o.watched = 0;
  EXPECT_EQ(run_search(Blurred{}, o, {}).verdict, Verdict::kPass);
  o.bounds.depth = 6;
  EXPECT_EQ(run_search(Blurred{}, o, {}).verdict, Verdict::kUnknown);
}

// A system that cannot follow is searched best-first all the same, with each choice looked for.
TEST(GenerationsTest, BestFirstTakesSystemsThatCannotFollow) {
  const SearchResult r = run_search(Grid{.side = 20}, with(SearchOrder::kRarest, 2), {});
  EXPECT_EQ(r.states, 400u);
  EXPECT_EQ(r.transitions, 1200u);
  EXPECT_TRUE(r.exhausted);
}

TEST(GenerationsTest, WithoutDedupEverySuccessorIsKept) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2, 8);
  o.dedup = Dedup::kNone;
  const SearchResult r = run_search(FollowableGrid{}, o, {});
  EXPECT_EQ(r.transitions, (6561u * 3 - 3) / 2) << "3 + 9 + ... + 3^8";
  EXPECT_EQ(r.states, r.transitions + 1);
  EXPECT_EQ(r.unexpanded, 6561u);
}

TEST(GenerationsTest, AChoiceThatIsNotThereAgainEndsTheSearch) {
  std::atomic<uint64_t> expansions{0};
  const Blurred system{.expansions = &expansions, .lose_after = 3000};
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.watched = 0;
  const SearchResult r = run_search(system, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_FALSE(r.exhausted);
  ASSERT_TRUE(r.trouble);
  EXPECT_THAT(r.trouble->message, HasSubstr("not deterministic"));
}

TEST(GenerationsTest, TheBoundOnStatesIsExact) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.bounds.states = 1234;
  o.watched = 0;
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.states, 1234u);
  EXPECT_EQ(r.stopped, Stop::kStates);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
}

TEST(GenerationsTest, BoundsOnTimeAndMemoryAndInterruptGiveUnknown) {
  const Blurred large{.classes = uint64_t{1} << 40};
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.watched = 0;
  o.bounds.memory_bytes = size_t{32} << 20;
  SearchResult r = run_search(large, o, {});
  EXPECT_EQ(r.stopped, Stop::kMemory);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  // How many states fit depends on how the threads shared the last round, how much was used does not.
  EXPECT_GT(r.memory_bytes, size_t{24} << 20) << "most of the memory was used before giving up";
  EXPECT_GT(r.states, 500000u);
  // It is looked at every 20 ms, and later on a busy machine.
  EXPECT_LT(r.memory_bytes, size_t{40} << 20);
  o.bounds = {};
  o.bounds.time = std::chrono::milliseconds(1);
  EXPECT_EQ(run_search(large, o, {}).stopped, Stop::kTime);
  const std::atomic<bool> interrupt{true};
  o.interrupt = &interrupt;
  r = run_search(large, o, {});
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_EQ(r.states, 1u);
}

TEST(GenerationsTest, StopsAtTheFirstFindingAfterItsLayer) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1);
  o.stop = StopRule::kFirst;
  const SearchResult one = run_search(Blurred{}, o, {});
  EXPECT_EQ(one.stopped, Stop::kFinding);
  EXPECT_EQ(one.verdict, Verdict::kFail);
  EXPECT_EQ(one.depth, one.least_depth[one.traces[0].kind]);
  o.threads = 3;
  expect_same(one, run_search(Blurred{}, o, {}));
}

TEST(GenerationsTest, RefusesWhatItCannotDo) {
  SearchOptions o = with(SearchOrder::kRarest, 1);
  o.dedup = Dedup::kBitstate;
  SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_THAT(r.trouble->message, HasSubstr("bitstate"));
  o = with(SearchOrder::kDepthFirst, 1);
  o.checkpoint.emplace();
  r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_THAT(r.trouble->message, HasSubstr("cannot be saved"));
}

}  // namespace
}  // namespace sisyfs::generations_test
