// Small systems with bugs that a checker could miss by its own shortcuts: cached recoveries, trials of a
// recovered system, and the maximum number of a choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "judge/disk_system.h"

namespace sisyfs {
namespace {

// Keeps up to two empty files; which of them are there is the first byte of block 0.
class TwoFiles : public Target {
 public:
  explicit TwoFiles(uint64_t blocks = 4) {
    traits_.ops = OpSet(OpKind::kCreate, OpKind::kUnlink);
    traits_.block_size = 16;
    traits_.block_count = blocks;
  }
  const Traits& traits() const override { return traits_; }
  int format(Disk&) override { return 0; }
  int mount(Disk& disk) override {
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
  void load(const Snapshot& snapshot, Disk& disk) override {
    disk_ = &disk;
    files_ = snapshot.empty() ? uint8_t{0} : snapshot.as<uint8_t>();
  }

 protected:
  static constexpr uint8_t kA = 1, kB = 2;

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

  Traits traits_;
  Disk* disk_ = nullptr;
  uint8_t files_ = 0;
  bool failed_ = false;  // the last access did
};

template <class System>
DiskSetup setup_of() {
  DiskSetup setup;
  setup.make_target = [] { return std::make_unique<System>(); };
  setup.bounds.names = {"a", "b"};
  setup.bounds.max_files = 2;
  return setup;
}

SearchResult search(DiskSetup setup, uint32_t depth) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  return (*check)->search(options, {});
}

constexpr uint32_t kOutOfRange = bit(FindingKind::kOutOfRange);

// --- accesses outside of the disk, wherever they come from ---

class StraysInWalk : public TwoFiles {
 public:
  Walk walk() override {
    if (files_ != 0) (void)get(traits_.block_count);
    return TwoFiles::walk();
  }
};

TEST(StrayAccessTest, OfAWalkIsToldEachTime) {
  DiskSetup setup = setup_of<StraysInWalk>();
  setup.crashes = false;
  const Result<DiskSystem> system = DiskSystem::make(setup);
  ASSERT_TRUE(system);
  DiskSystemState state;
  system->initial(state);
  RigPool::Lease rig(system->rigs());
  rig->begin(state);
  for (int time = 0; time < 3; ++time) {
    rig->run(0);
    EXPECT_EQ(rig->outcome().findings, kOutOfRange) << time;
  }
}

// What is told of the first finding of this kind.
std::string told(DiskSetup setup, uint32_t kind) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  const auto found = (*check)->explain({}, kind).traces;
  EXPECT_EQ(found.size(), 1u);
  const Result<Story> story = (*check)->tell(found.at(0).trace);
  EXPECT_TRUE(story && !story->steps.back().observed.empty());
  return story->steps.back().observed.at(0).text;
}

class StraysInUnmount : public TwoFiles {
 public:
  int unmount() override {
    (void)get(traits_.block_count);
    return TwoFiles::unmount();
  }
};

TEST(StrayAccessTest, OfTheTrialOfARecoveredSystemIsTold) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<StraysInUnmount>();
    setup.lazy = lazy;
    EXPECT_EQ(search(setup, 1).findings, kOutOfRange) << lazy;
    EXPECT_THAT(
        told(setup, kOutOfRange),
        testing::MatchesRegex("who uses it afterwards (reads|writes) block [0-9]+ of a disk of [0-9]+"));
  }
}

// Its check clears a flag, without which its mount goes astray.
class StraysWithoutCheck : public TwoFiles {
 public:
  StraysWithoutCheck() { traits_.has_fsck = traits_.mount_recovers = true; }
  int mount(Disk& disk) override {
    disk_ = &disk;
    if (get(1) != 0) (void)get(traits_.block_count);
    return TwoFiles::mount(disk);
  }
  void fsck(Disk& disk, FsckMode mode, RepairReport*) override {
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
    setup.lazy = lazy;
    EXPECT_EQ(search(setup, 1).findings, 0u) << lazy;
    setup.both_ways = true;
    EXPECT_EQ(search(setup, 1).findings, kOutOfRange) << lazy;
    EXPECT_THAT(
        told(setup, kOutOfRange),
        testing::MatchesRegex("the mount without its check (reads|writes) block [0-9]+ of a disk of [0-9]+"));
  }
}

