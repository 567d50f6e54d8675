#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <stdexcept>

#include "explore/run.h"
#include "explore/toy_systems.h"

namespace sisyfs::explore_test {
namespace {

// A grid walk: from (x, y) to (x+1, y) and (x, y+1) modulo `side`, with a way back to the origin.
// Reaching (side-1, 2) is finding 0, reaching (1, 1) is mark 0. The finding needs side+1 steps.
struct Grid {
  using State = uint64_t;
  uint32_t side = 300;
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    const uint32_t x = s >> 32, y = static_cast<uint32_t>(s);
    emit(sink, 0, (x + 1) % side, y);
    emit(sink, 1, x, (y + 1) % side);
    emit(sink, 2, 0, 0);
  }
  template <class Sink>
  void emit(Sink& sink, uint32_t choice, uint32_t x, uint32_t y) const {
    sink.next() = uint64_t{x} << 32 | y;
    sink.commit(Choice{choice}, {.findings = x == side - 1 && y == 2, .marks = x == 1 && y == 1});
  }
};

SearchOptions with(SearchOrder order, unsigned threads, uint32_t depth = SearchBounds::kNoDepth) {
  SearchOptions o;
  o.order = order;
  o.threads = threads;
  o.bounds.depth = depth;
  return o;
}

TEST(SearchTest, ExhaustsTheSpaceAndCountsExactly) {
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kDepthFirst}) {
    for (unsigned threads : {1u, 2u, 3u}) {
      const SearchResult r = run_search(Grid{}, with(order, threads), {});
      EXPECT_EQ(r.states, 90000u);
      EXPECT_EQ(r.transitions, 270000u) << "each state is expanded once";
      EXPECT_TRUE(r.exhausted);
      EXPECT_EQ(r.verdict, Verdict::kFail);
      EXPECT_EQ(r.marks, 1u);
    }
  }
}

// Progress that cannot be shown left the workers at work, and was waited for with them.
TEST(SearchTest, AnExceptionOfWhoeverShowsProgressEndsTheSearch) {
  const auto full = [](const Progress&) { throw std::runtime_error("no room"); };
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kDepthFirst}) {
    SearchOptions o = with(order, 2);
    o.dedup = Dedup::kNone;  // which never ends by itself
    EXPECT_THROW(run_search(Grid{}, o, full), std::runtime_error);
  }
}

// Workers wait for each other: those that there were waited for ever for those that the system had refused.
TEST(CrewTest, StartsAllThreadsOrNone) {
  std::atomic<unsigned> ran{0};
  {
    Crew crew;
    ASSERT_TRUE(crew.start(3, [&](unsigned worker) { ran += 1u << worker; }));
  }
  EXPECT_EQ(ran.load(), 7u);
  const auto refused = [] {
    const rlimit none{0, 0};
    constexpr int kNotHere = 77;
    if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(kNotHere);
    if (getuid() == 0 && setuid(65534) != 0) _exit(kNotHere);  // root may have as many as it likes
    try {
      const std::jthread granted([] {});
      _exit(kNotHere);
    } catch (const std::system_error&) {
    }
    Crew crew;
    if (crew.start(2, [](unsigned) { _exit(1); })) _exit(2);
    _exit(0);
  };
  const pid_t child = fork();
  if (child == 0) refused();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "threads cannot be refused here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(SearchTest, WhatIsNotWatchedIsMetAndDoesNotCount) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  EXPECT_EQ(run_search(Grid{}, o, {}).met, 1u);
  o.watched = 2;
  const SearchResult r = run_search(Grid{}, o, {});
  EXPECT_EQ(r.findings, 0u);
  EXPECT_EQ(r.met, 1u);
  EXPECT_EQ(r.verdict, Verdict::kPass);
}

TEST(SearchTest, BreadthFirstKnowsTheLeastDepthOfAFinding) {
  const SearchResult r = run_search(Grid{}, with(SearchOrder::kBreadthFirst, 2), {});
  EXPECT_EQ(r.least_depth[0], 301u);
  EXPECT_EQ(r.depth, 598u);
}

TEST(SearchTest, OrderAndThreadsDoNotChangeTheVisitedSetWithinADepthBound) {
  const SearchResult one = run_search(Grid{}, with(SearchOrder::kBreadthFirst, 1, 120), {});
  EXPECT_EQ(one.states, 121u * 122 / 2);
  EXPECT_EQ(one.unexpanded, 121u);
  EXPECT_FALSE(one.exhausted);
  EXPECT_EQ(one.verdict, Verdict::kPass);
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kDepthFirst}) {
    for (unsigned threads : {1u, 2u, 4u}) {
      const SearchResult r = run_search(Grid{}, with(order, threads, 120), {});
      EXPECT_EQ(r.states, one.states);
      EXPECT_EQ(r.visited, one.visited);
      EXPECT_EQ(r.unexpanded, one.unexpanded);
    }
  }
}

