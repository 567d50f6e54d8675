// The adapter against planted bugs: each kind of finding has a system that is wrong in that way and no other,
// and a system that is right. The systems are the link model behind a wrapper with one fault.
#include <gtest/gtest.h>

#include <cerrno>

#include "disk/media.h"
#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "judge/disk_system.h"
#include "machine/marks.h"
#include "models/mapping/target.h"

namespace sisyfs::adapter_test {
namespace {

enum class Bug {
  kNone,
  kErrno,      // an op on a file that is not there answers EPERM
  kEffect,     // an append that changes nothing
  kMount,      // does not mount where there is a file
  kWalk,       // cannot be read after a mount
  kFlush,      // forgets to flush
  kFsck,       // its check finds something that it cannot mend
  kReadOnly,   // is read-only after a mount
  kStray,      // deletes by a look beyond the disk
  kNeverFull,  // answers ENOSPC and has made the file all the same
  kCount,      // an append answers with one byte too few
  kBytes,      // a read gives other bytes than there are
  kTwoWays,    // comes back without files where its check has not run
  kRestless,   // its repair writes to a disk that needs none
};

constexpr ProblemKind kOdd = {"X1", "odd", Severity::kRepairable, "there is something odd"};

mapping::Config config_of(bool flushes) {
  mapping::Config config;
  config.files = 2;
  config.blocks = 3;
  config.cache = flushes;
  return config;
}

// Buffered: ops are durable only after a sync.
TargetKind right_kind(bool buffered) {
  TargetKind kind = mapping::link_kind_of(config_of(true));
  static const std::vector<ProblemKind> problems = [&] {
    std::vector<ProblemKind> all(kind.words.problems.begin(), kind.words.problems.end());
    all.push_back(kOdd);
    return all;
  }();
  kind.words.problems = problems;
  kind.claims.mount_recovers = true;
  if (buffered) {
    kind.claims.durable = {};
    kind.ops = kind.ops | OpSet(OpKind::kSync);
  }
  return kind;
}

class Faulty : public Target, public SavesMemory, public ChecksOffline {
 public:
  Faulty(const TargetKind& kind, Bug bug, bool buffered)
      : bug_(bug),
        block_count_(kind.disks.block_count.value),
        problem_(static_cast<uint16_t>(kind.words.problems.size() - 1)),
        inner_(mapping::link_kind_of(config_of(!buffered && bug != Bug::kFlush)).make()),
        checker_(mapping::link_kind_of(config_of(true)).make()) {}

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return this; }
  int format(Media& disk) override { return inner_->format(disk); }
  int mount(Media& disk) override {
    disk_ = &disk;
    mounted_with_files_ = has_files(disk);
    running_ = false;
    if (bug_ == Bug::kTwoWays && cut_ && !checked_) (void)inner_->format(disk);
    cut_ = checked_ = false;
    if (bug_ == Bug::kMount && mounted_with_files_) return EIO;
    return inner_->mount(disk);
  }
  int unmount() override { return inner_->unmount(); }
  void power_cut() override {
    cut_ = true;
    checked_ = false;
    inner_->power_cut();
  }

  OpResult apply(const Op& op) override {
    if (op.kind == OpKind::kSync) {
      if (bug_ != Bug::kFlush) (void)disk_->flush();
      return {};
    }
    Stat stat;
    if (bug_ == Bug::kEffect && running_ && op.kind == OpKind::kAppend &&
        inner_->walk().tree.stat(op.path, &stat) == 0)
      return {0, op.length, {}};
    if (bug_ == Bug::kReadOnly && mounted_with_files_) return OpResult::of(EROFS);
    if (bug_ == Bug::kStray && op.kind == OpKind::kUnlink) {
      std::byte block[4];
      (void)disk_->read(BlockAddress(block_count_), block);
    }
    OpResult result = inner_->apply(op);
    if (bug_ == Bug::kErrno && result.error == ENOENT) result.error = EPERM;
    if (bug_ == Bug::kCount && running_ && op.kind == OpKind::kAppend && result.error == 0) --result.value;
    if (bug_ == Bug::kBytes && running_ && op.kind == OpKind::kRead && result.error == 0) ++result.data.lo;
    if (bug_ == Bug::kNeverFull && op.kind == OpKind::kCreate && result.error == 0) result.error = ENOSPC;
    return result;
  }
  Walk walk() override {
    Walk walk = inner_->walk();
    if (bug_ == Bug::kWalk && mounted_with_files_) walk.error = EIO;
    return walk;
  }
  void fsck(Media& disk, FsckMode mode, RepairReport* report) override {
    checked_ = true;
    checker_->checks_offline()->fsck(disk, mode, report);
    if (bug_ == Bug::kRestless && mode == FsckMode::kRepair && !cut_) scribble(disk);
    if (bug_ == Bug::kFsck && has_files(disk)) report->add(problem_, false);
  }
  Snapshot save() const override { return inner_->saves_memory()->save(); }
  void load(const Snapshot& snapshot, Media& disk) override {
    disk_ = &disk;
    mounted_with_files_ = false;  // these faults are over once the system has come back
    running_ = true;
    inner_->saves_memory()->load(snapshot, disk);
  }

