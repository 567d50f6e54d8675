#include "cli/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sisyfs::cli::run_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A stub check with a finding, whose search for the trace ends as the test says.
class Forgetful : public Check {
 public:
  explicit Forgetful(FoundTraces answer, std::vector<FindingKind> shows = {FindingKind::kLostBlock})
      : answer_(std::move(answer)), shows_(std::move(shows)) {}
  Status accepts(const SearchOptions&) const override { return {}; }
  SearchResult search(const SearchOptions&, const ProgressFn&) const override { return {}; }
  const KindTable& kinds() const override { return kinds_; }
  using Check::find_traces;
  FoundTraces find_traces(const SearchOptions&, FindingBits, const ProgressFn&) const override {
    return answer_;
  }
  Result<std::vector<Step>> steps(const Trace& trace) const override {
    std::vector<Step> steps(trace.size());
    for (size_t i = 0; i < trace.size(); ++i) steps[i].op = std::to_string(static_cast<uint64_t>(trace[i]));
    return steps;
  }
  Replayed replay(std::span<const Step>) const override {
    Replayed replayed;
    replayed.story.findings = shows_;
    return replayed;
  }
  std::span<const MarkInfo> marks() const override { return {}; }

 private:
  FoundTraces answer_;
  std::vector<FindingKind> shows_;
  KindTable kinds_{{FindingKind::kLostBlock, FindingKind::kDoublePointer}};
};
constexpr FindingBits kLost = 1, kDouble = 2;  // in its table

Result<TracedFindings> traced(FoundTraces answer, Dedup dedup = Dedup::kExact) {
  SearchOptions options;
  options.dedup = dedup;
  SearchResult result;
  result.findings = kLost | kDouble;
  const NamedCheck named{{}, std::make_unique<Forgetful>(std::move(answer))};
  return trace_findings(named, options, result);
}

std::vector<FoundTrace> of_the_lost_block() { return {{0, {Choice{1}}}}; }

TEST(TraceFindingsTest, AFindingWithoutATraceIsNamedWithTheReason) {
  for (const auto& [stopped, reason] :
       {std::pair(Stop::kMemory, "increase --memory"), std::pair(Stop::kInterrupted, "was interrupted")}) {
    const Result<TracedFindings> e = traced({of_the_lost_block(), stopped, {}});
    ASSERT_TRUE(e);
    EXPECT_EQ(e->findings.size(), 1u);
    EXPECT_THAT(e->untraced, ElementsAre("double-pointer"));
    EXPECT_THAT(e->why, HasSubstr(std::string("double-pointer: ")));
    EXPECT_THAT(e->why, HasSubstr(reason));
  }
}

// Regression: this was reported as a lack of memory, with the advice to increase --memory.
TEST(TraceFindingsTest, WhatASecondSearchDoesNotFindIsNotDeterministic) {
  const Result<TracedFindings> e = traced({of_the_lost_block(), Stop::kNo, {}});
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().kind, ErrorKind::kSystem);
  EXPECT_THAT(e.error().message, HasSubstr("double-pointer was found, but not in a second search"));
}

TEST(TraceFindingsTest, BesideOneShapeThereMayBeAnother) {
  const Result<TracedFindings> e = traced({of_the_lost_block(), Stop::kNo, {}}, Dedup::kShape);
  ASSERT_TRUE(e);
  EXPECT_THAT(e->why, HasSubstr("shape"));
}

TEST(TraceFindingsTest, TroubleOfTheSecondSearchIsTold) {
  const Result<TracedFindings> e = traced({{}, Stop::kHarness, system_error("the disk is on fire")});
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().message, "the disk is on fire");
}

TEST(TraceFindingsTest, WhereEachKindHasATraceNothingIsMissing) {
  FoundTraces both{of_the_lost_block(), Stop::kNo, {}};
  SearchResult result;
  result.findings = kLost;
  const Result<TracedFindings> e = trace_findings({{}, std::make_unique<Forgetful>(both)}, {}, result);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->findings.size(), 1u);
  EXPECT_THAT(e->untraced, IsEmpty());
  EXPECT_EQ(e->why, "");
}

// Story: a power cut that broke the check and the use of a system was told twice, by two traces of one
// length.
TEST(TraceFindingsTest, FindingsThatOneStoryShowsHaveItsSteps) {
  const auto told = [](const Trace& first, const Trace& second) {
    SearchResult result;
    result.findings = kLost | kDouble;
    const NamedCheck named{
        {},
        std::make_unique<Forgetful>(FoundTraces{{{0, first}, {1, second}}, Stop::kNo, {}},
                                    std::vector{FindingKind::kLostBlock, FindingKind::kDoublePointer})};
    return trace_findings(named, {}, result)->findings;
  };
  const std::vector<ToldFinding> one = told({Choice{1}}, {Choice{2}});
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one[1].finding.kind, FindingKind::kDoublePointer);
  EXPECT_EQ(one[1].finding.steps, one[0].finding.steps);
  const std::vector<ToldFinding> shorter = told({Choice{1}, Choice{1}}, {Choice{2}});
  ASSERT_EQ(shorter.size(), 2u);
  EXPECT_EQ(shorter[1].finding.steps.size(), 1u) << "the shortest way to each kind";
}

}  // namespace
}  // namespace sisyfs::cli::run_test
