// Recoveries that are known again against recoveries that are carried out each time, on a model with
// mistakes.
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "crash/crash_points.h"
#include "crash/crash_states.h"
#include "crash/lazy_states.h"
#include "finding/catalogue_bits_for_test.h"
#include "judge/access_judge.h"
#include "judge/check_judge.h"
#include "machine/marks.h"
#include "machine/remembering_recoverer.h"
#include "models/f2fs/check.h"
#include "target/options.h"

namespace sisyfs::remembered_recoveries_test {
namespace {

// What the judges find in a recovery, as bits in the order of the catalogue.
FindingBits findings_of(const DiskSetup& setup, const Recovery& recovery) {
  std::vector<FindingKind> all;
  for (const FindingInfo& kind : catalogue()) all.push_back(kind.kind);
  const KindTable kinds(std::move(all));
  const CheckRules rules = check_rules(setup);
  const Recovery* const recoveries[] = {&recovery};
  Opinion opinion{&kinds};
  CheckJudge(setup, rules).came_back({.recoveries = recoveries}, opinion);
  AccessJudge(setup.kind).came_back({.recoveries = recoveries}, opinion);
  return opinion.findings;
}

struct Counts {
  unsigned states = 0, found = 0, dead = 0, repaired = 0;
};

// Random ops on a mounted target; every crash state on the way is recovered by one that remembers and by one
// that does not.
Counts compare(const std::vector<std::string>& settings, unsigned seed, unsigned memo_bits = 12) {
  const Result<Options> options = Options::parse(f2fs::option_specs(), settings);
  EXPECT_TRUE(options);
  const Result<DiskSetup> setup = f2fs::setup_of(*options);
  EXPECT_TRUE(setup);
  const auto running = setup->kind.make(), target = setup->kind.make(), again = setup->kind.make();
  const Bounds bounds = bounds_for(setup->kind, setup->bounds);
  const Image blank(setup->kind.disks);
  Media disk(blank);
  EXPECT_EQ(running->format(disk), 0);
  EXPECT_EQ(running->mount(disk), 0);
  disk.load(MediaState(disk.state().current));
  DiskSetup small = *setup;
  small.memo_bits = memo_bits;
  const CheckRules rules = check_rules(*setup);
  RememberingRecoverer remembers(small, bounds, rules, *target, blank);
  Result<Workload> workload = Workload::make(bounds);
  std::mt19937 random(seed);
  std::vector<Candidate> ops;
  Counts counts;
  for (unsigned step = 0; step < 14; ++step) {
    workload->from(running->walk().tree, &ops);
    const Op& op = ops[random() % ops.size()].op;
    if (op.kind == OpKind::kRemount) continue;
    (void)running->apply(op);
    CrashPoints points(setup->cuts.device, disk.state());
    while (const CrashPoint* point = points.next()) {
      CrashStates states(point->epoch, setup->cuts.enumeration);
      for (unsigned i = 0; i < 40; ++i) {
        CrashState* state = states.next();
        if (state == nullptr) break;
        Recoverer forgets(*setup, bounds, rules, *again, blank);
        const Recovery& known = remembers.recover(*state);
        const Recovery& right = forgets.recover(*state);
        ++counts.states;
        counts.found += !right.sound;
        counts.dead += !right.alive;
        counts.repaired += (right.marks & kFsckRepaired) != 0;
        EXPECT_EQ(findings_of(*setup, known), findings_of(*setup, right));
        EXPECT_EQ(known.sound, right.sound);
        EXPECT_EQ(known.marks, right.marks);
        EXPECT_EQ(known.work, right.work);
        EXPECT_EQ(known.alive, right.alive);
        if (!known.alive || !right.alive) continue;
        EXPECT_EQ(known.tree.digest(), right.tree.digest());
        EXPECT_EQ(known.memory.digest(), right.memory.digest());
        EXPECT_EQ(known.log.digest(), right.log.digest());
      }
    }
    disk.load(points.settled());
  }
  return counts;
}

TEST(RecovererTest, WhatIsKnownAgainIsWhatWouldHaveCome) {
  Counts all;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Counts counts = compare({"crash=subsets", "cp_flush=off"}, seed);
    all.states += counts.states, all.found += counts.found, all.dead += counts.dead;
    all.repaired += counts.repaired;
  }
  EXPECT_GT(all.states, 500u);
  EXPECT_GT(all.found, 0u) << "else it says little";
  EXPECT_LT(all.found, all.states);
}

// With room for a few, places are used again and again.
TEST(RecovererTest, WhatWasForgottenIsNotTakenForKnown) {
  unsigned found = 0;
  for (unsigned seed = 1; seed <= 4; ++seed)
    found += compare({"crash=subsets", "cp_flush=off"}, seed, 1).found;
  EXPECT_GT(found, 0u);
}

// Each part of its recovery looks at one block: the check at block 0, the mount at block 1, the first op at
// block 2. A 2 is bad there.
class LooksInParts : public Target, public SavesMemory, public ChecksOffline {
 public:
  static DiskSetup setup() {
    DiskSetup setup;
    setup.kind.ops = OpSet(OpKind::kCreate, OpKind::kUnlink);
    setup.kind.has_fsck = true;
    setup.kind.disks = {.block_size = 4, .block_count = BlockCount(3)};
    setup.bounds.names = {"a"};
    return setup;
  }
  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return this; }
  int format(Media&) override { return 0; }
  int mount(Media& disk) override {
    disk_ = &disk;
    tree_ = Tree();
    return is_bad(disk, 1) ? EIO : 0;
  }
  int unmount() override { return power_cut(), 0; }
  void power_cut() override { tree_ = Tree(); }
  OpResult apply(const Op& op) override {
    return is_bad(*disk_, 2) ? OpResult::of(EIO) : sisyfs::apply(op, tree_);
  }
  Walk walk() override { return {0, Path("/"), tree_}; }
  void fsck(Media& disk, FsckMode, RepairReport* report) override {
    report->error = is_bad(disk, 0) ? EIO : 0;
  }
  Snapshot save() const override { return Snapshot(tree_, tree_.digest()); }
  void load(const Snapshot& snapshot, Media& disk) override {
    disk_ = &disk;
    tree_ = snapshot.as<Tree>();
  }

