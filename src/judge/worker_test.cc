#include "judge/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "judge/judge_for_test.h"
#include "machine/marks.h"

namespace sisyfs::worker_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A successor of a state, as a worker gives it.
struct Successor {
  DiskMove move;
  Outcome outcome;
  DiskSystemState state;
};

struct Rig {
  explicit Rig(DiskSetup setup = toy_setup(), MakeJudges further = {})
      : plan(*CheckPlan::make(std::move(setup), std::move(further))), worker(plan) {
    EXPECT_EQ(worker.put_initial(initial), 0);
  }
  std::vector<Successor> expand(const DiskSystemState& from, Parts parts = Parts::kAll) {
    std::vector<Successor> all;
    DiskSystemState to;
    worker.begin(from);
    for (uint32_t op = 0; op < worker.ops().size(); ++op) {
      worker.run(op);
      do {
        worker.put_end(to, parts);
        all.push_back({worker.end_move(), worker.outcome(), to});
        while (worker.next_crash()) {
          worker.put_crash(to, parts);
          all.push_back({worker.crash_move(), worker.crash_outcome(), to});
        }
      } while (worker.run_again());
    }
    return all;
  }
  FindingBits findings(const std::vector<Successor>& all) const {
    FindingBits bits = 0;
    for (const Successor& one : all) bits |= one.outcome.findings;
    return bits;
  }
  std::vector<FindingKind> kinds(const std::vector<Successor>& all) const {
    return plan.kinds.in(findings(all));
  }

  const CheckPlan plan;
  Worker worker;
  DiskSystemState initial;
};

// Everything at once: failures, nested power cuts, a block that ops read although it is undecided.
DiskSetup rich_setup(bool lazy) {
  DiskSetup setup = toy_setup({.hint = true, .reads_hint = true});
  setup.cuts.lazy = lazy;
  setup.cuts.nesting = 1;
  setup.failures.most = 1;
  return setup;
}

TEST(CheckPlanTest, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(CheckPlan::make(toy_setup()));
  DiskSetup names = toy_setup();
  names.kind.limits.fixed_names = {"a/b"};
  EXPECT_FALSE(CheckPlan::make(names));
  DiskSetup device = toy_setup();
  device.cuts.device = {.unit_bytes = 24, .tearing = true};
  EXPECT_FALSE(CheckPlan::make(device)) << "the unit is no whole number of blocks";
  DiskSetup scattered = toy_setup();
  scattered.cuts.device = {
      .unit_bytes = 16, .order = WriteOrder::kInOrder, .tearing = true, .scattered = true};
  EXPECT_TRUE(CheckPlan::make(scattered));
  scattered.cuts.lazy = true;
  EXPECT_FALSE(CheckPlan::make(scattered));
}

TEST(CheckPlanTest, ATargetWithoutADiskHasNoPowerCuts) {
  DiskSetup setup = toy_setup();
  setup.kind.disks.block_count = BlockCount(0);
  const Result<CheckPlan> plan = CheckPlan::make(setup);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->setup.cuts.enabled);
  EXPECT_EQ(plan->blank.geometry().block_count, BlockCount(1));
}

TEST(WorkerTest, EndsAndCrashesOfEachOpAreSuccessors) {
  Rig rig;
  const std::vector<Successor> all = rig.expand(rig.initial);
  EXPECT_THAT(rig.kinds(all), IsEmpty());
  size_t ends = 0, crashes = 0;
  for (const Successor& one : all) (one.move.position == 0 ? ends : crashes) += 1;
  EXPECT_EQ(ends, rig.worker.ops().size());
  EXPECT_GT(crashes, 0u);
}

TEST(WorkerTest, FollowingAMoveLeadsToTheSameState) {
  for (const bool lazy : {false, true}) {
    Rig rig(rich_setup(lazy));
    std::vector<DiskSystemState> level = {rig.initial};
    size_t followed = 0;
    for (int depth = 0; depth < 2; ++depth) {
      std::vector<DiskSystemState> next;
      for (const DiskSystemState& from : level) {
        for (const Successor& one : rig.expand(from)) {
          DiskSystemState to;
          ASSERT_TRUE(rig.worker.follow(from, one.move, to));
          EXPECT_EQ(to.print, one.state.print);
          EXPECT_EQ(to.over, one.state.over);
          EXPECT_EQ(rig.worker.is_cut() ? rig.worker.crash_outcome().findings : rig.worker.outcome().findings,
                    one.outcome.findings);
          ++followed;
          if (!one.state.over && next.size() < 12) next.push_back(one.state);
        }
        DiskSystemState none;
        EXPECT_FALSE(rig.worker.follow(from, {.op = 1000}, none));
        EXPECT_FALSE(rig.worker.follow(from, {.op = 0, .position = 1000}, none));
      }
      level = std::move(next);
    }
    EXPECT_GT(followed, 100u);
  }
}

// What a worker remembers makes no difference.
TEST(WorkerTest, AnswersDependOnTheStateAlone) {
  for (const bool lazy : {false, true}) {
    Rig used(rich_setup(lazy));
    const std::vector<Successor> first = used.expand(used.initial), again = used.expand(used.initial);
    ASSERT_EQ(first.size(), again.size());
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].move, again[i].move);
      EXPECT_EQ(first[i].state.print, again[i].state.print);
    }
  }
}

TEST(WorkerTest, FewerPartsHaveTheSameFingerprints) {
  Rig rig(rich_setup(false));
  const auto all = rig.expand(rig.initial), print = rig.expand(rig.initial, Parts::kPrint),
             shape = rig.expand(rig.initial, Parts::kShape);
  ASSERT_EQ(all.size(), print.size());
  ASSERT_EQ(all.size(), shape.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].state.print, print[i].state.print);
    EXPECT_EQ(shape_print(all[i].state, 2), shape_print(shape[i].state, 2));
  }
}

