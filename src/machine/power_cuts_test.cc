#include "machine/power_cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "machine/machine.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::power_cuts_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct Tried {
  std::set<std::string> trees[2];  // what came back, by level: "", "a", "b", "ab", or "dead"
  std::vector<size_t> promises;    // by crash point
  uint64_t outcomes = 0;
  bool cut_short = false;
  CutCounts counts;
};

std::string text_of(const Tree& tree) {
  std::string text;
  for (const Tree::Entry& entry : tree.children(kRootNode)) text += entry.name();
  return text;
}

// All power cuts in the last of these ops.
Tried cut_in(const DiskSetup& setup, const std::vector<Op>& ops, uint64_t most = UINT64_MAX) {
  const ToyRig rig(setup);
  Machine machine(rig.setup, rig.bounds, rig.rules, rig.blank);
  Tree tree;
  EXPECT_EQ(machine.start(&tree), 0);
  Snapshot memory = machine.memory();
  MediaState disk = machine.settler().settle(machine.disk());
  for (const Op& op : ops) {
    machine.begin(memory, disk);
    machine.ways().begin_op(false);
    EXPECT_TRUE(machine.perform(op));
    machine.end_op();
    if (&op == &ops.back()) break;
    memory = machine.memory();
    disk = machine.settler().settle(machine.disk());
  }
  Tried tried;
  machine.restart_cuts();
  PowerCuts& cuts = machine.cuts();
  while (const CrashPoint* point = cuts.next_point()) {
    tried.promises.push_back(point->promises);
    cuts.begin_point();
    while (tried.outcomes < most && cuts.next()) {
      ++tried.outcomes;
      EXPECT_EQ(cuts.promises(), point->promises);
      EXPECT_EQ(cuts.built() != nullptr, !setup.cuts.lazy && cuts.level() == 0);
      const Recovery& recovery = cuts.recovered();
      tried.trees[cuts.level()].insert(recovery.alive ? text_of(recovery.tree) : "dead");
      tried.cut_short |= cuts.cut_short();
    }
    if (tried.outcomes == most) cuts.leave_rest();
  }
  tried.counts = cuts.counts();
  return tried;
}

const Op kCreateA = Op::of(OpKind::kCreate, Path("/a")), kCreateB = Op::of(OpKind::kCreate, Path("/b"));
const Op kRename = Op::of(OpKind::kRename, Path("/a"), Path("/b"));
const Op kSync = Op::of(OpKind::kSync);

DiskSetup with_cuts(bool lazy, const ToyMistakes& mistakes = {}) {
  DiskSetup setup = toy_setup(mistakes);
  setup.cuts.lazy = lazy;
  return setup;
}

TEST(PowerCutsTest, AnOpIsThereOrNot) {
  for (const bool lazy : {false, true}) {
    EXPECT_THAT(cut_in(with_cuts(lazy), {kCreateA}).trees[0], UnorderedElementsAre("", "a")) << lazy;
    const Tried tried = cut_in(with_cuts(lazy), {kCreateA, kCreateB});
    // /b begins with a flush. Power cuts before that were tried in the op before.
    EXPECT_THAT(tried.trees[0], UnorderedElementsAre("a", "ab")) << lazy;
    EXPECT_THAT(tried.trees[1], testing::IsEmpty()) << lazy;
    const Tried unordered = cut_in(with_cuts(lazy, {.no_flush = true}), {kCreateA, kCreateB});
    EXPECT_THAT(unordered.trees[0], UnorderedElementsAre("", "a", "b", "ab")) << lazy;
  }
}

TEST(PowerCutsTest, APromiseIsCountedFromItsCrashPointOn) {
  for (const bool lazy : {false, true}) {
    EXPECT_THAT(cut_in(with_cuts(lazy), {kCreateA}).promises, testing::Each(0u));
    EXPECT_EQ(cut_in(with_cuts(lazy), {kCreateA, kSync}).promises.back(), 1u);
  }
}