 private:
  static bool has_files(Disk& disk) {
    std::byte inodes[4];
    return disk.read(BlockAddress(0), inodes) == IoStatus::kOk && inodes[0] != std::byte{15};
  }

  // Changes the content of the last data block, which nothing points to on an empty system.
  void scribble(Disk& disk) {
    std::byte block[4];
    const BlockAddress last(block_count_ - 1);
    if (disk.read(last, block) != IoStatus::kOk) return;
    block[3] ^= std::byte{1};
    (void)disk.write(last, block);
  }

  Bug bug_;
  bool cut_ = false, checked_ = false;
  bool mounted_with_files_ = false;
  bool running_ = false;
  Media* disk_ = nullptr;
  uint64_t block_count_;
  uint16_t problem_;  // kOdd, in the table of the kind
  // The model, which flushes at the end of each op or, if that is the fault, does not; its check always does.
  std::unique_ptr<Target> inner_, checker_;
};

DiskSetup setup_for(Bug bug, bool buffered = false) {
  DiskSetup setup;
  const TargetKind kind = right_kind(buffered);
  setup.kind = kind;
  setup.kind.make = [=] { return std::make_unique<Faulty>(kind, bug, buffered); };
  setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kRead, OpKind::kSync);
  setup.bounds.impossible = true;
  setup.cuts.device.order = WriteOrder::kInOrder;
  setup.recovery.both_ways = true;
  return setup;
}

SearchResult search(DiskSetup setup, uint32_t depth = 4) {
  const Result<std::unique_ptr<Check>> check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  return catalogued_search(**check, options);
}

TEST(AdapterTest, TheSystemWithoutAFaultIsClean) {
  EXPECT_EQ(search(setup_for(Bug::kNone)).findings, 0u);
  EXPECT_EQ(search(setup_for(Bug::kNone, true)).findings, 0u);
}

struct Planted {
  Bug bug;
  bool buffered;
  FindingKind found;
};

class PlantedTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedTest, IsFoundByItsKindAndNoOther) {
  const SearchResult result = search(setup_for(GetParam().bug, GetParam().buffered));
  EXPECT_EQ(result.findings, bit(GetParam().found));
  EXPECT_EQ(result.verdict, Verdict::kFail);
}

// Each finding can be told, and the story says what was wrong.
TEST_P(PlantedTest, IsToldWithWhatWasExpected) {
  const auto check = make_disk_check(setup_for(GetParam().bug, GetParam().buffered));
  ASSERT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit_or_none(GetParam().found)).traces;
  ASSERT_FALSE(found.empty());
  const Result<Story> story = (*check)->tell(found[0].trace);
  ASSERT_TRUE(story);
  EXPECT_EQ(catalogue_bits(story->findings), bit(GetParam().found));
  const StoryStep& last = story->steps.back();
  bool observed = false;
  for (const Observation& seen : last.observed)
    observed |= seen.kind == GetParam().found && !seen.text.empty();
  EXPECT_TRUE(observed);
  EXPECT_FALSE(last.expected.empty());
}

