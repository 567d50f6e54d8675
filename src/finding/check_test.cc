#include "finding/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sisyfs::check_test {
namespace {

using testing::HasSubstr;

// Counts up by one or two. 3 is a finding.
struct Counter {
  using State = uint64_t;
  void initial(State& s) const { s = 0; }
  Digest fingerprint(const State& s) const { return digest_of(&s, sizeof s); }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint64_t add = 1; s + add <= 4 && add <= 2; ++add) {
      sink.next() = s + add;
      sink.commit(Choice{add}, {.findings = s + add == 3 ? 1u : 0u});
    }
  }
};

struct CounterTeller {
  explicit CounterTeller(const Counter&) {}
  Step describe(uint64_t, Choice choice) const {
    Step step;
    step.op = "add " + std::to_string(static_cast<uint64_t>(choice));
    return step;
  }
  void step(uint64_t from, Choice choice, uint64_t) {
    story.steps.emplace_back();
    story.steps.back().op = describe(from, choice).op;
  }
  Story take() { return std::move(story); }
  Story story;
};

class SystemCheckTest : public testing::Test {
 protected:
  static Step add(uint32_t id, const char* op) {
    Step step;
    step.id = id;
    step.op = op;
    return step;
  }
  const SystemCheck<Counter, CounterTeller> check{Counter(), {}, KindTable({FindingKind::kWrongEffect})};
};

TEST_F(SystemCheckTest, ATraceIsNamedAndReplayed) {
  const SearchResult result = check.search({}, {});
  EXPECT_EQ(result.findings, 1u);
  const auto traces = check.find_traces({}, result).traces;
  ASSERT_EQ(traces.size(), 1u);
  const Result<std::vector<Step>> steps = check.steps(traces[0].trace);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 2u) << "the shortest";
  const Replayed replayed = check.replay(*steps);
  EXPECT_EQ(replayed.cannot_happen, "");
  EXPECT_TRUE(replayed.story.shows(FindingKind::kWrongEffect));
  EXPECT_EQ(check.tell(traces[0].trace)->steps.size(), 2u);
}

TEST_F(SystemCheckTest, AStepLessShowsSomethingElse) {
  const Replayed replayed = check.replay(std::vector<Step>{add(2, "add 2")});
  EXPECT_EQ(replayed.cannot_happen, "");
  EXPECT_FALSE(replayed.story.shows(FindingKind::kWrongEffect));
}

TEST_F(SystemCheckTest, AnImpossibleStepEndsTheReplay) {
  const Replayed replayed = check.replay(std::vector<Step>{add(1, "add 1"), add(5, "add 7")});
  EXPECT_EQ(replayed.cannot_happen, "step 5 (add 7) is not possible there");
  EXPECT_EQ(replayed.story.steps.size(), 1u) << "the step before it was executed";
}

TEST_F(SystemCheckTest, AChoiceThatIsNotThereIsBadInput) {
  const Trace trace = {Choice{1}, Choice{9}};
  EXPECT_THAT(check.steps(trace).error().message, HasSubstr("step 2 of the trace asks for choice 9"));
  EXPECT_FALSE(check.tell(trace));
}

TEST(AcceptsTest, WhatASystemDoesNotOfferIsRefused) {
  const auto refuses = [](const SearchOptions& options, const detail::Offers& lacks,
                          const detail::Offers& offers) {
    return !detail::accepts(options, lacks) && detail::accepts(options, offers);
  };
  EXPECT_TRUE(detail::accepts({}, {}));
  SearchOptions shape, recovery, coverage, saved;
  shape.dedup = Dedup::kShape;
  recovery.order = SearchOrder::kMostRecovery;
  coverage.order = SearchOrder::kCoverage;
  saved.checkpoint.emplace();
  EXPECT_TRUE(refuses(shape, {}, {.shape = true}));
  shape.dedup = Dedup::kTree;
  EXPECT_TRUE(refuses(shape, {}, {.shape = true}));
  EXPECT_TRUE(refuses(recovery, {}, {.recovery = true}));
  EXPECT_TRUE(refuses(coverage, {}, {.edges = true}));
  EXPECT_TRUE(refuses(saved, {}, {.generations = true}));
  SearchOptions walk;
  walk.order = SearchOrder::kWalk;
  EXPECT_TRUE(detail::accepts(walk, {}));
  walk.dedup = Dedup::kBitstate;
  EXPECT_FALSE(detail::accepts(walk, {}));
}

}  // namespace
}  // namespace sisyfs::check_test
