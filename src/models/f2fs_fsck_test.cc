// The offline check of the F2FS model on disks that say anything.
#include "models/f2fs_world_for_test.h"

namespace sisyfs::f2fs {
namespace {

Image grown_disk(RandomOps& random) {
  World world(small_config());
  for (unsigned i = 0; i < 80; ++i) (void)world.perform(random.next(true));
  EXPECT_EQ(world.target->apply(Op::of(OpKind::kSync)).error, 0);
  return world.disk.state().current;
}

void write_block(MemDisk& disk, uint64_t at, std::span<const std::byte> bytes) {
  EXPECT_EQ(disk.write(BlockAddress(at), bytes), IoStatus::kOk);
}

// Changes single bytes, swaps blocks, or puts noise in their place.
void spoil(MemDisk& disk, RandomOps& random, bool near_start) {
  const auto count = static_cast<uint32_t>(disk.geometry().block_count.value);
  for (unsigned n = 1 + random.below(6); n > 0; --n) {
    const uint32_t at = near_start ? random.below(42) : random.below(count);
    Block bytes, other;
    ASSERT_EQ(disk.read(BlockAddress(at), bytes), IoStatus::kOk);
    switch (random.below(4)) {
      case 0:
        bytes[random.below(24)] = static_cast<std::byte>(random.below(256));
        break;
      case 1:
        bytes[random.below(kBlockBytes)] = static_cast<std::byte>(random.below(20));
        break;
      case 2:
        ASSERT_EQ(disk.read(BlockAddress(random.below(count)), other), IoStatus::kOk);
        bytes = other;
        break;
      default:
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
        bytes[0] = static_cast<std::byte>("NDASTHFB"[random.below(8)]);
    }
    write_block(disk, at, bytes);
  }
}

TEST(F2fsFsck, EndsOnAnyDiskAndWhatItMendsStaysMended) {
  unsigned mended = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomOps random(seed, true, Mix::kChurn);
    MemDisk disk(grown_disk(random));
    spoil(disk, random, seed % 2 == 0);
    auto target = make_target(small_config());
    RepairReport first, second;
    target->fsck(disk, FsckMode::kRepair, &first);
    target->fsck(disk, FsckMode::kCheck, &second);
    if (first.error == 0) {
      EXPECT_TRUE(second.clean())
          << "seed " << seed << ", error " << second.error << ", first "
          << (first.problems.empty() ? "clean" : to_text(first.problems[0], target->traits().problems))
          << "; then "
          << (second.problems.empty() ? "" : to_text(second.problems[0], target->traits().problems));
      mended += !first.problems.empty();
    }
    if (HasFailure()) return;
    if (first.error != 0) continue;
    // What was mended can be used.
    ASSERT_EQ(target->mount(disk), 0) << seed;
    EXPECT_EQ(target->walk().error, 0) << seed;
    for (unsigned i = 0; i < 20; ++i) EXPECT_NE(target->apply(random.next(false)).error, EIO) << seed;
  }
  EXPECT_GT(mended, 300u);
}

// Without the check before it, mounting may fail and ops may, but nothing worse happens.
TEST(F2fsFsck, SpoiledDisksDoNoHarmToWhoMountsThem) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    RandomOps random(seed, true, Mix::kChurn);
    MemDisk disk(grown_disk(random));
    spoil(disk, random, seed % 2 == 0);
    auto target = make_target(small_config());
    if (target->mount(disk) != 0) continue;
    (void)target->walk();
    for (unsigned i = 0; i < 30; ++i) {
      (void)target->apply(random.next(true));
      (void)target->walk();
    }
  }
}

TEST(F2fsFsck, CheckWritesNothing) {
  RandomOps random(7, true);
  MemDisk disk(grown_disk(random));
  spoil(disk, random, true);
  const Digest before = disk.state().digest();
  RepairReport report;
  make_target(small_config())->fsck(disk, FsckMode::kCheck, &report);
  EXPECT_EQ(disk.state().digest(), before);
}

TEST(F2fsFsck, EmptyDiskIsAnError) {
  MemDisk disk(Image(Geometry{kBlockBytes, BlockCount(small_config().block_count())}));
  RepairReport report;
  auto target = make_target(small_config());
  target->fsck(disk, FsckMode::kRepair, &report);
  EXPECT_EQ(report.error, EIO);
  EXPECT_EQ(target->mount(disk), EIO);
}

}  // namespace
}  // namespace sisyfs::f2fs
