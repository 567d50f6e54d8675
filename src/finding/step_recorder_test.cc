#include "finding/step_recorder.h"

#include <gtest/gtest.h>

#include "finding/disk_check.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::step_recorder_test {
namespace {

bool has_name(EventKind kind, bool tied = false) {
  Event event;
  event.kind = kind;
  event.tied_to_previous = tied;
  return is_named(event);
}

TEST(StepRecorderTest, WritesDiscardsAndFlushesHaveNumbers) {
  for (const EventKind kind : {EventKind::kWrite, EventKind::kDiscard, EventKind::kFlush})
    EXPECT_TRUE(has_name(kind));
  EXPECT_FALSE(has_name(EventKind::kBoundary));
  EXPECT_FALSE(has_name(EventKind::kStray));
  EXPECT_FALSE(has_name(EventKind::kWrite, true)) << "it is one write with the event before it";
}

TEST(StepRecorderTest, PartsAreStagesWhereAWriteHasStages) {
  EXPECT_FALSE(EventParts::are_stages({}));
  EXPECT_TRUE(EventParts::are_stages({.flash = true}));
  EXPECT_TRUE(EventParts::are_stages({.scattered = true}));
}

// The steps of the shortest trace to a finding.
std::vector<Step> steps_to(FindingKind kind, const DiskSetup& setup) {
  const auto check = make_disk_check(setup);
  EXPECT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit_or_none(kind)).traces;
  if (found.empty()) return {};
  return *(*check)->steps(found[0].trace);
}

TEST(StepRecorderTest, AStepIsAnOpByName) {
  const std::vector<Step> steps = steps_to(FindingKind::kWrongErrno, toy_setup({.wrong_errno = true}));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], (Step{.id = 1, .op = "create /a", .failure = {}, .cuts = {}}));
  EXPECT_EQ(steps[1].id, 2u);
  EXPECT_EQ(steps[1].op, "unlink /a");
}

// /a is in the cache when /b is written. The power cut loses /a alone.
TEST(StepRecorderTest, ALostEventIsNamedByStepNumberAndBlock) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = toy_setup({.no_flush = true});
    setup.bounds.ops = OpSet(OpKind::kCreate);
    setup.cuts.lazy = lazy;
    const std::vector<Step> steps = steps_to(FindingKind::kNotAllowed, setup);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_TRUE(steps[0].cuts.empty());
    ASSERT_EQ(steps[1].cuts.size(), 1u);
    const PowerCut& cut = steps[1].cuts[0];
    EXPECT_EQ(cut.after, 1u);
    EXPECT_EQ(cut.promises, 0u);
    const uint64_t block = steps[0].op == "create /a" ? 1 : 2;
    ASSERT_EQ(cut.lost.size(), 1u) << lazy;
    EXPECT_EQ(cut.lost[0].event, (EventName{.step = 1, .cut = 0, .nth = 1, .disk = 0, .address = block}));
    EXPECT_TRUE(cut.lost[0].parts.empty()) << "all of it";
  }
}

TEST(StepRecorderTest, AFailureIsNamed) {
  DiskSetup setup = toy_setup({.hides_error = true});
  setup.failures.most = 1;
  const std::vector<Step> steps = steps_to(FindingKind::kHiddenError, setup);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].failure, (InjectedFailure{InjectedFailure::Kind::kDiskAccess, 1}));
}

TEST(StepRecorderTest, APowerCutInRecoveryIsTheSecondOfItsStep) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = toy_setup({.early_clear = true});
    setup.cuts.nesting = 1;
    setup.cuts.lazy = lazy;
    const std::vector<Step> steps = steps_to(FindingKind::kNotRepeatable, setup);
    ASSERT_FALSE(steps.empty());
    ASSERT_EQ(steps.back().cuts.size(), 2u) << lazy;
    for (const LostEvent& lost : steps.back().cuts[1].lost)
      EXPECT_EQ(lost.event.cut, 1u) << "an event of the first recovery";
  }
}

}  // namespace
}  // namespace sisyfs::step_recorder_test
