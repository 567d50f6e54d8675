#include <gtest/gtest.h>

#include <map>
#include <set>

#include "explore/run.h"
#include "explore/toy_systems.h"

namespace sisyfs {
namespace {

using toy::Coarse;

// The same engine, written down as plainly as possible: the reference.
struct Plain {
  std::set<uint32_t> groups{0};
  std::vector<uint32_t> layer{1};
  uint64_t states = 1, transitions = 0;
  std::map<uint32_t, uint32_t> least_depth;

  void run(const Coarse& system, uint32_t depth) {
    for (uint32_t d = 1; d <= depth && !layer.empty(); ++d) {
      std::vector<uint32_t> later;
      for (uint32_t s : layer) {
        for (uint32_t c = 0; c < Coarse::kChoices; ++c) {
          const uint32_t to = system.after(s, c);
          ++transitions;
          const uint32_t found = system.outcome_of(to).findings;
          if (found != 0) least_depth.try_emplace(static_cast<uint32_t>(__builtin_ctz(found)), d);
          if (groups.insert(to / 4).second) later.push_back(to);
        }
      }
      states += later.size();
      layer = later;
    }
  }
};

SearchOptions with(unsigned threads, uint32_t depth = SearchBounds::kNoDepth) {
  SearchOptions o;
  o.threads = threads;
  o.bounds.depth = depth;
  return o;
}

TEST(GenerationsTest, KeepsTheFirstOfStatesThatAreTakenForOneAsThePlainSearchDoes) {
  for (uint32_t depth : {0u, 1u, 3u, 6u, 9u, SearchBounds::kNoDepth}) {
    Plain plain;
    plain.run(Coarse{}, depth);
    const SearchResult r = run_search(Coarse{}, with(1, depth), {});
    EXPECT_EQ(r.states, plain.states) << "depth " << depth;
    EXPECT_EQ(r.transitions, plain.transitions);
    EXPECT_EQ(r.unexpanded, plain.layer.size());
    EXPECT_EQ(r.exhausted, plain.layer.empty());
    for (const auto& [kind, least] : plain.least_depth) EXPECT_EQ(r.least_depth[kind], least);
    EXPECT_EQ(static_cast<size_t>(__builtin_popcount(r.findings)), plain.least_depth.size());
  }
}

TEST(GenerationsTest, ThreadsChangeNothingEvenWhereStatesAreTakenForOneThatDiffer) {
  for (uint32_t size : {100003u, 3000017u}) {
    const Coarse system{.size = size};
    const SearchResult one = run_search(system, with(1, size > 1000000 ? 8 : 12), {});
    EXPECT_GT(one.states, 10000u);
    for (unsigned threads : {2u, 3u, 8u})
      for (int again = 0; again < 2; ++again)
        toy::expect_same(one, run_search(system, with(threads, size > 1000000 ? 8 : 12), {}));
  }
}

TEST(GenerationsTest, EachFindingHasAShortestTraceThatLeadsToIt) {
  const SearchResult r = run_search(Coarse{}, with(2), {});
  ASSERT_NE(r.findings, 0u);
  uint32_t kinds = 0;
  for (const FoundTrace& found : r.traces) {
    kinds |= uint32_t{1} << found.kind;
    EXPECT_EQ(found.trace.size(), r.least_depth[found.kind]);
    EXPECT_EQ(toy::outcome_of_trace(Coarse{}, found.trace).findings, uint32_t{1} << found.kind);
  }
  EXPECT_EQ(kinds, r.findings);
  auto by_second_search = find_traces(Coarse{}, SearchOptions{}, r.findings);
  for (const FoundTrace& found : by_second_search)
    EXPECT_NE(std::find(r.traces.begin(), r.traces.end(), found), r.traces.end());
}

// Equal to what breadth-first search gives where states are only taken for one if they are.
struct Fine : Coarse {
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
};
struct FineUnfollowed {
  Fine fine;
  using State = Fine::State;
  void initial(State& s) const { fine.initial(s); }
  Digest fingerprint(const State& s) const { return fine.fingerprint(s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    fine.expand(s, sink);
  }
};

TEST(GenerationsTest, AgreesWithTheSearchThatKeepsStates) {
  static_assert(FollowableSystem<Fine> && !FollowableSystem<FineUnfollowed>);
  for (uint32_t depth : {5u, SearchBounds::kNoDepth}) {
    SearchResult kept = run_search(FineUnfollowed{}, with(2, depth), {});
    const SearchResult r = run_search(Fine{}, with(2, depth), {});
    EXPECT_TRUE(kept.traces.empty());
    kept.traces = r.traces;
    toy::expect_same(kept, r);
  }
}

TEST(GenerationsTest, WithoutDedupEveryPathIsKept) {
  for (unsigned threads : {1u, 3u}) {
    SearchOptions o = with(threads, 6);
    o.dedup = Dedup::kNone;
    const SearchResult r = run_search(Coarse{}, o, {});
    EXPECT_EQ(r.transitions, 6u + 36 + 216 + 1296 + 7776 + 46656);
    EXPECT_EQ(r.states, r.transitions + 1);
    EXPECT_EQ(r.unexpanded, 46656u);
    EXPECT_EQ(r.merge_probability, 0);
  }
}

TEST(GenerationsTest, StopsAtAFindingAfterItsLayer) {
  SearchOptions o = with(2);
  o.stop = StopRule::kFirst;
  const SearchResult r = run_search(Coarse{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kFinding);
  ASSERT_FALSE(r.traces.empty());
  EXPECT_EQ(r.depth, r.traces[0].trace.size());
  o.threads = 1;
  toy::expect_same(r, run_search(Coarse{}, o, {}));
}

TEST(GenerationsTest, BoundsOnStatesTimeMemoryAndInterruptGiveUnknown) {
  const Coarse big{.size = 1000000007};
  SearchOptions o = with(2);
  o.watched = 0;
  o.bounds.states = 1000;
  SearchResult r = run_search(big, o, {});
  EXPECT_EQ(r.stopped, Stop::kStates);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_GE(r.states, 1000u);
  o.bounds.states = SearchBounds{}.states;
  o.bounds.time = std::chrono::milliseconds(5);
  r = run_search(big, o, {});
  EXPECT_EQ(r.stopped, Stop::kTime);
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  o.bounds.time = SearchBounds{}.time;
  const std::atomic<bool> interrupt{true};
  o.interrupt = &interrupt;
  r = run_search(big, o, {});
  EXPECT_EQ(r.stopped, Stop::kInterrupted);
  o.interrupt = nullptr;
  for (Dedup dedup : {Dedup::kExact, Dedup::kNone}) {
    o.dedup = dedup;
    o.bounds.memory_bytes = size_t{24} << 20;
    r = run_search(big, o, {});
    EXPECT_EQ(r.stopped, Stop::kMemory);
    EXPECT_EQ(r.verdict, Verdict::kUnknown);
    EXPECT_GT(r.states, 200000u) << "most of the memory was used before giving up";
    EXPECT_LE(r.memory_bytes, o.bounds.memory_bytes);
  }
}

// A system that forgets a choice, or comes to another state, when it is asked again.
struct Fickle : Coarse {
  bool forgets = false;
  bool follow(const State& from, Choice choice, State& to) const {
    const bool there = Coarse::follow(from, choice, to);
    if (from != after(1, 2)) return there;
    to += 50000;
    return there && !forgets;
  }
};

TEST(GenerationsTest, NoticesASystemThatIsNotDeterministic) {
  for (bool forgets : {false, true}) {
    Fickle fickle;
    fickle.forgets = forgets;
    const SearchResult r = run_search(fickle, with(2), {});
    EXPECT_EQ(r.stopped, Stop::kBroken);
    EXPECT_NE(r.verdict, Verdict::kPass);
    ASSERT_EQ(r.broken.size(), 2u);
    EXPECT_EQ(r.broken[0], Choice{2});
  }
}

}  // namespace
}  // namespace sisyfs
