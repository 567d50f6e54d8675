#include "machine/machine.h"

#include <gtest/gtest.h>

#include "machine/marks.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::machine_test {
namespace {

using Kind = InjectedFailure::Kind;

const Op kCreateA = Op::of(OpKind::kCreate, Path("/a")), kCreateB = Op::of(OpKind::kCreate, Path("/b"));
const Op kSync = Op::of(OpKind::kSync), kRemount = Op::of(OpKind::kRemount);

// A machine that goes on from where the last op led.
struct Rig : ToyRig {
  explicit Rig(DiskSetup s = toy_setup()) : ToyRig(std::move(s)), machine(setup, bounds, rules, blank) {
    error = machine.start(&tree);
    memory = machine.memory();
    disk = machine.settler().settle(machine.disk());
  }
  bool perform(const Op& op, const InjectedFailure& failure = {}) {
    machine.begin(memory, disk);
    machine.ways().begin_op(failure);
    return machine.perform(op);
  }
  void go(const Op& op) {
    ASSERT_TRUE(perform(op));
    machine.end_op();
    memory = machine.memory();
    disk = machine.settler().settle(machine.disk());
  }

  RememberingMachine machine;
  Tree tree;
  int error = 0;
  Snapshot memory;
  MediaState disk{blank};
};

Digest digest_of_files(uint8_t files) { return ToyTarget::tree_of(files).digest(); }

TEST(MachineTest, PerformsAnOpAndReadsItBack) {
  Rig rig;
  ASSERT_EQ(rig.error, 0);
  ASSERT_TRUE(rig.perform(kCreateA));
  const Episode& episode = rig.machine.episode();
  EXPECT_EQ(episode.answer, OpResult::of(0));
  EXPECT_FALSE(episode.failed || episode.promised);
  EXPECT_EQ(episode.faults | episode.marks, 0u);
  EXPECT_EQ(rig.machine.read_back().tree, digest_of_files(ToyTarget::kA));
  EXPECT_EQ(rig.machine.walk_again().tree, ToyTarget::tree_of(ToyTarget::kA));
}

TEST(MachineTest, EachOpBeginsFromTheGivenState) {
  Rig rig;
  ASSERT_TRUE(rig.perform(kCreateA));
  ASSERT_TRUE(rig.perform(kCreateB));
  EXPECT_EQ(rig.machine.read_back().tree, digest_of_files(ToyTarget::kB)) << "/a was in another future";
  rig.go(kCreateA);
  rig.go(kCreateB);
  EXPECT_EQ(rig.machine.read_back().tree, digest_of_files(3));
}

TEST(MachineTest, OnlyASuccessfulSyncPromises) {
  Rig rig;
  rig.go(kCreateA);
  EXPECT_FALSE(rig.machine.episode().promised);
  ASSERT_TRUE(rig.perform(kSync));
  EXPECT_TRUE(rig.machine.episode().promised);
  EXPECT_EQ(rig.machine.disk().log.promises(), 1u);
  ASSERT_TRUE(rig.perform(kSync, {Kind::kDiskAccess, 1}));
  EXPECT_EQ(rig.machine.episode().answer, OpResult::of(EIO));
  EXPECT_FALSE(rig.machine.episode().promised);
}

TEST(MachineTest, AFailureThatDoesNotComeAboutSaysNothing) {
  Rig rig;
  ASSERT_TRUE(rig.perform(kCreateA, {Kind::kDiskAccess, 2}));
  EXPECT_TRUE(rig.machine.episode().failed && rig.machine.episode().is_refusal());
  EXPECT_EQ(rig.machine.episode().marks, kAccessFailed);
  EXPECT_FALSE(rig.perform(kCreateA, {Kind::kDiskAccess, 3})) << "it flushes and writes, no more";
  ASSERT_TRUE(rig.perform(kCreateA, {Kind::kAllocation, 1}));
  EXPECT_EQ(rig.machine.episode().answer, OpResult::of(ENOMEM));
  EXPECT_FALSE(rig.perform(kSync, {Kind::kAllocation, 1})) << "sync allocates nothing";
  ASSERT_TRUE(rig.perform(kCreateA));
  EXPECT_FALSE(rig.machine.episode().failed) << "the failure is over";
}

TEST(MachineTest, ARemountUnmountsAndMounts) {
  Rig rig;
  rig.go(kCreateA);
  ASSERT_TRUE(rig.perform(kRemount));
  EXPECT_EQ(rig.machine.episode().answer, OpResult::of(0));
  EXPECT_EQ(rig.machine.read_back().tree, digest_of_files(ToyTarget::kA));
  ASSERT_TRUE(rig.perform(kRemount, {Kind::kDiskAccess, 2}));
  EXPECT_TRUE(rig.machine.episode().is_gone());
}

TEST(MachineTest, FaultsOfATargetAreTold) {
  Rig leaks(toy_setup({.fault = kLeaked}));
  ASSERT_TRUE(leaks.perform(kCreateA));
  EXPECT_EQ(leaks.machine.episode().faults, kLeaked);
  EXPECT_EQ(leaks.machine.read_back().tree, digest_of_files(ToyTarget::kA));
  Rig dies(toy_setup({.fault = kDied}));
  ASSERT_TRUE(dies.perform(kCreateA));
  EXPECT_TRUE(dies.machine.episode().is_dead());
  ASSERT_TRUE(dies.perform(kSync));
  EXPECT_EQ(dies.machine.episode().faults, 0u) << "the fault was of another op";
}

TEST(MachineTest, AStartDoesItsOpsFirst) {
  DiskSetup setup = toy_setup();
  setup.start.ops = {kCreateA};
  Rig rig(setup);
  EXPECT_EQ(rig.error, 0);
  EXPECT_EQ(rig.tree, ToyTarget::tree_of(ToyTarget::kA));
  setup = toy_setup({.wrong_errno = true});
  setup.start.ops = {kCreateA, Op::of(OpKind::kUnlink, Path("/a"))};
  EXPECT_EQ(Rig(setup).error, EPERM);
}

TEST(MachineTest, AStartBeforeTheFirstMountKeepsWhatFormatLeftUnflushed) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = toy_setup({.lazy_format = lazy});
    setup.start.unmounted = true;
    Rig rig(setup);
    ASSERT_EQ(rig.error, 0);
    EXPECT_EQ(rig.tree, ToyTarget::tree_of(0));
    EXPECT_EQ(rig.disk.log.size(), lazy ? 1u : 0u);
    rig.machine.begin(rig.memory, rig.disk, true);
    rig.machine.ways().begin_op(InjectedFailure{});
    ASSERT_TRUE(rig.machine.perform(Op::of(OpKind::kRemount)));
    EXPECT_EQ(rig.machine.episode().answer, OpResult());
    EXPECT_EQ(rig.machine.episode().events_judged, 0u);
  }
}

