// All searches over random graphs, against a plain queue and a map.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "explore/run.h"

namespace sisyfs::differential_test {
namespace {

struct Way {
  uint32_t to;
  Outcome outcome;
};

// A random graph: mostly short steps forward, some back or far, some states without a way on.
struct Graph {
  Graph(uint32_t seed, uint32_t states) : ways(states) {
    std::mt19937 random(seed);
    const uint32_t most = 1 + random() % 4, rarity = 2 + random() % 60;
    for (uint32_t from = 0; from < states; ++from) {
      const uint32_t degree = from == 0 ? random() % 9 == 0 ? 0 : most : random() % (most + 1);
      for (uint32_t i = 0; i < degree; ++i) {
        const uint32_t to = random() % 8 == 0 ? random() % states : (from + 1 + random() % 5) % states;
        Outcome outcome{.marks = uint32_t{1} << random() % 20, .work = static_cast<uint16_t>(random() % 9)};
        if (random() % rarity == 0) outcome.findings = uint32_t{1} << random() % 6;
        ways[from].push_back({to, outcome});
      }
    }
  }
  std::vector<std::vector<Way>> ways;
};

struct Wanderer {
  using State = uint32_t;
  const Graph& graph;
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint32_t i = 0; i < graph.ways[s].size(); ++i) {
      sink.next() = graph.ways[s][i].to;
      sink.commit(Choice{i}, graph.ways[s][i].outcome);
    }
  }
};
struct Follower : Wanderer {
  bool follow(const State& from, Choice choice, State& to) const {
    const auto& ways = graph.ways[from];
    if (static_cast<size_t>(choice) >= ways.size()) return false;
    to = ways[static_cast<size_t>(choice)].to;
    return true;
  }
};
static_assert(FollowableSystem<Follower> && !FollowableSystem<Wanderer>);

// What a search has to answer, by a queue and a map, one state after the other.
SearchResult walk_plainly(const Graph& graph, const SearchOptions& options) {
  struct Entry {
    uint32_t state, depth;
    Trace trace;
  };
  SearchResult r;
  std::deque<Entry> queue{{0, 0, {}}};
  std::map<uint32_t, uint32_t> seen{{0, 0}};
  r.states = 1;
  uint32_t layer = 0;
  for (; !queue.empty(); queue.pop_front()) {
    const Entry& from = queue.front();
    if (from.depth == options.bounds.depth) {
      ++r.unexpanded;
      continue;
    }
    const FindingBits hit = r.findings & options.watched;
    const bool enough =
        options.stop == StopRule::kFirst || (options.stop == StopRule::kEach && hit == options.watched);
    if (from.depth != layer && hit != 0 && enough) {
      r.stopped = Stop::kFinding;
      break;
    }
    layer = from.depth;
    for (uint32_t i = 0; i < graph.ways[from.state].size(); ++i) {
      const Way& way = graph.ways[from.state][i];
      ++r.transitions;
      r.marks |= way.outcome.marks;
      Trace trace = from.trace;
      trace.push_back(Choice{i});
      for (uint32_t kind = 0; kind < 32; ++kind) {
        if ((way.outcome.findings >> kind & 1) == 0) continue;
        ++r.times_found[kind];
        if ((r.findings >> kind & 1) != 0) continue;
        r.findings |= uint32_t{1} << kind;
        r.least_depth[kind] = from.depth + 1;
        if ((options.watched >> kind & 1) != 0) r.traces.push_back({kind, trace});
      }
      if (options.dedup != Dedup::kNone && !seen.emplace(way.to, from.depth + 1).second) continue;
      ++r.states;
      r.depth = from.depth + 1;
      queue.push_back({way.to, from.depth + 1, std::move(trace)});
    }
  }
  std::sort(r.traces.begin(), r.traces.end(), [](const FoundTrace& a, const FoundTrace& b) {
    return std::pair(a.trace.size(), a.kind) < std::pair(b.trace.size(), b.kind);
  });
  r.exhausted = r.stopped == Stop::kNo && r.unexpanded == 0;
  r.findings &= options.watched;
  r.verdict = r.findings != 0 ? Verdict::kFail : Verdict::kPass;
  return r;
}