INSTANTIATE_TEST_SUITE_P(AdapterTest, PlantedTest,
                         testing::Values(Planted{Bug::kErrno, false, FindingKind::kWrongErrno},
                                         Planted{Bug::kCount, false, FindingKind::kWrongErrno},
                                         Planted{Bug::kBytes, false, FindingKind::kWrongErrno},
                                         Planted{Bug::kEffect, false, FindingKind::kWrongEffect},
                                         Planted{Bug::kNeverFull, false, FindingKind::kWrongEffect},
                                         Planted{Bug::kMount, false, FindingKind::kNotMountable},
                                         Planted{Bug::kWalk, false, FindingKind::kNotWalkable},
                                         Planted{Bug::kFlush, false, FindingKind::kNotAllowed},
                                         Planted{Bug::kFlush, true, FindingKind::kNotAllowed},
                                         Planted{Bug::kFsck, false, FindingKind::kNotClean},
                                         Planted{Bug::kReadOnly, false, FindingKind::kNotUsable},
                                         Planted{Bug::kStray, false, FindingKind::kOutOfRange},
                                         Planted{Bug::kTwoWays, false, FindingKind::kTwoOutcomes},
                                         Planted{Bug::kRestless, false, FindingKind::kNotUsable}));

// A file system that forgets to flush is caught right after the promise: what was promised is gone.
TEST(AdapterTest, LostDurabilityIsCalledSo) {
  const auto check = make_disk_check(setup_for(Bug::kFlush));
  ASSERT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit(FindingKind::kNotAllowed)).traces;
  ASSERT_EQ(found.size(), 1u);
  const Result<Story> story = (*check)->tell(found[0].trace);
  ASSERT_TRUE(story);
  ASSERT_EQ(story->steps.size(), 2u);
  EXPECT_EQ(story->steps[0].op, "create /file0");
  EXPECT_EQ(story->steps[0].text, "answers 0");
  EXPECT_EQ(story->steps[1].observed.back().text,
            "lost durability: the tree just before what was promised came back; file /file0: missing");
  for (const WriteRecord& write : story->writes) {
    const bool lost = std::find(story->steps[1].lost.begin(), story->steps[1].lost.end(), write.number) !=
                      story->steps[1].lost.end();
    EXPECT_EQ(write.status, lost ? WriteStatus::kLost : WriteStatus::kPersisted);
  }
}

// Where the bound leaves crash states out, a clean run is no pass.
TEST(AdapterTest, WhatIsLeftOutMakesTheVerdictUnknown) {
  DiskSetup setup = setup_for(Bug::kNone);
  setup.cuts.enumeration = {.max_states = 1, .edge = 0, .samples = 0};
  const SearchResult result = search(std::move(setup));
  EXPECT_EQ(result.findings, 0u);
  EXPECT_NE(result.marks & kLeftOut, 0u);
  EXPECT_EQ(result.verdict, Verdict::kUnknown);
}

TEST(AdapterTest, DepthFirstVisitsTheSameStates) {
  const auto check = make_disk_check(setup_for(Bug::kNone));
  ASSERT_TRUE(check);
  SearchOptions options;
  const SearchResult breadth = (*check)->search(options, {});
  options.order = SearchOrder::kDepthFirst;
  const SearchResult depth = (*check)->search(options, {});
  EXPECT_TRUE(breadth.exhausted && depth.exhausted);
  EXPECT_EQ(breadth.visited, depth.visited);
  EXPECT_EQ(breadth.transitions, depth.transitions);
}

// Collects all successors of a state.
struct Successors : detail::FullSink<DiskSystem> {
  DiskSystemState& next() { return building; }
  void commit(Choice choice, Outcome) { all.emplace_back(choice, building); }
  DiskSystemState building;
  std::vector<std::pair<Choice, DiskSystemState>> all;
};

TEST(AdapterTest, FollowingAChoiceGivesTheStateThatExpandingGave) {
  for (const Bug bug : {Bug::kNone, Bug::kEffect, Bug::kWalk}) {
    const Result<DiskSystem> system = DiskSystem::make(setup_for(bug));
    ASSERT_TRUE(system);
    DiskSystemState state;
    system->initial(state);
    for (size_t step = 0; step < 12; ++step) {
      Successors successors;
      system->expand(state, successors);
      if (successors.all.empty()) break;
      for (const auto& [choice, expanded] : successors.all) {
        DiskSystemState followed;
        ASSERT_TRUE(system->follow(state, choice, followed));
        EXPECT_EQ(followed.print, expanded.print);
        EXPECT_EQ(followed.over, expanded.over);
      }
      DiskSystemState nowhere;
      EXPECT_FALSE(system->follow(state, DiskMove{.op = 500}.choice(), nowhere));
      EXPECT_FALSE(system->follow(state, DiskMove{0, 1000, 0}.choice(), nowhere));
      state = successors.all[step * 7 % successors.all.size()].second;
    }
  }
}

