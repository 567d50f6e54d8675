#include "models/f2fs_world_for_test.h"

namespace sisyfs::f2fs {
namespace {

// Both do the same ops; where the target says that it is full, the reference does nothing.
uint32_t run_against_reference(const Config& config, uint32_t seed, unsigned ops, unsigned* full) {
  World world(config);
  RandomOps random(seed, true);
  Tree tree;
  uint32_t marks = 0;
  for (unsigned i = 0; i < ops; ++i) {
    const Op op = random.next(true);
    Tree after = tree;
    const OpResult expected = sisyfs::apply(op, after);
    const OpResult result = world.perform(op);
    marks |= world.target->take_marks();
    const bool needs_none = op.kind == OpKind::kUnlink || op.kind == OpKind::kRmdir;
    if (expected.error == 0 && !needs_none && (result.error == ENOSPC || result.error == EFBIG)) {
      ++*full;
    } else {
      EXPECT_EQ(result, expected) << to_text(op) << " seed " << seed << " op " << i << " answers "
                                  << errno_text(result.error) << " not " << errno_text(expected.error);
      tree = after;
    }
    const Walk walk = world.target->walk();
    EXPECT_EQ(walk.error, 0) << walk.where.text();
    EXPECT_EQ(walk.tree, tree) << to_text(op) << " seed " << seed << " op " << i;
    if (::testing::Test::HasFailure()) return marks;
    if (op.kind != OpKind::kSync) continue;
    auto other = make_target(config);
    RepairReport report;
    other->fsck(world.disk, FsckMode::kCheck, &report);
    EXPECT_TRUE(report.clean()) << report.error << " seed " << seed << " op " << i << " "
                                << (report.problems.empty()
                                        ? ""
                                        : to_text(report.problems[0], other->traits().problems));
    if (::testing::Test::HasFailure()) return marks;
  }
  return marks;
}

TEST(F2fs, DoesWhatTheReferenceDoes) {
  unsigned full = 0;
  uint32_t marks = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    marks |= run_against_reference(Config{}, seed, 120, &full);
    if (HasFailure()) return;
  }
  EXPECT_NE(marks, 0u);
}

TEST(F2fs, DoesWhatTheReferenceDoesWhenItIsNearlyFull) {
  unsigned full = 0;
  uint32_t marks = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    marks |= run_against_reference(small_config(), seed, 200, &full);
    if (HasFailure()) return;
  }
  EXPECT_GT(full, 100u);
  for (unsigned bit = 0; bit < 9; ++bit) {
    if (bit == 2 || bit == 3 || bit == 6) continue;  // the power stays on; large files are rare
    EXPECT_TRUE(marks >> bit & 1) << World(small_config()).target->traits().marks[bit];
  }
}

TEST(F2fs, LargestFileIsReachedAndNotExceeded) {
  World world{Config{}};
  ASSERT_EQ(world.target->apply(Op::of(OpKind::kCreate, Path("/a"))).error, 0);
  EXPECT_EQ(world.target->apply(Op::append(Path("/a"), kMaxFileBlocks * kBlockBytes)).error, 0);
  EXPECT_EQ(world.target->apply(Op::append(Path("/a"), 1)).error, EFBIG);
  EXPECT_NE(world.target->take_marks(), 0u);
}

TEST(F2fs, SnapshotHasTheSameFuture) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    World world(small_config()), other(small_config());
    RandomOps random(seed, true);
    for (unsigned i = 0; i < 60; ++i) (void)world.perform(random.next(true));
    const Snapshot saved = world.target->save();
    other.disk.load(world.disk.save());
    other.target->load(saved, other.disk);
    EXPECT_EQ(other.target->save().digest(), saved.digest());
    for (unsigned i = 0; i < 60; ++i) {
      const Op op = random.next(true);
      ASSERT_EQ(world.perform(op), other.perform(op)) << to_text(op);
      ASSERT_EQ(world.target->save().digest(), other.target->save().digest()) << to_text(op);
      ASSERT_EQ(world.disk.state().digest(), other.disk.state().digest()) << to_text(op);
    }
  }
}

}  // namespace
}  // namespace sisyfs::f2fs