void expect_traces(const std::vector<FoundTrace>& got, const std::vector<FoundTrace>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].kind, wanted[i].kind);
    EXPECT_EQ(got[i].trace, wanted[i].trace);
  }
}

void expect_all(const SearchResult& got, const SearchResult& wanted) {
  EXPECT_EQ(got.verdict, wanted.verdict);
  EXPECT_EQ(got.stopped, wanted.stopped);
  EXPECT_EQ(got.states, wanted.states);
  EXPECT_EQ(got.transitions, wanted.transitions);
  EXPECT_EQ(got.unexpanded, wanted.unexpanded);
  EXPECT_EQ(got.depth, wanted.depth);
  EXPECT_EQ(got.exhausted, wanted.exhausted);
  EXPECT_EQ(got.findings, wanted.findings);
  EXPECT_EQ(got.marks, wanted.marks);
  EXPECT_EQ(got.times_found, wanted.times_found);
  EXPECT_EQ(got.least_depth, wanted.least_depth);
}

// Of a search that finds its states in another order and covers them all.
void expect_covered(const SearchResult& got, const SearchResult& wanted) {
  EXPECT_EQ(got.verdict, wanted.verdict);
  EXPECT_EQ(got.stopped, Stop::kNo);
  EXPECT_EQ(got.states, wanted.states);
  EXPECT_GE(got.transitions, wanted.transitions);
  EXPECT_EQ(got.unexpanded, wanted.unexpanded);
  EXPECT_EQ(got.exhausted, wanted.exhausted);
  EXPECT_EQ(got.findings, wanted.findings);
  EXPECT_EQ(got.marks, wanted.marks);
}

// A graph, and how to search it.
struct Case {
  explicit Case(uint32_t seed) : random(seed), graph(seed, 1 + (uint32_t{1} << random() % 10)) {
    const uint32_t bounds[] = {0, 1, 2, 3, 5, 9, 17, 40, SearchBounds::kNoDepth, SearchBounds::kNoDepth};
    options.bounds.depth = bounds[random() % 10];
    options.threads = 1 + random() % 16;
    options.bounds.memory_bytes = size_t{64} << 20;
    options.watched = random() % 3 == 0 ? 6 : ~uint32_t{0};
  }
  std::string setup() const {
    return testing::PrintToString(graph.ways.size()) + " states, depth " +
           std::to_string(options.bounds.depth) + ", " + std::to_string(options.threads) + " threads, stop " +
           std::to_string(static_cast<int>(options.stop));
  }

  std::mt19937 random;
  Graph graph;
  SearchOptions options;
};

template <class Body>
void on_each_case(Body body) {
  for (uint32_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c(seed);
    body(c);
  }
}

TEST(DifferentialTest, BreadthFirstAnswersAsAPlainQueue) {
  on_each_case([](Case& c) {
    for (StopRule stop : {StopRule::kNever, StopRule::kFirst, StopRule::kEach}) {
      c.options.stop = stop;
      SCOPED_TRACE(c.setup());
      const SearchResult wanted = walk_plainly(c.graph, c.options);
      const SearchResult kept = run_search(Wanderer{c.graph}, c.options, {});
      expect_all(kept, wanted);
      expect_traces(find_traces(Wanderer{c.graph}, c.options, kept.findings).traces, wanted.traces);
      const SearchResult followed = run_search(Follower{c.graph}, c.options, {});
      expect_all(followed, wanted);
      expect_traces(followed.traces, wanted.traces);
      EXPECT_EQ(kept.visited, followed.visited);
    }
  });
}

