#include <gtest/gtest.h>

#include <algorithm>

#include "models/f2fs/fsck.h"
#include "models/f2fs/run_for_test.h"

namespace sisyfs::f2fs::f2fs_test {
namespace {

std::string trouble_of(const RunOptions& options, unsigned ops, uint32_t* marks) {
  RandomRun run(options);
  run.ops(ops);
  *marks |= run.marks();
  return run.trouble();
}

// Runs with different seeds; the first trouble, and how often there was any.
struct Runs {
  std::string first;
  unsigned troubled = 0;
  uint32_t marks = 0;
};
Runs run_many(RunOptions options, unsigned runs, unsigned ops) {
  Runs out;
  for (unsigned seed = 1; seed <= runs; ++seed) {
    options.seed = seed;
    options.in_order = seed % 3 == 0;
    const std::string trouble = trouble_of(options, ops, &out.marks);
    if (trouble.empty()) continue;
    if (++out.troubled == 1) out.first = "seed " + std::to_string(seed) + ": " + trouble;
  }
  return out;
}

TEST(F2fsTest, AnswersAsTheReferenceDoes) {
  for (const Config& config : {Config{}, Config::small()}) {
    const Runs runs = run_many({.config = config, .cut_percent = 0}, 300, 60);
    EXPECT_EQ(runs.first, "");
  }
}

TEST(F2fsTest, ALongLifeOnASmallDiskDoesEverythingRare) {
  const Runs runs = run_many({.config = Config::small(), .cut_percent = 2}, 8, 1500);
  EXPECT_EQ(runs.first, "");
  const uint32_t all = kCleaned | kCheckpointWritten | kRolledForward | kRolledBack | kDiskFull |
                       kDirectoryFull | kFileTooBig | kSegmentFreed | kNidsUsedUp | kCleanedInOp;
  EXPECT_EQ(runs.marks & all, all);
}

// Overwrites of many blocks on a disk with hardly a segment to spare: room is made between the blocks, and a
// checkpoint that is written there holds a part of the op.
TEST(F2fsTest, AWriteMakesRoomBetweenItsBlocks) {
  Config config = Config::small();
  config.user_blocks = 20;
  const Runs runs = run_many({.config = config, .cut_percent = 5, .sync_percent = 5}, 100, 400);
  EXPECT_EQ(runs.first, "");
  EXPECT_NE(runs.marks & kCleanedInOp, 0u);
}

// When directories reach the logs is up to the system; the checkpoint alone makes them durable.
TEST(F2fsTest, DirectoriesMayBeWrittenByEachOp) {
  for (Config config : {Config{}, Config::small()}) {
    config.eager_dirs = true;
    const Runs runs = run_many({.config = config, .cut_percent = 10}, 200, 150);
    EXPECT_EQ(runs.first, "");
    EXPECT_NE(runs.marks & kRolledForward, 0u);
  }
}

TEST(F2fsTest, APowerCutLeavesTheCheckpointAndWhatWasSynced) {
  for (const Config& config : {Config{}, Config::small()}) {
    const Runs runs = run_many({.config = config, .cut_percent = 20}, 400, 100);
    EXPECT_EQ(runs.first, "");
    EXPECT_NE(runs.marks & kRolledForward, 0u);
    EXPECT_NE(runs.marks & kRolledBack, 0u);
  }
}

TEST(F2fsTest, OtherBlockSizesWorkAsWell) {
  for (const unsigned size : {kMinBlockSize, kMaxBlockSize}) {
    Config config;
    config.block_size = size;
    EXPECT_EQ(run_many({.config = config}, 60, 80).first, "");
  }
}

// The twin corpora: each switch in its wrong position is noticed by the same runs that are silent above.
TEST(F2fsTest, EachPlantedBugIsFound) {
  const auto found = [](void (*plant)(Config&)) {
    RunOptions options{.config = Config::small()};
    plant(options.config);
    return run_many(options, 400, 150).troubled;
  };
  EXPECT_GT(found([](Config& c) { c.reuse = Reuse::kLifo; }), 0u);
  EXPECT_GT(found([](Config& c) { c.bitmaps = false; }), 0u);
  EXPECT_GT(found([](Config& c) { c.order = CheckpointOrder::kFooterFirst; }), 0u);
  EXPECT_GT(found([](Config& c) { c.order = CheckpointOrder::kTablesLast; }), 0u);
  EXPECT_GT(found([](Config& c) { c.checkpoint_flush = false; }), 0u);
  EXPECT_GT(found([](Config& c) { c.rollforward = false; }), 0u);
}

// First in, first out puts off the reuse: it takes a trace that goes once around the disk without a sync.
TEST(F2fsTest, FifoReuseIsFoundWhereSyncsAreRare) {
  RunOptions options{.config = Config::small(), .cut_percent = 2, .sync_percent = 5};
  EXPECT_EQ(run_many(options, 200, 300).first, "");
  options.config.reuse = Reuse::kFifo;
  EXPECT_GT(run_many(options, 400, 300).troubled, 0u);
}

// Thesis 5.3.2, Figure 5.7: a directory, a file, its data, a checkpoint; then the directory is renamed, which
// writes the root elsewhere, and the file is written again, to where the root was. The power goes before the
// next checkpoint, and the last one leads to the old place of the root: all files and directories are lost.
TEST(F2fsTest, ReuseBeforeTheCheckpointLosesTheRootDirectory) {
  struct Outcome {
    RepairReport found;
    Tree tree;  // after repair and mount
  };
  const auto run = [](Reuse reuse) {
    Config config;
    config.reuse = reuse;
    config.eager_dirs = true;
    const TargetKind kind = kind_of(config);
    const auto target = kind.make();
    Media disk{Image(kind.disks)};
    EXPECT_EQ(target->format(disk), 0);
    EXPECT_EQ(target->mount(disk), 0);
    const uint32_t six = 6 * config.block_size;
    for (const Op& op : {Op::of(OpKind::kMkdir, Path("/A")), Op::of(OpKind::kCreate, Path("/foo")),
                         Op::write(Path("/foo"), 0, six), Op::of(OpKind::kSync),
                         Op::of(OpKind::kRename, Path("/A"), Path("/C")), Op::write(Path("/foo"), 0, six, 1)})
      EXPECT_EQ(target->apply(op).error, 0) << to_text(op);
    target->power_cut();
    Outcome out;
    target->checks_offline()->fsck(disk, FsckMode::kRepair, &out.found);
    EXPECT_EQ(target->mount(disk), 0);
    const Walk walk = target->walk();
    EXPECT_EQ(walk.error, 0);
    out.tree = walk.tree;
    return out;
  };
  const Outcome right = run(Reuse::kCheckpoint), wrong = run(Reuse::kLifo);
  Stat stat;
  EXPECT_TRUE(right.found.clean());
  EXPECT_EQ(right.tree.stat("/A", &stat), 0);
  EXPECT_EQ(right.tree.stat("/foo", &stat), 0);
  ASSERT_FALSE(wrong.found.clean());
  EXPECT_EQ(wrong.found.problems[0].kind, kNoRoot);
  EXPECT_TRUE(wrong.tree.children(kRootNode).empty()) << "nothing is left";
}

TEST(F2fsTest, ASnapshotHasTheSameFuture) {
  RandomRun run({.config = Config::small(), .seed = 5, .cut_percent = 0});
  for (unsigned i = 0; i < 100; ++i) {
    run.ops(3);
    const Snapshot memory = run.target().saves_memory()->save();
    const MediaState disk = run.disk().save();
    const auto other = kind_of(Config::small()).make();
    Media copy(disk);
    other->saves_memory()->load(memory, copy);
    EXPECT_EQ(other->saves_memory()->save().digest(), memory.digest());
    for (unsigned k = 0; k < 5; ++k) {
      Op op = run.random_op();
      if (op.kind == OpKind::kRemount) op = Op::of(OpKind::kSync);
      EXPECT_EQ(run.target().apply(op), other->apply(op)) << to_text(op);
      EXPECT_EQ(run.target().saves_memory()->save().digest(), other->saves_memory()->save().digest())
          << to_text(op);
    }
    EXPECT_EQ(run.disk().state().current, copy.state().current);
    run.disk().load(disk);
    run.target().saves_memory()->load(memory, run.disk());
  }
  EXPECT_EQ(run.trouble(), "");
}

// Whatever is on the disk, the check ends, repair makes it sound or says that it cannot, and what mounts can
// be walked and worked with without harm to us.
TEST(F2fsTest, HostileDisksDoNoHarm) {
  unsigned repaired = 0, mounted = 0;
  for (uint32_t seed = 1; seed <= 600; ++seed) {
    RandomRun run({.config = Config::small(), .seed = seed % 20 + 1, .cut_percent = 0});
    run.ops(40);
    EXPECT_EQ(run.target().apply(Op::of(OpKind::kSync)).error, 0);
    run.target().power_cut();
    std::mt19937 random(seed);
    Image image = run.disk().state().current;
    const Geometry geometry = image.geometry();
    for (unsigned k = random() % 12 + 1; k > 0; --k) {
      const BlockAddress at(random() % geometry.block_count.value);
      std::vector<std::byte> bytes(geometry.block_size);
      image.read(random() % 4 == 0 ? BlockAddress(random() % geometry.block_count.value) : at, bytes);
      for (unsigned n = random() % 4; n > 0; --n)
        bytes[random() % 70] = static_cast<std::byte>(random() % 40);
      image.write(at, bytes);
    }
    Media disk((MediaState(image)));
    RepairReport report, again;
    run.target().checks_offline()->fsck(disk, FsckMode::kRepair, &report);
    if (report.error != 0) continue;
    if (!report.clean()) ++repaired;
    run.target().checks_offline()->fsck(disk, FsckMode::kCheck, &again);
    EXPECT_TRUE(again.clean()) << "seed " << seed << ": "
                               << (again.problems.empty() ? "" : to_text(again.problems[0], kProblems));
    if (run.target().mount(disk) != 0) continue;
    ++mounted;
    (void)run.target().walk();
    for (unsigned i = 0; i < 20; ++i) {
      Op op = run.random_op();
      if (op.kind != OpKind::kRemount) (void)run.target().apply(op);
    }
    (void)run.target().unmount();
    EXPECT_EQ(disk.state().log.strays(), 0u);
  }
  EXPECT_GT(repaired, 100u);
  EXPECT_GT(mounted, 100u);
}

// Without the repair the rest has to cope with what it finds.
TEST(F2fsTest, HostileDisksDoNoHarmUnrepaired) {
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    RandomRun run({.config = Config::small(), .seed = seed % 20 + 1, .cut_percent = 0});
    run.ops(40);
    run.target().power_cut();
    std::mt19937 random(seed);
    Image image = run.disk().state().current;
    for (unsigned k = 0; k < 6; ++k) {
      const BlockAddress at(random() % image.geometry().block_count.value);
      std::vector<std::byte> bytes(image.geometry().block_size);
      image.read(at, bytes);
      bytes[random() % 70] = static_cast<std::byte>(random() % 256);
      image.write(at, bytes);
    }
    Media disk((MediaState(image)));
    if (run.target().mount(disk) != 0) continue;
    (void)run.target().walk();
    for (unsigned i = 0; i < 20; ++i) {
      const Op op = run.random_op();
      if (op.kind != OpKind::kRemount) (void)run.target().apply(op);
    }
    (void)run.target().unmount();
    EXPECT_EQ(disk.state().log.strays(), 0u);
  }
}

// An op that fails because the device does has changed nothing that a reader sees.
TEST(F2fsTest, AFailedAccessChangesNothing) {
  const Op ops[] = {Op::of(OpKind::kMkdir, Path("/d")),
                    Op::of(OpKind::kCreate, Path("/d/a")),
                    Op::write(Path("/d/a"), 0, 900),
                    Op::of(OpKind::kSync),
                    Op::truncate(Path("/d/a"), 20),
                    Op::of(OpKind::kFsync, Path("/d/a")),
                    Op::of(OpKind::kSync)};
  const Config config = Config::small();
  // False: this op makes fewer accesses.
  const auto survives_failure = [&](size_t failing, uint32_t nth) {
    const TargetKind kind = kind_of(config);
    const auto target = kind.make();
    Media disk{Image(kind.disks)};
    EXPECT_EQ(target->format(disk), 0);
    EXPECT_EQ(target->mount(disk), 0);
    Tree tree;
    for (size_t at = 0; at < std::size(ops); ++at) {
      disk.fail_call(at == failing ? nth : 0);
      const OpResult result = target->apply(ops[at]);
      if (at == failing && !disk.call_failed()) return false;
      disk.fail_call(0);
      if (result.error == 0) (void)sisyfs::apply(ops[at], tree);
      const Walk walk = target->walk();
      EXPECT_EQ(walk.error, 0);
      EXPECT_TRUE(walk.tree == tree) << "access " << nth << " of " << to_text(ops[failing]) << ": "
                                     << to_text(ops[at]);
    }
    return true;
  };
  unsigned failures = 0;
  for (size_t op = 0; op < std::size(ops); ++op) {
    uint32_t nth = 1;
    while (survives_failure(op, nth)) ++nth;
    failures += nth - 1;
  }
  EXPECT_GT(failures, 30u);
}

// Data of an open file stays in the pool until it is closed; what does not fit there is written early.
TEST(F2fsTest, AnOpenFileIsWrittenWhenItIsClosed) {
  Core core{Config{}};
  Media disk(Image(Geometry{148, BlockCount(core.layout().block_count())}));
  ASSERT_EQ(core.format(disk), 0);
  ASSERT_EQ(core.mount(disk), 0);
  ASSERT_EQ(core.create("/a", false), 0);
  EXPECT_EQ(core.open("/b"), ENOENT);
  EXPECT_EQ(core.open("/"), EISDIR);
  ASSERT_EQ(core.open("/a"), 0);
  std::vector<std::byte> data(22 * 148, std::byte{7});
  const auto reads_back = [&] {
    std::span<const std::byte> bytes;
    const Nid ino = core.find("/a").node;
    return core.read(ino, 0, data.size(), &bytes) == 0 && std::ranges::equal(bytes, data);
  };
  const size_t events = disk.state().log.size();
  ASSERT_EQ(core.write("/a", 0, std::span(data).first(6 * 148)), 0);
  EXPECT_EQ(disk.state().log.size(), events) << "all of it is in the pool";
  ASSERT_EQ(core.close("/a"), 0);
  EXPECT_GT(disk.state().log.size(), events);
  ASSERT_EQ(core.open("/a"), 0);
  core.take_marks();
  ASSERT_EQ(core.write("/a", 0, data), 0);
  EXPECT_NE(core.take_marks() & kPageEvicted, 0u);
  EXPECT_TRUE(reads_back());
  ASSERT_EQ(core.fsync("/a"), 0);
  EXPECT_TRUE(reads_back());
  // Still open: what follows is lost with the power, what was synced is not.
  data[0] = std::byte{9};
  ASSERT_EQ(core.write("/a", 0, std::span(data).first(1)), 0);
  EXPECT_TRUE(reads_back());
  core.forget();
  ASSERT_EQ(core.mount(disk), 0);
  data[0] = std::byte{7};
  EXPECT_TRUE(reads_back());
  RepairReport report;
  ASSERT_EQ(core.unmount(), 0);
  Fsck(Config{}).run(disk, FsckMode::kCheck, &report);
  EXPECT_TRUE(report.clean());
}

TEST(F2fsTest, BlocksAreNamedAndDescribed) {
  const TargetKind kind = kind_of(Config{});
  const auto target = kind.make();
  const NamesBlocks& names = *target->names_blocks();
  Media disk{Image(kind.disks)};
  EXPECT_EQ(names.name_block(0, disk), "header of checkpoint pack 0");
  EXPECT_EQ(names.name_block(5, disk), "footer of checkpoint pack 1");
  EXPECT_EQ(names.name_block(6, disk), "SIT block 0, copy 0");
  EXPECT_EQ(names.name_block(6 + 30, disk), "NAT block 0, copy 0");
  EXPECT_EQ(names.name_block(6 + 38 + 60 + 5, disk), "segment 1 block 1");
  ASSERT_EQ(target->format(disk), 0);
  std::vector<std::byte> bytes(148);
  disk.state().current.read(BlockAddress(3), bytes);
  EXPECT_EQ(names.describe_write(3, bytes), "version 1");
  // The root's inode is the first of the hot node log.
  const uint64_t root = 6 + 38 + 60 + 3 * 4;
  disk.state().current.read(BlockAddress(root), bytes);
  EXPECT_EQ(names.describe_write(root, bytes), "inode 1 '' in 1: directory of 0 bytes, data 0 0, nodes 0 0");
  // The first dentry block is the first of the hot data log.
  ASSERT_EQ(target->mount(disk), 0);
  ASSERT_EQ(target->apply(Op::of(OpKind::kCreate, Path("/a"))).error, 0);
  ASSERT_EQ(target->apply(Op::of(OpKind::kMkdir, Path("/d"))).error, 0);
  ASSERT_EQ(target->apply(Op::of(OpKind::kSync)).error, 0);
  const uint64_t entries = 6 + 38 + 60;
  disk.state().current.read(BlockAddress(entries), bytes);
  EXPECT_EQ(names.describe_write(entries, bytes), "entries: 'a' is file 2 'd' is directory 3");
}

}  // namespace
}  // namespace sisyfs::f2fs::f2fs_test
