// Small systems with bugs that a checker could miss by its own shortcuts: cached recoveries, trials of a
// recovered system, and the maximum number of a choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "judge/disk_system.h"
#include "machine/marks.h"

namespace sisyfs::nothing_missed_test {
namespace {

// Keeps up to two empty files; which of them are there is the first byte of block 0.
class TwoFiles : public Target, public SavesMemory {
 public:
  static TargetKind kind() {
    TargetKind kind;
    kind.ops = OpSet(OpKind::kCreate, OpKind::kUnlink);
    kind.disks = {.block_size = 16, .block_count = BlockCount(kBlocks)};
    return kind;
  }
  SavesMemory* saves_memory() override { return this; }
  int format(Media&) override { return 0; }
  int mount(Media& disk) override {
    disk_ = &disk;
    files_ = get(0);
    return 0;
  }
  int unmount() override { return power_cut(), 0; }
  void power_cut() override { files_ = 0; }
  OpResult apply(const Op& op) override {
    Tree after = tree();
    const OpResult result = sisyfs::apply(op, after);
    if (result.error != 0) return result;
    const auto files = static_cast<uint8_t>(files_ ^ (op.path == Path("/a") ? kA : kB));
    if (const int error = change(files)) return OpResult::of(error);
    files_ = files;
    return result;
  }
  Walk walk() override { return {0, Path("/"), tree()}; }
  Snapshot save() const override { return Snapshot(files_, Digest{1, files_}); }
  void load(const Snapshot& snapshot, Media& disk) override {
    disk_ = &disk;
    files_ = snapshot.empty() ? uint8_t{0} : snapshot.as<uint8_t>();
  }

 protected:
  static constexpr uint8_t kA = 1, kB = 2;
  static constexpr uint64_t kBlocks = 4;

  // Puts to the disk which files there are. 0 or an errno.
  virtual int change(uint8_t files) { return put(0, files), flush(), 0; }

  Tree tree() const {
    Tree tree;
    if ((files_ & kA) != 0) tree.make(kRootNode, "a", FileType::kFile);
    if ((files_ & kB) != 0) tree.make(kRootNode, "b", FileType::kFile);
    return tree;
  }
  uint8_t get(uint64_t block) {
    std::byte bytes[16] = {};
    failed_ = disk_->read(BlockAddress(block), bytes) != IoStatus::kOk;
    return static_cast<uint8_t>(bytes[0]);
  }
  void put(uint64_t block, uint8_t value) {
    const std::byte bytes[16] = {static_cast<std::byte>(value)};
    failed_ = disk_->write(BlockAddress(block), bytes) != IoStatus::kOk;
  }
  void flush() { (void)disk_->flush(); }

  Disk* disk_ = nullptr;
  uint8_t files_ = 0;
  bool failed_ = false;  // the last access did
};

template <class System>
DiskSetup setup_of() {
  DiskSetup setup;
  setup.kind = System::kind();
  setup.kind.make = [] { return std::make_unique<System>(); };
  setup.bounds.names = {"a", "b"};
  setup.bounds.max_files = 2;
  return setup;
}

SearchResult search(DiskSetup setup, uint32_t depth) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  return catalogued_search(**check, options);
}

constexpr FindingBits kOutOfRange = bit(FindingKind::kOutOfRange);

// --- accesses outside of the disk, wherever they come from ---

class StraysInWalk : public TwoFiles {
 public:
  Walk walk() override {
    if (files_ != 0) (void)get(kBlocks);
    return TwoFiles::walk();
  }
};

TEST(StrayAccessTest, OfAWalkIsToldEachTime) {
  DiskSetup setup = setup_of<StraysInWalk>();
  setup.cuts.enabled = false;
  const Result<DiskSystem> system = DiskSystem::make(setup);
  ASSERT_TRUE(system);
  DiskSystemState state;
  system->initial(state);
  WorkerPool::Lease worker(system->workers());
  worker->begin(state);
  for (int time = 0; time < 3; ++time) {
    worker->run(0);
    EXPECT_EQ(catalogue_bits(worker->plan().kinds.in(worker->outcome().findings)), kOutOfRange) << time;
  }
}

// What is told of the first finding of this kind.
std::string told(DiskSetup setup, FindingKind kind) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit(kind)).traces;
  EXPECT_EQ(found.size(), 1u);
  const Result<Story> story = (*check)->tell(found.at(0).trace);
  EXPECT_TRUE(story && !story->steps.back().observed.empty());
  return story->steps.back().observed.at(0).text;
}