// Takes the fingerprints of successors, and keeps no states.
struct Prints : detail::FullSink<DiskSystem> {
  static constexpr bool kPrintsOnly = true;
  DiskSystemState& next() { return building; }
  void commit(Choice choice, Outcome) {
    all.emplace_back(choice, shape_ops == 0 ? building.print
                             : by_tree      ? tree_print(building, shape_ops)
                                            : shape_print(building, shape_ops));
  }
  uint32_t shape_ops = 0;
  bool by_tree = false;
  DiskSystemState building;
  std::vector<std::pair<Choice, Digest>> all;
};

TEST(AdapterTest, WhoKeepsNoStatesGetsTheSameFingerprints) {
  for (const Bug bug : {Bug::kNone, Bug::kFlush, Bug::kWalk}) {
    const Result<DiskSystem> system = DiskSystem::make(setup_for(bug));
    ASSERT_TRUE(system);
    DiskSystemState state;
    system->initial(state);
    for (size_t step = 0; step < 12; ++step) {
      Successors full;
      Prints exact, shaped, trees;
      shaped.shape_ops = trees.shape_ops = 3;
      trees.by_tree = true;
      system->expand(state, full);
      system->expand(state, exact);
      ShapedDiskSystem(*system, 3).expand(state, shaped);
      ShapedDiskSystem(*system, 3, PrintKind::kTree).expand(state, trees);
      ASSERT_EQ(full.all.size(), exact.all.size());
      ASSERT_EQ(full.all.size(), trees.all.size());
      ASSERT_EQ(full.all.size(), shaped.all.size());
      for (size_t i = 0; i < full.all.size(); ++i) {
        EXPECT_EQ(exact.all[i].first, full.all[i].first);
        EXPECT_EQ(exact.all[i].second, full.all[i].second.print);
        EXPECT_EQ(shaped.all[i].second, shape_print(full.all[i].second, 3));
        EXPECT_EQ(trees.all[i].second, tree_print(full.all[i].second, 3));
      }
      if (full.all.empty() || full.all[step * 7 % full.all.size()].second.over) break;
      state = full.all[step * 7 % full.all.size()].second;
    }
  }
}

// What a rig has forgotten it works out again.
TEST(AdapterTest, WhatIsRememberedChangesNothing) {
  for (const Bug bug : {Bug::kNone, Bug::kFlush, Bug::kReadOnly}) {
    DiskSetup forgetful = setup_for(bug);
    forgetful.memo_bits = 0;
    const SearchResult a = search(setup_for(bug)), b = search(forgetful);
    EXPECT_EQ(a.visited, b.visited);
    EXPECT_EQ(a.transitions, b.transitions);
    EXPECT_EQ(a.times_found, b.times_found);
    EXPECT_EQ(a.marks, b.marks);
  }
}

TEST(AdapterTest, ATraceOfAnotherSystemIsRefused) {
  const auto check = make_disk_check(setup_for(Bug::kNone));
  ASSERT_TRUE(check);
  const Result<Story> story = (*check)->tell({Choice{900}});
  ASSERT_FALSE(story);
  EXPECT_NE(story.error().message.find("step 1 of the trace asks for choice 900"), std::string::npos);
}

TEST(DiskMoveTest, IsAStableNumber) {
  const DiskMove greatest{DiskMove::kOps - 1, DiskMove::kPositions - 1, DiskMove::kStates - 1};
  for (const DiskMove& move : {DiskMove{}, DiskMove{.op = 511}, DiskMove{3, 1, 0}, greatest})
    EXPECT_EQ(DiskMove::of(move.choice()), move);
  EXPECT_EQ((DiskMove{.op = 5}.choice()), Choice{5});
  EXPECT_EQ((DiskMove{5, 2, 3}.choice()), Choice{5 + 2 * 65536 + (uint64_t{3} << 36)});
}

}  // namespace
}  // namespace sisyfs::adapter_test