 protected:
  static bool is_bad(Disk& disk, uint64_t block) {
    std::byte bytes[4];
    return disk.read(BlockAddress(block), bytes) != IoStatus::kOk || bytes[0] == std::byte{2};
  }

  Disk* disk_ = nullptr;
  Tree tree_;
};

TEST(RecovererTest, EachPartIsKnownByWhatItReadAndTheWholeByAllOfIt) {
  constexpr Geometry geometry{4, BlockCount(3)};
  const Image blank(geometry);
  Epoch epoch(DeviceModel{.unit_bytes = 4, .tearing = true}, blank);
  Media disk(blank);
  std::vector<const Event*> events;
  for (const uint8_t value : {1, 2}) {
    for (uint64_t block = 0; block < 3; ++block) {
      const std::byte bytes[4] = {std::byte{value}};
      ASSERT_EQ(disk.write(BlockAddress(block), bytes), IoStatus::kOk);
      epoch.add(*disk.state().log.events(events).back());
    }
  }
  const DiskSetup setup = LooksInParts::setup();
  const CheckRules rules = check_rules(setup);
  LooksInParts target;
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    RememberingRecoverer recoverer(setup, setup.bounds, rules, target, blank);
    CrashState state(epoch);
    for (int i = 0; i < 60; ++i) {
      for (uint32_t chain = 0; chain < 3; ++chain) state.keep(chain, random() % 3);
      const auto bad = [&](uint64_t block) {
        const Block* content = state.block(BlockAddress(block));
        return content != nullptr && content->bytes()[0] == std::byte{2};
      };
      FindingBits expected = bad(0) ? bit(FindingKind::kNotClean) : 0;
      if (bad(1)) expected |= bit(FindingKind::kNotMountable);
      if (expected == 0 && bad(2)) expected = bit(FindingKind::kNotUsable);
      ASSERT_EQ(findings_of(setup, recoverer.recover(state)), expected);
    }
    EXPECT_LE(recoverer.runs(), 27u);
  }
}

// What comes back of each crash state of an epoch: one by one, known again or not, and lazily.
struct AllWays {
  std::vector<FindingBits> findings;  // by crash state, in the order of CrashStates
  FindingBits eager = 0, lazy = 0;
};

