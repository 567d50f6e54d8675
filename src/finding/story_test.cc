#include "finding/story.h"

#include <gtest/gtest.h>

namespace sisyfs::story_test {
namespace {

StoryStep step(StoryStep::Kind kind) {
  StoryStep step;
  step.kind = kind;
  return step;
}

TEST(StoryTest, ShowsWhatItsLastStepFound) {
  Story story;
  EXPECT_FALSE(story.shows(FindingKind::kWrongErrno));
  story.findings = {FindingKind::kNotAllowed, FindingKind::kWrongErrno};
  EXPECT_TRUE(story.shows(FindingKind::kWrongErrno));
  EXPECT_FALSE(story.shows(FindingKind::kNotClean));
}

TEST(StoryTest, CountsOpsThatBeganAndPowerCuts) {
  using Kind = StoryStep::Kind;
  Story story;
  EXPECT_EQ(story.ops() + story.crashes(), 0u);
  for (const Kind kind : {Kind::kBegin, Kind::kWrite, Kind::kFinish, Kind::kOp, Kind::kVerify, Kind::kCrash})
    story.steps.push_back(step(kind));
  EXPECT_EQ(story.ops(), 3u) << "begin, op and verify";
  EXPECT_EQ(story.crashes(), 1u);
}

}  // namespace
}  // namespace sisyfs::story_test