// --- states that look alike ---

// Each call is durable when it returns, and leaves a hint in two blocks behind that is not. The next call
// relies on it, and cannot do with one half; no recovery looks at it.
class ReliesOnHint : public TwoFiles {
 public:
  ReliesOnHint() { traits_.durable_ops = true; }

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
    setup.usability = false;
    setup.lazy = lazy;
    EXPECT_EQ(search(setup, 2).findings, bit(FindingKind::kWrongErrno)) << lazy;
  }
}

// --- more than there are numbers for ---

// A call looks at the disk so often that not each of its accesses can have a way of its own to fail.
class ManyReads : public TwoFiles {
 private:
  int change(uint8_t files) override {
    for (uint32_t i = 0; i < DiskMove::kPositions + 50; ++i) {
      (void)get(1);
      if (failed_) return EIO;
    }
    return TwoFiles::change(files);
  }
};

TEST(LeftOutTest, FailuresThatWereNotTriedMakeTheVerdictUnknown) {
  DiskSetup setup = setup_of<ManyReads>();
  setup.crashes = false;
  setup.failures = 1;
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
    for (uint32_t i = 0; i < DiskMove::kPositions + 50; ++i) {
      put(1, i % 2);
      flush();
    }
    return TwoFiles::change(files);
  }
};

TEST(LeftOutTest, MomentsThatWereNotLookedAtMakeTheVerdictUnknown) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<BackAndForth>();
    setup.lazy = lazy;
    const SearchResult result = search(setup, 1);
    EXPECT_EQ(result.findings, 0u);
    EXPECT_NE(result.marks & kLeftOut, 0u) << lazy;
    EXPECT_EQ(result.verdict, Verdict::kUnknown) << lazy;
  }
}

// A recovery that looks at everything that is in doubt.
class ManyBlocks : public TwoFiles {
 public:
  static constexpr uint8_t kBlocks = 14;
  ManyBlocks() : TwoFiles(kBlocks + 1) { traits_.contract = Contract::kStructure; }
  int mount(Disk& disk) override {
    if (const int error = TwoFiles::mount(disk)) return error;
    for (uint8_t block = 1; block <= kBlocks; ++block) (void)get(block);
    return 0;
  }

 private:
  int change(uint8_t) override {
    for (uint8_t block = 1; block <= kBlocks; ++block) put(block, 1);
    return 0;
  }
};

TEST(LeftOutTest, CrashStatesBeyondTheLastNumberAreCounted) {
  for (const bool lazy : {false, true}) {
    DiskSetup setup = setup_of<ManyBlocks>();
    setup.bounds.names = {"a"};
    setup.usability = false;
    setup.lazy = lazy;
    setup.enumeration.max_states = UINT64_MAX;
    const SearchResult result = search(setup, 1);
    EXPECT_EQ(result.verdict, Verdict::kUnknown) << lazy;
    EXPECT_EQ(result.crash_states, DiskMove::kStates) << lazy;
    EXPECT_EQ(result.left_out, (uint64_t{1} << ManyBlocks::kBlocks) - DiskMove::kStates) << lazy;
  }
}

// Edges of one piece are two and twice as many as there are blocks: nothing lost, nothing kept, one of each.
TEST(LeftOutTest, OnlySamplesThatWereJudgedAreCounted) {
  constexpr uint64_t kEdges = 2 + 2 * ManyBlocks::kBlocks;
  for (const uint64_t samples : {uint64_t{100}, uint64_t{DiskMove::kStates}}) {
    DiskSetup setup = setup_of<ManyBlocks>();
    setup.bounds.names = {"a"};
    setup.usability = false;
    setup.enumeration = {.max_states = 1, .edge = 1, .samples = static_cast<uint32_t>(samples)};
    const SearchResult result = search(setup, 1);
    EXPECT_EQ(result.verdict, Verdict::kUnknown) << samples;
    EXPECT_EQ(result.sampled, std::min(samples, DiskMove::kStates - kEdges)) << samples;
    EXPECT_EQ(result.crash_states, kEdges + result.sampled) << samples;
    EXPECT_EQ(result.left_out + result.crash_states, uint64_t{1} << ManyBlocks::kBlocks) << samples;
  }
}

}  // namespace
}  // namespace sisyfs