TEST(MachineTest, ADamagedStartIsRepaired) {
  DiskSetup setup = toy_setup({.has_check = true});
  setup.start.ops = {kCreateA};
  setup.start.damage = [](Disk& disk) {
    const std::byte hint[ToyTarget::kBlockSize] = {std::byte{1}};
    (void)disk.write(BlockAddress(4), hint);
  };
  Rig rig(setup);
  ASSERT_EQ(rig.error, 0);
  rig.machine.begin(rig.memory, rig.disk);
  rig.machine.perform_repair(rig.disk);
  const Recovery& repaired = rig.machine.repaired();
  EXPECT_TRUE(repaired.alive && repaired.sound);
  EXPECT_EQ(repaired.check.repaired, 1u);
  EXPECT_EQ(repaired.tree, ToyTarget::tree_of(ToyTarget::kA));
  EXPECT_EQ(rig.machine.episode().marks, kFsckRepaired);
}

// The hint of a create is in doubt after a power cut, and mount does not read it. The next create does.
TEST(MachineTest, AnOpRunsOnceForEachContentOfAnUndecidedBlockThatItReads) {
  DiskSetup setup = toy_setup({.hint = true, .reads_hint = true});
  setup.cuts.lazy = true;
  setup.recovery.usability = false;
  Rig rig(setup);
  ASSERT_TRUE(rig.perform(kCreateA));
  rig.machine.end_op();
  rig.machine.restart_cuts();
  unsigned undecided = 0;
  while (rig.machine.cuts().next_point() != nullptr) {
    rig.machine.cuts().begin_point();
    while (rig.machine.cuts().next()) {
      Rig next(setup);
      const Recovery& recovery = rig.machine.cuts().recovered();
      const Snapshot memory = recovery.memory;
      const uint8_t other = recovery.tree == Tree() ? ToyTarget::kB : 3;
      const MediaState disk = rig.machine.recovered_disk();
      next.machine.begin(memory, disk);
      const bool open = next.machine.ways().has_undecided();
      next.machine.ways().begin_op(false);
      unsigned ways = 0;
      do {
        ++ways;
        ASSERT_TRUE(next.machine.perform(kCreateB));
        EXPECT_EQ(next.machine.read_back().tree, digest_of_files(other));
        next.machine.end_op();
        EXPECT_TRUE(next.machine.disk().undecided.empty());
      } while (next.machine.ways().next());
      EXPECT_EQ(ways, open ? 2u : 1u);
      undecided += open ? 1 : 0;
    }
  }
  EXPECT_GT(undecided, 0u);
}

// The plain machine walks each time.
TEST(MachineTest, ARememberedWalkIsTheSame) {
  const ToyRig rig(toy_setup({.bad_walk = true}));
  Machine plain(rig.setup, rig.bounds, rig.rules, rig.blank);
  RememberingMachine remembers(rig.setup, rig.bounds, rig.rules, rig.blank);
  Tree tree;
  ASSERT_EQ(plain.start(&tree), 0);
  ASSERT_EQ(remembers.start(&tree), 0);
  const Snapshot memory = plain.memory();
  const MediaState disk = plain.disk();
  for (int round = 0; round < 2; ++round) {
    for (const Op& op : {kCreateA, kCreateB, kRemount}) {
      for (Machine* machine : {&plain, static_cast<Machine*>(&remembers)}) {
        machine->begin(memory, disk);
        machine->ways().begin_op(false);
        ASSERT_TRUE(machine->perform(op));
      }
      EXPECT_EQ(remembers.read_back().tree, plain.read_back().tree);
      EXPECT_EQ(remembers.read_back().error, plain.read_back().error);
    }
  }
}

}  // namespace
}  // namespace sisyfs::machine_test