// A depth has sixteen bits in the table.
TEST(SearchTest, DepthFirstRefusesABoundThatItCannotCountTo) {
  const Grid grid{.side = 2};
  EXPECT_EQ(run_search(grid, with(SearchOrder::kDepthFirst, 1, 65533), {}).stopped, Stop::kNo);
  const SearchResult r = run_search(grid, with(SearchOrder::kDepthFirst, 1, 65534), {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_EQ(run_search(grid, with(SearchOrder::kBreadthFirst, 1, 65534), {}).stopped, Stop::kNo);
}

struct Doors {
  using State = uint32_t;  // 0 start, 1..8 the long way, 9 the hall, 10.. behind the hall
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    auto go = [&](uint32_t to) {
      sink.next() = to;
      sink.commit(Choice{to}, {.findings = to == 15, .marks = 0});
    };
    if (s == 0) {
      go(9);  // the stack takes the last successor first: the long way
      go(1);
    } else if (s < 20) {
      go(s + 1);
    }
  }
};

// A depth-first search that did not revisit states at smaller depths would go deep through one door,
// mark the hall as seen at the bound, and never enter it through the short door.
TEST(SearchTest, DepthFirstVisitsAgainWhatItReachesByAShorterWay) {
  const SearchResult r = run_search(Doors{}, with(SearchOrder::kDepthFirst, 1, 10), {});
  EXPECT_EQ(r.findings, 1u) << "15 is 7 steps away by the short door and 15 by the long one";
}

// What a worker once met at the bound and later by a shorter way was still held against the search, and was
// counted by the bound on states each time that it came sooner.
TEST(SearchTest, DepthFirstHoldsNothingAgainstAStateThatComesSooner) {
  SearchOptions o = with(SearchOrder::kDepthFirst, 1, 40);
  o.watched = 0;
  o.bounds.states = 101;
  const SearchResult r = run_search(Grid{.side = 10}, o, {});
  EXPECT_GT(r.transitions, 300u) << "some states came again, and sooner";
  EXPECT_EQ(r.states, 100u);
  EXPECT_EQ(r.stopped, Stop::kNo);
  EXPECT_EQ(r.unexpanded, 0u);
  EXPECT_TRUE(r.exhausted);
}

TEST(SearchTest, StopsAtTheFirstFindingAfterItsLayer) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.stop = StopRule::kFirst;
  const SearchResult r = run_search(Grid{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kFinding);
  EXPECT_EQ(r.verdict, Verdict::kFail);
  EXPECT_EQ(r.depth, 301u);
  o.watched = 0;
  EXPECT_EQ(run_search(Grid{}, o, {}).verdict, Verdict::kPass) << "what is not watched is no finding";
}

TEST(SearchTest, BoundsOnStatesTimeAndInterruptGiveUnknown) {
  Grid clean;
  clean.side = 3000;
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.watched = 0;
  o.bounds.states = 1000;
  SearchResult r = run_search(clean, o, {});
  EXPECT_EQ(r.stopped, Stop::kStates);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  o.bounds.states = SearchOptions{}.bounds.states;
  o.bounds.time = std::chrono::milliseconds(1);
  r = run_search(clean, o, {});
  EXPECT_EQ(r.stopped, Stop::kTime);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  o.bounds.time = SearchOptions{}.bounds.time;
  const std::atomic<bool> interrupt{true};
  o.interrupt = &interrupt;
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kDepthFirst}) {
    o.order = order;
    r = run_search(clean, o, {});
    EXPECT_EQ(r.stopped, Stop::kInterrupted);
    EXPECT_EQ(r.verdict, Verdict::kUnknown);
  }
}

// Three hundred years are more nanoseconds than can be counted.
TEST(SearchTest, AVeryLongTimeIsNotOver) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1);
  o.bounds.time = std::chrono::hours(4'000'000);
  EXPECT_EQ(run_search(Grid{}, o, {}).stopped, Stop::kNo);
  o.bounds.time = std::chrono::milliseconds::max() - std::chrono::milliseconds(1);
  EXPECT_EQ(run_search(Grid{}, o, {}).stopped, Stop::kNo);
}

TEST(SearchTest, MemoryBoundGivesUnknown) {
  Grid big;
  big.side = 4000;
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.watched = 0;
  o.bounds.memory_bytes = size_t{16} << 20;
  const SearchResult r = run_search(big, o, {});
  EXPECT_EQ(r.stopped, Stop::kMemory);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_GT(r.states, 1000000u) << "most of the memory was used before giving up";
}

TEST(SearchTest, MemoryThatTheSystemRefusesIsBadInput) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1);
  o.bounds.memory_bytes = size_t{1} << 61;
  const SearchResult r = run_search(Grid{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  ASSERT_TRUE(r.trouble);
  EXPECT_EQ(r.trouble->kind, ErrorKind::kBadInput);
}

// Two thousand ways on from every state and none back: there is work for every thread, and soon no room.
struct Wide {
  using State = uint64_t;
  void initial(State& s) const { s = 1; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint32_t c = 0; c < 2048; ++c) {
      sink.next() = mul_fold(s + c, 0x9e3779b97f4a7c15u);
      sink.commit(Choice{c}, {});
    }
  }
};