AllWays recover_all(const DiskSetup& setup, Target& target, const Epoch& epoch) {
  AllWays out;
  const CheckRules rules = check_rules(setup);
  RememberingRecoverer recoverer(setup, setup.bounds, rules, target, epoch.durable());
  CrashStates states(epoch);
  while (CrashState* state = states.next()) {
    out.findings.push_back(findings_of(setup, recoverer.recover(*state)));
    out.eager |= out.findings.back();
  }
  RememberingRecoverer other(setup, setup.bounds, rules, target, epoch.durable());
  LazyStates runs(epoch);
  while (runs.next()) out.lazy |= findings_of(setup, other.recover(runs));
  return out;
}

// An epoch in which one block was written once: 1 over 0.
Epoch one_write(const Image& blank, uint64_t block, uint8_t value) {
  Epoch epoch(DeviceModel{.unit_bytes = 4, .tearing = true}, blank);
  Media disk(blank);
  const std::byte bytes[4] = {std::byte{value}};
  EXPECT_EQ(disk.write(BlockAddress(block), bytes), IoStatus::kOk);
  std::vector<const Event*> events;
  epoch.add(*disk.state().log.events(events).back());
  return epoch;
}

// Remembers from its walk what block 2 holds, as a cache does, and does not look there again.
class RemembersWalk : public LooksInParts {
 public:
  void power_cut() override {
    cached_ = false;
    LooksInParts::power_cut();
  }
  OpResult apply(const Op& op) override { return look() ? OpResult::of(EIO) : sisyfs::apply(op, tree_); }
  Walk walk() override {
    (void)look();
    return LooksInParts::walk();
  }
  void load(const Snapshot& snapshot, Media& disk) override {
    cached_ = false;
    LooksInParts::load(snapshot, disk);
  }

 private:
  bool look() {
    if (!cached_) bad_ = is_bad(*disk_, 2);
    cached_ = true;
    return bad_;
  }

  bool cached_ = false, bad_ = false;
};

TEST(RecovererTest, ATrialIsKnownByWhatTheWalkHasReadForIt) {
  const Image blank(Geometry{4, BlockCount(3)});
  const DiskSetup setup = LooksInParts::setup();
  RemembersWalk target;
  const AllWays all = recover_all(setup, target, one_write(blank, 2, 2));
  EXPECT_EQ(all.findings, (std::vector<FindingBits>{bit(FindingKind::kNotUsable), 0}));
  EXPECT_EQ(all.lazy, all.eager);
}

// Once it was used, its check clears block 3, whatever that holds.
class ClearsBlindly : public LooksInParts {
 public:
  OpResult apply(const Op& op) override {
    put(*disk_, 0, 1);
    return LooksInParts::apply(op);
  }
  void fsck(Media& disk, FsckMode mode, RepairReport*) override {
    std::byte used[4];
    if (disk.read(BlockAddress(0), used) != IoStatus::kOk || used[0] == std::byte{0}) return;
    if (mode == FsckMode::kRepair) put(disk, 3, 0);
  }

 private:
  static void put(Disk& disk, uint64_t block, uint8_t value) {
    const std::byte bytes[4] = {std::byte{value}};
    EXPECT_EQ(disk.write(BlockAddress(block), bytes), IoStatus::kOk);
  }
};

TEST(RecovererTest, WhetherTheCheckChangesACleanDiskDependsOnWhatWasThere) {
  const Image blank(Geometry{4, BlockCount(4)});
  const DiskSetup setup = LooksInParts::setup();
  ClearsBlindly target;
  const AllWays all = recover_all(setup, target, one_write(blank, 3, 1));
  EXPECT_EQ(all.findings, (std::vector<FindingBits>{bit(FindingKind::kNotUsable), 0}));
  EXPECT_EQ(all.lazy, all.eager);
}

TEST(RecovererTest, WhatIsKnownAgainIsRightWhereNothingIsWrong) {
  const Counts counts = compare({"preset=small"}, 3);
  EXPECT_GT(counts.states, 20u);
  EXPECT_EQ(counts.found, 0u);
}

}  // namespace
}  // namespace sisyfs::remembered_recoveries_test
