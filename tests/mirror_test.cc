// A target with two disks: a mirror. Right, and with a bug that shows only if one disk loses a write that the
// other one keeps.
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "disk/media.h"
#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "judge/disk_system.h"

namespace sisyfs::mirror_test {
namespace {

enum class Mirror {
  kRight,       // sync flushes both disks; mount reads disk 0 and copies it to disk 1
  kOneFlush,    // sync flushes disk 0 only; mount reads disk 1
  kAlternates,  // mount takes each block from another disk
};

// Two files, "a" and "b", each absent or empty: one block each, on both disks.
class MirrorTarget : public Target, public SavesMemory {
 public:
  explicit MirrorTarget(Mirror mirror) : mirror_(mirror) {}

  static TargetKind kind(Mirror mirror) {
    TargetKind kind;
    kind.ops = OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kSync);
    kind.claims.contract = Contract::kAtomic;
    kind.claims.mount_recovers = true;
    kind.limits.max_files = 2;
    kind.limits.fixed_names = {"a", "b"};
    kind.disks = {.block_size = 4, .block_count = BlockCount(2), .erase_blocks = 0, .disks = 2};
    kind.make = [mirror] { return std::make_unique<MirrorTarget>(mirror); };
    return kind;
  }

  SavesMemory* saves_memory() override { return this; }
  int format(Media&) override { return 0; }
  int mount(Media& media) override {
    media_ = &media;
    files_ = read(mirror_ == Mirror::kOneFlush ? 1 : 0);
    if (mirror_ == Mirror::kAlternates) files_ = static_cast<uint8_t>((read(0) & 1) | (read(1) & 2));
    if (mirror_ == Mirror::kRight && read(1) != files_) {
      write(1);
      (void)media.disk(1).flush();
    }
    return 0;
  }
  int unmount() override { return power_cut(), 0; }
  void power_cut() override { files_ = 0; }
  OpResult apply(const Op& op) override {
    if (op.kind == OpKind::kSync) {
      (void)media_->disk(0).flush();
      if (mirror_ != Mirror::kOneFlush) (void)media_->disk(1).flush();
      return {};
    }
    const auto bit = static_cast<uint8_t>(op.path.text()[1] == 'a' ? 1 : 2);
    const bool there = (files_ & bit) != 0;
    if (op.kind == OpKind::kCreate && there) return OpResult::of(EEXIST);
    if (op.kind == OpKind::kUnlink && !there) return OpResult::of(ENOENT);
    files_ ^= bit;
    write(0);
    write(1);
    return {};
  }
  Walk walk() override {
    Walk out;
    for (const char* path : {"/a", "/b"})
      if ((files_ & (path[1] == 'a' ? 1 : 2)) != 0)
        (void)sisyfs::apply(Op::of(OpKind::kCreate, Path(path)), out.tree);
    return out;
  }
  Snapshot save() const override { return Snapshot(files_); }
  void load(const Snapshot& snapshot, Media& media) override {
    media_ = &media;
    files_ = snapshot.as<uint8_t>();
  }

 private:
  uint8_t read(uint32_t disk) {
    std::byte block[4];
    EXPECT_EQ(media_->disk(disk).read(BlockAddress(0), block), IoStatus::kOk);
    return static_cast<uint8_t>(block[0]);
  }
  void write(uint32_t disk) {
    const std::byte block[4] = {std::byte{files_}};
    EXPECT_EQ(media_->disk(disk).write(BlockAddress(0), block), IoStatus::kOk);
  }

