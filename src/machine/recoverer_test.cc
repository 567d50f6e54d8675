#include "machine/recoverer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crash/crash_points.h"
#include "machine/marks.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::recoverer_test {
namespace {

// A disk on which these blocks were written and nothing else, as a crash state.
struct Crashed : ToyRig {
  explicit Crashed(DiskSetup s, std::vector<std::pair<uint64_t, uint8_t>> blocks)
      : ToyRig(std::move(s)), target(setup.kind.make()), recoverer(setup, bounds, rules, *target, blank) {
    Media media(blank);
    EXPECT_EQ(target->format(media), 0);
    for (const auto& [block, value] : blocks) {
      const std::byte bytes[ToyTarget::kBlockSize] = {static_cast<std::byte>(value)};
      EXPECT_EQ(media.write(BlockAddress(block), bytes), IoStatus::kOk);
    }
    disk = media.state().current;
    epoch = std::make_unique<Epoch>(setup.cuts.device, disk);
    state = std::make_unique<CrashState>(*epoch);
  }
  const Recovery& recover() { return recoverer.recover(*state); }

  std::unique_ptr<Target> target;
  Recoverer recoverer;
  Image disk{blank};
  std::unique_ptr<Epoch> epoch;
  std::unique_ptr<CrashState> state;
};

DiskSetup setup_of(const ToyMistakes& mistakes) { return toy_setup(mistakes); }

TEST(RecovererTest, ARightSystemComesBackSound) {
  Crashed crashed(setup_of({}), {{1, 1}});
  const Recovery& recovery = crashed.recover();
  EXPECT_TRUE(recovery.alive && recovery.sound);
  EXPECT_EQ(recovery.tree, ToyTarget::tree_of(ToyTarget::kA));
  EXPECT_EQ(recovery.work, 0u);
  EXPECT_EQ(recovery.reads, 4u) << "all blocks but the hint";
  EXPECT_EQ(recovery.marks, 0u);
}

TEST(RecovererTest, WhatMountWroteIsTold) {
  Crashed crashed(setup_of({}), {{1, 1}, {3, 4 | ToyTarget::kB}});
  const Recovery& recovery = crashed.recover();
  EXPECT_TRUE(recovery.sound);
  EXPECT_EQ(recovery.tree, ToyTarget::tree_of(ToyTarget::kB));
  EXPECT_EQ(recovery.work, 3u) << "both files and the rename";
  EXPECT_EQ(recovery.marks, kOfTarget);
  EXPECT_FALSE(recovery.log.empty());
}

TEST(RecovererTest, EachWayToFailIsTold) {
  const auto with_b_alone = [](const ToyMistakes& mistakes) {
    Crashed crashed(setup_of(mistakes), {{2, 1}});
    return Recovery(crashed.recover());
  };
  const Recovery unmountable = with_b_alone({.no_mount = true});
  EXPECT_TRUE(unmountable.mount_failed && !unmountable.alive && !unmountable.sound);
  const Recovery unwalkable = with_b_alone({.bad_walk = true});
  EXPECT_TRUE(unwalkable.walk_failed && !unwalkable.alive && !unwalkable.sound);
  const Recovery unusable = with_b_alone({.no_unmount = true});
  EXPECT_TRUE(unusable.unusable && unusable.alive && !unusable.sound);
  const Recovery dead = with_b_alone({.mount_dies = true});
  EXPECT_EQ(dead.faults, kDied);
  EXPECT_FALSE(dead.alive || dead.mount_failed) << "the call has no answer";
}

TEST(RecovererTest, TheTrialOfUseCanBeSwitchedOff) {
  DiskSetup setup = setup_of({.no_unmount = true});
  setup.recovery.usability = false;
  Crashed crashed(setup, {{2, 1}});
  EXPECT_TRUE(crashed.recover().sound);
}

TEST(RecovererTest, TheCheckRepairsAndChecksAgain) {
  Crashed repairs(setup_of({.has_check = true, .problem = ToyProblem::kHarmless}), {{4, 1}});
  Recovery recovery = repairs.recover();
  EXPECT_EQ(recovery.check.repaired, 4u);
  EXPECT_EQ(recovery.check.left, 0u);
  EXPECT_EQ(recovery.marks, kFsckRepaired);
  EXPECT_TRUE(recovery.sound);
  Crashed does_not(setup_of({.has_check = true, .problem = ToyProblem::kHarmless, .repairs = false}),
                   {{4, 1}});
  recovery = does_not.recover();
  EXPECT_EQ(recovery.check.found, 4u);
  EXPECT_EQ(recovery.check.left, 4u);
  EXPECT_TRUE(recovery.alive && !recovery.sound);
}

TEST(RecovererTest, NotesSayWhatWasSeen) {
  Crashed unmountable(setup_of({.no_mount = true}), {{2, 1}});
  EXPECT_EQ(unmountable.recoverer.notes(*unmountable.state).mount_error, EIO);
  Crashed unusable(setup_of({.no_unmount = true}), {{2, 1}});
  EXPECT_THAT(unusable.recoverer.notes(*unusable.state).trial.why, testing::HasSubstr("EBUSY"));
  Crashed repairs(setup_of({.has_check = true}), {{4, 1}});
  EXPECT_EQ(repairs.recoverer.notes(*repairs.state).repair.problems.size(), 1u);
  Crashed right(setup_of({}), {{2, 1}});
  const RecoveryNotes notes = right.recoverer.notes(*right.state);
  EXPECT_EQ(notes.trial.why, "");
  EXPECT_EQ(notes.walk.tree, ToyTarget::tree_of(ToyTarget::kB));
}

TEST(RecovererTest, DamageFromBeforeIsForgivenOnceRepaired) {
  Crashed crashed(setup_of({.has_check = true}), {{4, 1}});
  EXPECT_FALSE(crashed.recover().sound) << "no power cut may leave it";
  EXPECT_TRUE(crashed.recoverer.repair(crashed.disk).sound);
}

TEST(RecovererTest, TheMountAloneIsComparedOnDemand) {
  const auto recover = [](bool drops, bool both_ways) {
    DiskSetup setup =
        setup_of({.has_check = true, .problem = ToyProblem::kHarmless, .repair_drops_b = drops});
    setup.recovery.both_ways = both_ways;
    setup.kind.claims.mount_recovers = true;
    Crashed crashed(setup, {{1, 1}, {2, 1}, {4, 1}});
    const Recovery& recovery = crashed.recover();
    EXPECT_EQ(recovery.sound, !recovery.two_outcomes);
    return recovery.two_outcomes;
  };
  EXPECT_FALSE(recover(false, true));
  EXPECT_TRUE(recover(true, true));
  EXPECT_FALSE(recover(true, false));
}

TEST(RecovererTest, TwoModesOfTheRepairAreComparedOnDemand) {
  const auto recover = [](ToyMistakes mistakes, bool both_modes, bool has_preen = true) {
    mistakes.has_check = true;
    mistakes.problem = ToyProblem::kHarmless;
    DiskSetup setup = setup_of(mistakes);
    setup.recovery.both_modes = both_modes;
    setup.kind.has_preen = has_preen;
    Crashed crashed(setup, {{1, 1}, {2, 1}, {4, 1}});
    const Recovery& recovery = crashed.recover();
    EXPECT_TRUE(recovery.alive);
    EXPECT_EQ(recovery.sound, !recovery.two_outcomes);
    const bool two_outcomes = recovery.two_outcomes;
    const RecoveryNotes notes = crashed.recoverer.notes(*crashed.state);
    EXPECT_EQ(notes.other_mode && notes.other_way.error == 0 &&
                  notes.other_way.tree == ToyTarget::tree_of(ToyTarget::kA),
              two_outcomes);
    return two_outcomes;
  };
  EXPECT_FALSE(recover({}, true)) << "the twin";
  EXPECT_TRUE(recover({.preen = ToyPreen::kDropsB}, true));
  EXPECT_FALSE(recover({.preen = ToyPreen::kDropsB}, false));
  EXPECT_FALSE(recover({.preen = ToyPreen::kDropsB}, true, false)) << "it has one mode";
  EXPECT_FALSE(recover({.preen = ToyPreen::kRefuses}, true))
      << "what it does not repair it need not bring back";
}

// Regression: a system that says that its mount recovers was repaired before each mount, so a mount that
// recovers nothing was not seen.
TEST(RecovererTest, AMountThatRecoversIsNotRepairedFirst) {
  const auto recover = [](const ToyMistakes& mistakes, bool hint) {
    DiskSetup setup = setup_of(mistakes);
    setup.recovery.mount_alone = setup.recovery.both_ways = true;
    setup.kind.claims.mount_recovers = true;
    Crashed crashed(setup, {{1, 1}, {2, 1}, {4, hint ? 1 : 0}});
    return Recovery(crashed.recover());
  };
  const Recovery right = recover({.has_check = true}, false);
  EXPECT_TRUE(right.sound);
  EXPECT_EQ(right.work, 0u);
  // The mount leaves the hint to the check, which finds something to do.
  const Recovery leaves = recover({.has_check = true, .problem = ToyProblem::kHarmless}, true);
  EXPECT_TRUE(leaves.alive && !leaves.sound);
  EXPECT_NE(leaves.check.left, 0u);
  EXPECT_EQ(leaves.check.repaired, 0u);
  EXPECT_EQ(leaves.work, 0u) << "nothing was repaired before the mount";
}

}  // namespace
}  // namespace sisyfs::recoverer_test