TEST(WorkerTest, ABrokenPromiseEndsThePath) {
  Rig rig(toy_setup({.no_mount = true}));
  const auto all = rig.expand(rig.initial);
  EXPECT_THAT(rig.kinds(all), ElementsAre(FindingKind::kNotMountable));
  for (const Successor& one : all) EXPECT_EQ(one.state.over, one.outcome.findings != 0);
}

TEST(WorkerTest, WithoutPowerCutsThereAreOnlyEnds) {
  DiskSetup setup = toy_setup({.no_mount = true});
  setup.cuts.enabled = false;
  Rig rig(setup);
  const auto all = rig.expand(rig.initial);
  EXPECT_THAT(rig.kinds(all), IsEmpty());
  for (const Successor& one : all) EXPECT_EQ(one.move.position, 0u);
}

TEST(WorkerTest, OpsOnTheWholeSystemAreLimited) {
  DiskSetup setup = toy_setup();
  setup.max_system_ops = 0;
  Rig rig(setup);
  rig.worker.begin(rig.initial);
  for (const Candidate& candidate : rig.worker.ops()) EXPECT_NE(candidate.op.kind, OpKind::kSync);
  Rig unlimited;
  unlimited.worker.begin(unlimited.initial);
  EXPECT_EQ(unlimited.worker.ops().size(), rig.worker.ops().size() + 1);
}

TEST(WorkerTest, WhatALimitLeavesOutIsMarked) {
  const auto marks = [](const DiskSetup& setup) {
    Rig rig(setup);
    uint32_t bits = 0;
    for (const Successor& one : rig.expand(rig.initial)) bits |= one.outcome.marks;
    return bits & kLeftOut;
  };
  EXPECT_EQ(marks(toy_setup()), 0u);
  DiskSetup outcomes = toy_setup(), positions = toy_setup();
  outcomes.limits.outcomes = 1;
  positions.limits.positions = 2;
  EXPECT_NE(marks(outcomes), 0u);
  EXPECT_NE(marks(positions), 0u);
}

// Counts the writes of a path, and finds the second one.
class SecondWrite : public Judge {
 public:
  std::vector<FindingKind> may_find() const override { return {FindingKind::kBadEntry}; }
  Snapshot initial() const override { return Snapshot(uint64_t{0}); }
  void begin(const Snapshot& value) override { writes_ = from_ = value.as<uint64_t>(); }
  bool wants_events() const override { return true; }
  void saw(const Event& event, Opinion&) override { writes_ += event.changes_blocks() ? 1 : 0; }
  void op_ended(const OpEnd&, Opinion& opinion) override {
    if (writes_ > 1) opinion.found(FindingKind::kBadEntry);
    after_op_ = std::exchange(writes_, from_);
  }
  Snapshot after_op() const override { return Snapshot(after_op_); }
  Snapshot after_comeback() const override { return Snapshot(uint64_t{0}); }

 private:
  uint64_t from_ = 0, writes_ = 0, after_op_ = 0;
};

TEST(WorkerTest, AFurtherJudgeSeesEventsAndHasAValueInEachState) {
  DiskSetup setup = toy_setup();
  setup.bounds.ops = OpSet(OpKind::kCreate, OpKind::kSync);
  Rig rig(setup, [] {
    std::vector<std::unique_ptr<Judge>> judges;
    judges.push_back(std::make_unique<SecondWrite>());
    return judges;
  });
  const auto first = rig.expand(rig.initial);
  EXPECT_THAT(rig.kinds(first), IsEmpty());
  for (const Successor& one : first) {
    ASSERT_EQ(one.state.values.size(), 1u);
    // Only after a create that was not cut there is a write that counts.
    const bool wrote = one.state.values[0].as<uint64_t>() == 1;
    EXPECT_EQ(rig.kinds(rig.expand(one.state)).size(), wrote ? 1u : 0u);
  }
}

TEST(WorkerTest, ADamagedStartBeginsWithItsRepair) {
  DiskSetup setup = toy_setup({.has_check = true});
  setup.start.ops = {Op::of(OpKind::kCreate, Path("/b"))};
  setup.start.damage = [](Disk& disk) {
    const std::byte hint[ToyTarget::kBlockSize] = {std::byte{1}};
    (void)disk.write(BlockAddress(4), hint);
  };
  Rig rig(setup);
  EXPECT_TRUE(rig.initial.damaged);
  auto all = rig.expand(rig.initial);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].outcome.findings, 0u);
  EXPECT_FALSE(all[0].state.damaged);
  EXPECT_EQ(all[0].state.expectation.now(), ToyTarget::tree_of(ToyTarget::kB));
  setup.kind = toy_kind({.has_check = true, .repair_drops_b = true});
  Rig drops(setup);
  EXPECT_THAT(drops.kinds(drops.expand(drops.initial)), ElementsAre(FindingKind::kNotAllowed));
}

struct Raised {
  bool stopped() const { return true; }
};

TEST(WorkerTest, AStoppedWorkerTriesNoMorePowerCuts) {
  Rig rig;
  const Raised raised;
  rig.worker.begin(rig.initial, StopSignal::of(raised));
  EXPECT_TRUE(rig.worker.stopped());
  rig.worker.run(0);
  EXPECT_FALSE(rig.worker.next_crash());
  rig.worker.begin(rig.initial);
  rig.worker.run(0);
  EXPECT_TRUE(rig.worker.next_crash());
}

}  // namespace
}  // namespace sisyfs::worker_test