  Mirror mirror_;
  Media* media_ = nullptr;
  uint8_t files_ = 0;
};

DiskSetup setup_of(Mirror mirror, bool lazy, WriteOrder order = WriteOrder::kFree) {
  DiskSetup setup;
  setup.kind = MirrorTarget::kind(mirror);
  setup.bounds.ops = setup.kind.ops;
  setup.bounds.max_files = 2;
  setup.cuts.lazy = lazy;
  setup.cuts.device.order = order;
  setup.max_system_ops = 3;
  return setup;
}

FindingBits findings_of(const DiskSetup& setup) {
  const auto check = make_disk_check(setup);
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = 4;
  return catalogued_search(**check, options).findings;
}

TEST(MirrorTest, ARightMirrorKeepsItsPromisesEagerlyAndLazily) {
  for (const bool lazy : {false, true})
    for (const WriteOrder order : {WriteOrder::kFree, WriteOrder::kInOrder})
      EXPECT_EQ(findings_of(setup_of(Mirror::kRight, lazy, order)), 0u) << lazy;
}

TEST(MirrorTest, AFlushOfOneDiskPromisesNothingOfTheOther) {
  for (const bool lazy : {false, true})
    EXPECT_EQ(findings_of(setup_of(Mirror::kOneFlush, lazy)), bit(FindingKind::kNotAllowed)) << lazy;
}

// "a" and "b" are created. Disk 0 loses both writes and disk 1 none: "b" comes back without "a". Both disks
// keep order, so a bug of one disk alone would not show this.
TEST(MirrorTest, AnIndependentLossOnOneDiskShowsABugThatACommonLossDoesNot) {
  for (const bool lazy : {false, true}) {
    const DiskSetup setup = setup_of(Mirror::kAlternates, lazy, WriteOrder::kInOrder);
    EXPECT_EQ(findings_of(setup), bit(FindingKind::kNotAllowed)) << lazy;
    // On a device that writes through, a cut keeps a prefix of the writes to all disks together.
    DiskSetup tied = setup;
    tied.cuts.device.cache = WriteCache::kWriteThrough;
    tied.bounds.ops = tied.bounds.ops - OpSet(OpKind::kUnlink);
    EXPECT_EQ(findings_of(tied), 0u) << lazy;
  }
}

// The trees that power cuts bring back on all paths of so many steps, with what is found.
struct Gather : detail::FullSink<DiskSystem> {
  DiskSystemState& next() { return built; }
  void commit(Choice, const Outcome& outcome) {
    all.emplace(outcome.findings, built.over ? Digest{} : built.expectation.now().digest());
    if (!built.over && seen.insert(built.expectation.now().digest() + Digest{0, built.system_ops}).second)
      states.push_back(built);
  }
  DiskSystemState built;
  std::set<std::pair<FindingBits, Digest>> all;
  std::set<Digest> seen;
  std::vector<DiskSystemState> states;
};

TEST(MirrorTest, EagerAndLazyBringBackTheSame) {
  for (const Mirror mirror : {Mirror::kRight, Mirror::kOneFlush, Mirror::kAlternates}) {
    std::set<std::pair<FindingBits, Digest>> outcomes[2];
    for (const bool lazy : {false, true}) {
      const Result<DiskSystem> system = DiskSystem::make(setup_of(mirror, lazy));
      ASSERT_TRUE(system);
      Gather gather;
      gather.states.resize(1);
      system->initial(gather.states[0]);
      for (size_t i = 0; i < gather.states.size() && i < 200; ++i) {
        const DiskSystemState from = gather.states[i];
        system->expand(from, gather);
      }
      outcomes[lazy ? 1 : 0] = gather.all;
    }
    EXPECT_GT(outcomes[0].size(), 3u);
    EXPECT_EQ(outcomes[0], outcomes[1]) << static_cast<int>(mirror);
  }
}

// A finding names the disk of each lost write, and is executed again by these names.
TEST(MirrorTest, AFindingNamesTheDiskOfEachLostWrite) {
  const auto check = make_disk_check(setup_of(Mirror::kOneFlush, true));
  ASSERT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit(FindingKind::kNotAllowed)).traces;
  ASSERT_EQ(found.size(), 1u);
  const Result<std::vector<Step>> steps = (*check)->steps(found[0].trace);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->back().cuts.size(), 1u);
  for (const LostEvent& lost : steps->back().cuts[0].lost) {
    EXPECT_EQ(lost.event.disk, 1u);
    EXPECT_EQ(lost.event.address, 0u) << "on that disk";
  }
  EXPECT_FALSE(steps->back().cuts[0].lost.empty());
  EXPECT_TRUE((*check)->replay(*steps).story.shows(FindingKind::kNotAllowed));
}

}  // namespace
}  // namespace sisyfs::mirror_test