// A worker that found the table full waited for the others to stand still. They saw that the search was
// over and left, and it waited for ever.
TEST(SearchTest, DepthFirstEndsAtTheMemoryBoundOnManyThreads) {
  SearchOptions o = with(SearchOrder::kDepthFirst, 4, 3);
  o.bounds.memory_bytes = size_t{32} << 20;
  const SearchResult r = run_search(Wide{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kMemory);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_FALSE(r.exhausted);
}

TEST(SearchTest, BitstateFindsButNeverProves) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.dedup = Dedup::kBitstate;
  o.bounds.memory_bytes = size_t{1} << 24;
  EXPECT_EQ(run_search(Grid{}, o, {}).verdict, Verdict::kFail);
  o.watched = 0;
  EXPECT_EQ(run_search(Grid{}, o, {}).verdict, Verdict::kUnknown);
}

TEST(SearchTest, WithoutDedupPathsAreCounted) {
  SearchOptions o = with(SearchOrder::kDepthFirst, 2, 8);
  o.dedup = Dedup::kNone;
  const SearchResult r = run_search(Grid{}, o, {});
  EXPECT_EQ(r.transitions, (6561u * 3 - 3) / 2) << "3 + 9 + ... + 3^8";
}

TEST(TraceFinderTest, GivesTheShortestTraceWhateverTheSearchWas) {
  const Grid grid{.side = 20};
  const auto found = find_traces(grid, SearchOptions{}, 1).traces;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].trace.size(), 21u);
  uint32_t right = 0;
  for (Choice c : found[0].trace) right += c == Choice{0};
  EXPECT_EQ(right, 19u);
}

// Three million states lie before the finding: 25 MB of fingerprints, but with their paths some 80.
TEST(TraceFinderTest, CountsPathsInItsMemory) {
  const Grid grid{.side = 2500};
  SearchOptions o;
  o.bounds.memory_bytes = size_t{64} << 20;
  const FoundTraces none = find_traces(grid, o, 1);
  EXPECT_TRUE(none.traces.empty());
  EXPECT_EQ(none.stopped, Stop::kMemory);
  o.bounds.memory_bytes = size_t{256} << 20;
  EXPECT_EQ(find_traces(grid, o, 1).traces.size(), 1u);
  o.bounds.memory_bytes = size_t{1} << 60;
  EXPECT_EQ(find_traces(grid, o, 1).traces.size(), 1u) << "what the system does not grant is not asked for";
  o.bounds.memory_bytes = 1;
  EXPECT_EQ(find_traces(Grid{.side = 20}, o, 1).traces.size(), 1u) << "a little memory is always there";
}

TEST(TraceFinderTest, HeedsTheInterrupt) {
  const std::atomic<bool> interrupt{true};
  SearchOptions o;
  o.interrupt = &interrupt;
  const FoundTraces none = find_traces(Grid{.side = 20}, o, 1);
  EXPECT_TRUE(none.traces.empty());
  EXPECT_EQ(none.stopped, Stop::kInterrupted);
}

TEST(TraceFinderTest, SaysOfAKindThatIsNowhereThatNothingStoppedIt) {
  const FoundTraces found = find_traces(Grid{.side = 20}, SearchOptions{}, 1 | 1 << 9);
  EXPECT_EQ(found.traces.size(), 1u);
  EXPECT_EQ(found.stopped, Stop::kNo);
}

TEST(TraceFinderTest, GenerationsEndAtTheMemoryBoundToo) {
  SearchOptions o;
  o.bounds.memory_bytes = size_t{64} << 20;
  const FoundTraces found = find_traces(Blurred{.classes = uint64_t{1} << 62}, o, 1 | 1 << 9);
  EXPECT_EQ(found.traces.size(), 1u) << "what was met before then is not lost";
  EXPECT_EQ(found.stopped, Stop::kMemory);
}

// Systems that follow choices have their traces from generations, others from paths; they are the same.
TEST(TraceFinderTest, GenerationsGiveTheTracesThatPathsGive) {
  SearchOptions o;
  const FoundTraces paths = detail::traces_by_paths(Blurred{}, o, 1 | FindingBits{1} << 45, {});
  ASSERT_EQ(paths.traces.size(), 2u);
  for (o.threads = 1; o.threads <= 3; ++o.threads) {
    const FoundTraces found = find_traces(Blurred{}, o, 1 | FindingBits{1} << 45);
    EXPECT_EQ(found.stopped, Stop::kNo);
    ASSERT_EQ(found.traces.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(found.traces[i].kind, paths.traces[i].kind);
      EXPECT_EQ(found.traces[i].trace, paths.traces[i].trace);
    }
  }
}

}  // namespace
}  // namespace sisyfs::explore_test
