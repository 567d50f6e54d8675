#include "cli/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sisyfs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A stub check with a finding, whose search for the trace ends as the test says.
class Forgetful : public Check {
 public:
  explicit Forgetful(FoundTraces answer) : answer_(std::move(answer)) {}
  Status accepts(const SearchOptions&) const override { return {}; }
  SearchResult search(const SearchOptions&, const ProgressFn&) const override { return {}; }
  FoundTraces explain(const SearchOptions&, uint32_t, const ProgressFn&) const override { return answer_; }
  Result<Story> tell(const Trace&) const override {
    Story story;
    story.findings = bit(FindingKind::kLostBlock);
    return story;
  }
  std::span<const MarkInfo> marks() const override { return {}; }

 private:
  FoundTraces answer_;
};

Result<TracedFindings> traced(FoundTraces answer, Dedup dedup = Dedup::kExact) {
  SearchOptions options;
  options.dedup = dedup;
  SearchResult result;
  result.findings = bit(FindingKind::kLostBlock) | bit(FindingKind::kDoublePointer);
  const NamedCheck named{{}, std::make_unique<Forgetful>(std::move(answer))};
  return trace_findings(named, options, result);
}

std::vector<FoundTrace> of_the_lost_block() {
  return {{static_cast<uint32_t>(FindingKind::kLostBlock), {Choice{1}}}};
}

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
  result.findings = bit(FindingKind::kLostBlock);
  const Result<TracedFindings> e = trace_findings({{}, std::make_unique<Forgetful>(both)}, {}, result);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->findings.size(), 1u);
  EXPECT_THAT(e->untraced, IsEmpty());
  EXPECT_EQ(e->why, "");
}

}  // namespace
}  // namespace sisyfs::cli