TEST(PowerCutsTest, AllCrashStatesAreCounted) {
  const Tried eager = cut_in(with_cuts(false), {kCreateA, kRename});
  EXPECT_EQ(eager.counts.stood_for, StateCount(eager.outcomes));
  EXPECT_EQ(eager.counts.outcomes, eager.outcomes);
  EXPECT_EQ(eager.counts.left_out, StateCount(0));
  const Tried lazy = cut_in(with_cuts(true), {kCreateA, kRename});
  EXPECT_EQ(lazy.counts.stood_for, eager.counts.stood_for);
  EXPECT_LE(lazy.outcomes, eager.outcomes);
}

TEST(PowerCutsTest, ThePowerGoesInARecoveryThatWrites) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = with_cuts(lazy);
    setup.cuts.nesting = 1;
    EXPECT_THAT(cut_in(setup, {kCreateA, kSync, kRename}).trees[1], ElementsAre("b")) << lazy;
    EXPECT_THAT(cut_in(setup, {kCreateA}).trees[1], testing::IsEmpty()) << "that recovery writes nothing";
    setup = with_cuts(lazy, {.early_clear = true});
    setup.cuts.nesting = 1;
    EXPECT_THAT(cut_in(setup, {kCreateA, kSync, kRename}).trees[1], testing::Contains("a")) << lazy;
  }
}

TEST(PowerCutsTest, ABrokenRecoveryIsNotCutAgain) {
  DiskSetup setup = with_cuts(false, {.no_mount = true});
  setup.cuts.nesting = 1;
  const Tried tried = cut_in(setup, {kCreateA, kSync, kRename});
  EXPECT_THAT(tried.trees[0], testing::Contains("dead"));
  EXPECT_THAT(tried.trees[1], testing::IsEmpty());
}

TEST(PowerCutsTest, WithPersistedOneStateIsTriedAfterEachPromise) {
  DiskSetup setup = with_cuts(false);
  setup.cuts.persisted = true;
  const Tried nothing = cut_in(setup, {kCreateA});
  EXPECT_EQ(nothing.outcomes, 0u) << "create promises nothing";
  EXPECT_NE(nothing.counts.left_out, StateCount(0));
  const Tried synced = cut_in(setup, {kCreateA, kSync});
  EXPECT_EQ(synced.outcomes, 1u);
  EXPECT_THAT(synced.promises, ElementsAre(1u));
  EXPECT_THAT(synced.trees[0], ElementsAre("a"));
  // What should have been flushed was written, and is not lost: this mistake needs a lost write.
  setup = with_cuts(false, {.no_flush = true});
  setup.cuts.persisted = true;
  const Tried unflushed = cut_in(setup, {kCreateA, kSync});
  EXPECT_THAT(unflushed.trees[0], ElementsAre("a"));
  EXPECT_NE(unflushed.counts.left_out, StateCount(0));
}

TEST(PowerCutsTest, WhatABoundLeavesOutIsCounted) {
  const Tried all = cut_in(with_cuts(false, {.no_flush = true}), {kCreateA, kCreateB});
  EXPECT_FALSE(all.cut_short);
  DiskSetup setup = with_cuts(false, {.no_flush = true});
  setup.cuts.enumeration = {.max_states = 2, .edge = 1, .samples = 0};
  const Tried some = cut_in(setup, {kCreateA, kRename, kCreateA});
  EXPECT_TRUE(some.cut_short);
  EXPECT_NE(some.counts.left_out, StateCount(0));
}

TEST(PowerCutsTest, ARestThatIsLeftIsCounted) {
  for (const bool lazy : {false, true}) {
    const DiskSetup setup = with_cuts(lazy, {.no_flush = true});
    const Tried all = cut_in(setup, {kCreateA, kCreateB}), one = cut_in(setup, {kCreateA, kCreateB}, 1);
    EXPECT_EQ(one.outcomes, 1u);
    EXPECT_EQ(one.counts.stood_for + one.counts.left_out, all.counts.stood_for) << lazy;
  }
}

}  // namespace
}  // namespace sisyfs::power_cuts_test
