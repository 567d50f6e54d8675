#include "cli/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sisyfs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A check that found something, and whose second search ends as it is told.
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

Result<Explanation> explained(FoundTraces answer, Dedup dedup = Dedup::kExact) {
  SearchOptions options;
  options.dedup = dedup;
  SearchResult result;
  result.findings = bit(FindingKind::kLostBlock) | bit(FindingKind::kDoublePointer);
  const NamedCheck named{{}, std::make_unique<Forgetful>(std::move(answer))};
  return explain(named, options, result);
}

std::vector<FoundTrace> of_the_lost_block() {
  return {{static_cast<uint32_t>(FindingKind::kLostBlock), {Choice{1}}}};
}

TEST(ExplanationTest, AFindingWithoutATraceIsNamedWithTheReason) {
  for (const auto& [stopped, reason] :
       {std::pair(Stop::kMemory, "give --memory more"), std::pair(Stop::kInterrupted, "was interrupted")}) {
    const Result<Explanation> e = explained({of_the_lost_block(), stopped, {}});
    ASSERT_TRUE(e);
    EXPECT_EQ(e->findings.size(), 1u);
    EXPECT_THAT(e->untraced, ElementsAre("double-pointer"));
    EXPECT_THAT(e->why, HasSubstr(std::string("double-pointer: ")));
    EXPECT_THAT(e->why, HasSubstr(reason));
  }
}

// It was called a lack of memory, with the advice to give more.
TEST(ExplanationTest, WhatASecondSearchDoesNotFindIsNotDeterministic) {
  const Result<Explanation> e = explained({of_the_lost_block(), Stop::kNo, {}});
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().kind, ErrorKind::kSystem);
  EXPECT_THAT(e.error().message, HasSubstr("double-pointer was found, and not again"));
}

TEST(ExplanationTest, BesideOneShapeThereMayBeAnother) {
  const Result<Explanation> e = explained({of_the_lost_block(), Stop::kNo, {}}, Dedup::kShape);
  ASSERT_TRUE(e);
  EXPECT_THAT(e->why, HasSubstr("shape"));
}

TEST(ExplanationTest, TroubleOfTheSecondSearchIsTold) {
  const Result<Explanation> e = explained({{}, Stop::kHarness, system_error("the disk is on fire")});
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().message, "the disk is on fire");
}

TEST(ExplanationTest, WhereEachKindHasATraceNothingIsMissing) {
  FoundTraces both{of_the_lost_block(), Stop::kNo, {}};
  SearchResult result;
  result.findings = bit(FindingKind::kLostBlock);
  const Result<Explanation> e = explain({{}, std::make_unique<Forgetful>(both)}, {}, result);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->findings.size(), 1u);
  EXPECT_THAT(e->untraced, IsEmpty());
  EXPECT_EQ(e->why, "");
}

}  // namespace
}  // namespace sisyfs::cli