TEST(DifferentialTest, DepthFirstCoversWhatAPlainQueueDoes) {
  on_each_case([](Case& c) {
    SCOPED_TRACE(c.setup());
    const SearchResult wanted = walk_plainly(c.graph, c.options);
    const Digest visited = run_search(Wanderer{c.graph}, c.options, {}).visited;
    c.options.order = SearchOrder::kDepthFirst;
    const SearchResult got = run_search(Wanderer{c.graph}, c.options, {});
    expect_covered(got, wanted);
    EXPECT_EQ(got.visited, visited);
    expect_traces(find_traces(Wanderer{c.graph}, c.options, got.findings).traces, wanted.traces);
    if (c.options.bounds.depth != SearchBounds::kNoDepth) {
      EXPECT_EQ(got.least_depth, wanted.least_depth);
    }
    c.options.stop = StopRule::kFirst;
    EXPECT_EQ(run_search(Wanderer{c.graph}, c.options, {}).verdict, wanted.verdict);
  });
}

TEST(DifferentialTest, BestFirstCoversWhatAPlainQueueDoes) {
  on_each_case([](Case& c) {
    c.options.bounds.depth = SearchBounds::kNoDepth;
    SCOPED_TRACE(c.setup());
    const SearchResult wanted = walk_plainly(c.graph, c.options);
    for (SearchOrder order : {SearchOrder::kMostRecovery, SearchOrder::kRarest}) {
      c.options.order = order;
      const SearchResult got = run_search(Follower{c.graph}, c.options, {});
      expect_covered(got, wanted);
      EXPECT_EQ(got.transitions, wanted.transitions);
      EXPECT_EQ(got.traces.size(), wanted.traces.size());
    }
  });
}

TEST(DifferentialTest, WithoutDedupEveryPathIsWalked) {
  on_each_case([](Case& c) {
    c.options.bounds.depth = std::min(c.options.bounds.depth, 6u);
    c.options.dedup = Dedup::kNone;
    SCOPED_TRACE(c.setup());
    const SearchResult wanted = walk_plainly(c.graph, c.options);
    expect_all(run_search(Wanderer{c.graph}, c.options, {}), wanted);
    expect_all(run_search(Follower{c.graph}, c.options, {}), wanted);
    c.options.order = SearchOrder::kDepthFirst;
    expect_all(run_search(Wanderer{c.graph}, c.options, {}), wanted);
  });
}

// In few states of many bits none is taken for another, but that is not known.
TEST(DifferentialTest, BitstateFindsTheSameAndProvesNothing) {
  on_each_case([](Case& c) {
    SearchResult wanted = walk_plainly(c.graph, c.options);
    if (wanted.verdict == Verdict::kPass) wanted.verdict = Verdict::kUnknown;
    wanted.exhausted = false;
    c.options.dedup = Dedup::kBitstate;
    SCOPED_TRACE(c.setup());
    expect_all(run_search(Wanderer{c.graph}, c.options, {}), wanted);
  });
}

// Whatever cuts a search, it says so unless it was at its end.
TEST(DifferentialTest, NothingThatWasCutPasses) {
  on_each_case([](Case& c) {
    c.options.watched = 0;
    const uint64_t all = walk_plainly(c.graph, c.options).states;
    c.options.bounds.states = 1 + c.random() % (all + 3);
    SCOPED_TRACE(c.setup());
    for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kDepthFirst}) {
      c.options.order = order;
      const SearchResult kept = run_search(Wanderer{c.graph}, c.options, {});
      EXPECT_EQ(kept.verdict, kept.stopped == Stop::kNo ? Verdict::kPass : Verdict::kUnknown);
      EXPECT_TRUE(kept.states == all || kept.stopped != Stop::kNo);
      EXPECT_GE(kept.states, std::min(all, c.options.bounds.states));
    }
    c.options.order = SearchOrder::kBreadthFirst;
    const SearchResult followed = run_search(Follower{c.graph}, c.options, {});
    EXPECT_EQ(followed.verdict, followed.stopped == Stop::kNo ? Verdict::kPass : Verdict::kUnknown);
    EXPECT_EQ(followed.states, std::min(all, c.options.bounds.states));
  });
}

}  // namespace
}  // namespace sisyfs::differential_test