class StraysInUnmount : public TwoFiles {
 public:
  int unmount() override {
    (void)get(kBlocks);
    return TwoFiles::unmount();
  }
};

TEST(StrayAccessTest, OfTheTrialOfARecoveredSystemIsTold) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<StraysInUnmount>();
    setup.cuts.lazy = lazy;
    EXPECT_EQ(search(setup, 1).findings, kOutOfRange) << lazy;
    EXPECT_THAT(told(setup, FindingKind::kOutOfRange),
                testing::MatchesRegex("the trial of use (reads|writes) block [0-9]+ of a disk of [0-9]+"));
  }
}

// Its check clears a flag, without which its mount goes astray.
class StraysWithoutCheck : public TwoFiles, public ChecksOffline {
 public:
  static TargetKind kind() {
    TargetKind kind = TwoFiles::kind();
    kind.has_fsck = kind.claims.mount_recovers = true;
    return kind;
  }
  ChecksOffline* checks_offline() override { return this; }
  int mount(Media& disk) override {
    disk_ = &disk;
    if (get(1) != 0) (void)get(kBlocks);
    return TwoFiles::mount(disk);
  }
  void fsck(Media& disk, FsckMode mode, RepairReport*) override {
    disk_ = &disk;
    if (mode == FsckMode::kRepair && get(1) != 0) put(1, 0), flush();
  }

 private:
  int change(uint8_t files) override {
    put(1, 1);
    flush();
    put(0, files);
    flush();
    put(1, 0);
    flush();
    return 0;
  }
};

TEST(StrayAccessTest, OfAMountWithoutTheCheckIsTold) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<StraysWithoutCheck>();
    setup.cuts.lazy = lazy;
    EXPECT_EQ(search(setup, 1).findings, 0u) << lazy;
    setup.recovery.both_ways = true;
    EXPECT_EQ(search(setup, 1).findings, kOutOfRange) << lazy;
    EXPECT_THAT(
        told(setup, FindingKind::kOutOfRange),
        testing::MatchesRegex("the mount without its check (reads|writes) block [0-9]+ of a disk of [0-9]+"));
  }
}

// --- states that look alike ---

// Each call is durable when it returns, and leaves a hint in two blocks behind that is not. The next call
// relies on it, and cannot do with one half; no recovery looks at it.
class ReliesOnHint : public TwoFiles {
 public:
  static TargetKind kind() {
    TargetKind kind = TwoFiles::kind();
    kind.claims.durable = OpSet::all();
    return kind;
  }

 private:
  int change(uint8_t files) override {
    if (files_ != 0 && get(1) < get(2)) return EPERM;
    put(0, files);
    flush();
    put(1, 1);
    put(2, 1);
    return 0;
  }
};

TEST(OpenBlocksTest, WhatAPowerCutLeftOpenIsNotWhatIsInDoubt) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<ReliesOnHint>();
    setup.recovery.usability = false;
    setup.cuts.lazy = lazy;
    EXPECT_EQ(search(setup, 2).findings, bit(FindingKind::kWrongErrno)) << lazy;
  }
}

// --- more than the limits allow ---

constexpr MoveLimits kLow{.ops = 512, .positions = 1024, .outcomes = 8192};

// A call looks at the disk so often that not each of its accesses can have a way of its own to fail.
class ManyReads : public TwoFiles {
 private:
  int change(uint8_t files) override {
    for (uint32_t i = 0; i < kLow.positions + 50; ++i) {
      (void)get(1);
      if (failed_) return EIO;
    }
    return TwoFiles::change(files);
  }
};

