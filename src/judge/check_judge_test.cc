#include "judge/check_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/judge_for_test.h"

namespace sisyfs::check_judge_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct CheckJudgeTest : testing::Test {
  std::vector<FindingKind> find(const Recovery& recovery, const Comeback& back = {}) {
    return kinds_in(opinion_on(judge, recovery, back));
  }
  // A recovery against which something speaks.
  static Recovery unsound() {
    Recovery recovery = sound_recovery();
    recovery.sound = false;
    return recovery;
  }
  const DiskSetup setup = toy_setup({.has_check = true});
  const CheckRules rules = check_rules(setup);
  CheckJudge judge{setup, rules};
};

// The toy has one problem with code and name of the catalogue, and two without.
TEST_F(CheckJudgeTest, ProblemsAreNamedByCodeAndName) {
  EXPECT_EQ(rules.named, 0b001u);
  EXPECT_EQ(rules.critical, 0b011u);
  EXPECT_FALSE(rules.report_repaired);
  static constexpr ProblemKind kOther[] = {{"M2", "another-name", Severity::kCritical, ""}};
  DiskSetup other = setup;
  other.kind.words.problems = kOther;
  EXPECT_EQ(check_rules(other).named, 0u) << "the code alone is not enough";
}

TEST_F(CheckJudgeTest, ASoundRecoveryIsFine) { EXPECT_THAT(find(sound_recovery()), IsEmpty()); }

TEST_F(CheckJudgeTest, EachFactIsAFinding) {
  const struct {
    bool Recovery::*fact;
    FindingKind kind;
  } kCases[] = {{&Recovery::mount_failed, FindingKind::kNotMountable},
                {&Recovery::walk_failed, FindingKind::kNotWalkable},
                {&Recovery::unusable, FindingKind::kNotUsable},
                {&Recovery::two_outcomes, FindingKind::kTwoOutcomes}};
  for (const auto& c : kCases) {
    Recovery recovery = unsound();
    recovery.*c.fact = true;
    EXPECT_THAT(find(recovery), ElementsAre(c.kind));
  }
}

TEST_F(CheckJudgeTest, NamedProblemsAreFindingsAndOthersAreUnclean) {
  Recovery recovery = unsound();
  recovery.check.repaired = 0b001;
  EXPECT_THAT(find(recovery), ElementsAre(FindingKind::kLostBlock));
  EXPECT_THAT(find(recovery, {.recoveries = {}, .damaged = true}), IsEmpty())
      << "the damage was there before";
  recovery.check = {.left = 0b010};
  EXPECT_THAT(find(recovery), ElementsAre(FindingKind::kNotClean));
  recovery.check = {.repaired = 0b110};
  EXPECT_THAT(find(recovery), IsEmpty());
  recovery.check = {.failed = true};
  EXPECT_THAT(find(recovery), ElementsAre(FindingKind::kNotClean));
}

TEST_F(CheckJudgeTest, APowerCutInRecoveryMustNotChangeWhatComesBack) {
  const Tree a = ToyTarget::tree_of(ToyTarget::kA), b = ToyTarget::tree_of(ToyTarget::kB);
  EXPECT_THAT(find(sound_recovery(a), {.recoveries = {}, .uninterrupted = &a}), IsEmpty());
  EXPECT_THAT(find(sound_recovery(a), {.recoveries = {}, .uninterrupted = &b}),
              ElementsAre(FindingKind::kNotRepeatable));
  EXPECT_THAT(find(sound_recovery(a)), IsEmpty());
}

TEST_F(CheckJudgeTest, DeclaresWhatTheSetupMakesPossible) {
  EXPECT_THAT(judge.may_find(),
              UnorderedElementsAre(FindingKind::kNotMountable, FindingKind::kNotWalkable,
                                   FindingKind::kNotClean, FindingKind::kNotUsable, FindingKind::kLostBlock));
  DiskSetup more = setup;
  more.cuts.nesting = 1;
  more.recovery.both_ways = true;
  EXPECT_THAT(CheckJudge(more, rules).may_find(), testing::Contains(FindingKind::kNotRepeatable));
  EXPECT_THAT(CheckJudge(more, rules).may_find(), testing::Not(testing::Contains(FindingKind::kTwoOutcomes)))
      << "the mount does not recover alone";
  more.kind.claims.mount_recovers = true;
  EXPECT_THAT(CheckJudge(more, rules).may_find(), testing::Contains(FindingKind::kTwoOutcomes));
  more.cuts.enabled = false;
  EXPECT_THAT(CheckJudge(more, rules).may_find(), IsEmpty());
  more.start.damage = [](Disk&) {};
  EXPECT_THAT(CheckJudge(more, rules).may_find(), testing::Not(IsEmpty())) << "the repair is judged";
}

}  // namespace
}  // namespace sisyfs::check_judge_test