TEST(LeftOutTest, FailuresThatWereNotTriedMakeTheVerdictUnknown) {
  DiskSetup setup = setup_of<ManyReads>();
  setup.limits = kLow;
  setup.cuts.enabled = false;
  setup.failures.most = 1;
  const SearchResult result = search(setup, 1);
  EXPECT_EQ(result.findings, 0u);
  EXPECT_NE(result.marks & kLeftOut, 0u);
  EXPECT_EQ(result.verdict, Verdict::kUnknown);
}

// Writes the same two contents in turn, so that nearly all moments of a call are known, and in the end
// something else.
class BackAndForth : public TwoFiles {
 private:
  int change(uint8_t files) override {
    for (uint32_t i = 0; i < kLow.positions + 50; ++i) {
      put(1, i % 2);
      flush();
    }
    return TwoFiles::change(files);
  }
};

TEST(LeftOutTest, MomentsThatWereNotLookedAtMakeTheVerdictUnknown) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<BackAndForth>();
    setup.limits = kLow;
    setup.cuts.lazy = lazy;
    const SearchResult result = search(setup, 1);
    EXPECT_EQ(result.findings, 0u);
    EXPECT_NE(result.marks & kLeftOut, 0u) << lazy;
    EXPECT_EQ(result.verdict, Verdict::kUnknown) << lazy;
  }
}

// A recovery that looks at everything that is in doubt.
class ManyBlocks : public TwoFiles {
 public:
  static constexpr uint8_t kDoubtful = 14;
  static TargetKind kind() {
    TargetKind kind = TwoFiles::kind();
    kind.disks.block_count = BlockCount(kDoubtful + 1);
    kind.claims.contract = Contract::kStructure;
    return kind;
  }
  int mount(Media& disk) override {
    if (const int error = TwoFiles::mount(disk)) return error;
    for (uint8_t block = 1; block <= kDoubtful; ++block) (void)get(block);
    return 0;
  }

 private:
  int change(uint8_t) override {
    for (uint8_t block = 1; block <= kDoubtful; ++block) put(block, 1);
    return 0;
  }
};

TEST(LeftOutTest, CrashStatesBeyondTheLastNumberAreCounted) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<ManyBlocks>();
    setup.limits = kLow;
    setup.bounds.names = {"a"};
    setup.recovery.usability = false;
    setup.cuts.lazy = lazy;
    setup.cuts.enumeration.max_states = UINT64_MAX;
    const SearchResult result = search(setup, 1);
    EXPECT_EQ(result.verdict, Verdict::kUnknown) << lazy;
    EXPECT_EQ(result.crash_states, kLow.outcomes) << lazy;
    EXPECT_EQ(result.left_out, (uint64_t{1} << ManyBlocks::kDoubtful) - kLow.outcomes) << lazy;
  }
}

// Edges of one piece are two and twice as many as there are blocks: nothing lost, nothing kept, one of each.
TEST(LeftOutTest, OnlySamplesThatWereJudgedAreCounted) {
  constexpr uint64_t kEdges = 2 + 2 * ManyBlocks::kDoubtful;
  for (const uint64_t samples : {uint64_t{100}, uint64_t{kLow.outcomes}}) {
    DiskSetup setup = setup_of<ManyBlocks>();
    setup.limits = kLow;
    setup.bounds.names = {"a"};
    setup.recovery.usability = false;
    setup.cuts.enumeration = {.max_states = 1, .edge = 1, .samples = static_cast<uint32_t>(samples)};
    const SearchResult result = search(setup, 1);
    EXPECT_EQ(result.verdict, Verdict::kUnknown) << samples;
    EXPECT_EQ(result.sampled, std::min(samples, kLow.outcomes - kEdges)) << samples;
    EXPECT_EQ(result.crash_states, kEdges + result.sampled) << samples;
    EXPECT_EQ(result.left_out + result.crash_states, uint64_t{1} << ManyBlocks::kDoubtful) << samples;
  }
}

}  // namespace
}  // namespace sisyfs::nothing_missed_test
