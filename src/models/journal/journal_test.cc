#include <gtest/gtest.h>

#include "models/journal/fsck.h"
#include "models/journal/run_for_test.h"

namespace sisyfs::journal::journal_test {
namespace {

// Few blocks and inodes and the smallest journal: a few ops fill it, and each few commits go around.
Config small() {
  Config c;
  c.blocks = 14;
  c.inodes = 8;
  c.journal = kLeastJournal;
  return c;
}

Config with(Mode mode, Config config = {}) {
  config.mode = mode;
  return config;
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
    options.with_fsck = seed % 2 == 0;
    RandomRun run(options);
    run.ops(ops);
    out.marks |= run.marks();
    if (run.trouble().empty()) continue;
    if (++out.troubled == 1) out.first = "seed " + std::to_string(seed) + ": " + run.trouble();
  }
  return out;
}

constexpr Mode kModes[] = {Mode::kOrdered, Mode::kWriteback, Mode::kData};

// A target on its own disk, which is told what to do.
struct Rig {
  explicit Rig(const Config& config) : target(kind_of(config).make()), disk(Image(kind_of(config).disks)) {
    EXPECT_EQ(target->format(disk), 0);
    disk.load(MediaState(disk.state().current));
    EXPECT_EQ(target->mount(disk), 0);
  }
  int apply(const Op& op) { return target->apply(op).error; }
  int apply(OpKind kind, const char* path) { return apply(Op::of(kind, Path(path))); }
  // The power goes, and all that was written is there.
  void cut() {
    target->power_cut();
    disk.load(MediaState(disk.state().current));
  }
  std::vector<Problem> fsck(FsckMode mode) {
    RepairReport report;
    target->checks_offline()->fsck(disk, mode, &report);
    EXPECT_EQ(report.error, 0);
    return report.problems;
  }
  bool has(const char* path) {
    Stat stat;
    const Walk walk = target->walk();
    EXPECT_EQ(walk.error, 0);
    return walk.tree.lstat(path, &stat) == 0;
  }

  std::unique_ptr<Target> target;
  Media disk;
};

TEST(JournalTest, AnswersAsTheReferenceDoes) {
  for (const Mode mode : kModes) {
    for (const Config& config : {with(mode), with(mode, small())}) {
      EXPECT_EQ(run_many({.config = config, .cut_percent = 0}, 100, 80).first, "");
    }
  }
}

TEST(JournalTest, APowerCutLeavesWhatTheContractAllows) {
  for (const Mode mode : kModes) {
    for (const Config& config : {with(mode), with(mode, small())}) {
      for (const unsigned cuts : {4u, 20u}) {
        const Runs runs = run_many({.config = config, .cut_percent = cuts}, 150, 150);
        EXPECT_EQ(runs.first, "");
        EXPECT_NE(runs.marks & kReplayed, 0u);
        EXPECT_NE(runs.marks & kTornRecord, 0u);
      }
    }
  }
}

// Each mode claims the strongest contract that it keeps: what the next stronger one forbids does happen.
TEST(JournalTest, NoModeKeepsMoreThanItClaims) {
  const auto breaks = [](Mode mode, Contract claim) {
    return run_many({.config = with(mode, small()), .claim = claim, .cut_percent = 5}, 400, 150).troubled;
  };
  EXPECT_EQ(breaks(Mode::kData, Contract::kAtomic), 0u);
  EXPECT_EQ(breaks(Mode::kOrdered, Contract::kOrdered), 0u);
  EXPECT_GT(breaks(Mode::kOrdered, Contract::kAtomic), 0u);
  EXPECT_GT(breaks(Mode::kWriteback, Contract::kOrdered), 0u);
  EXPECT_GT(breaks(Mode::kWriteback, Contract::kFsync), 0u);
}

// A record that shows by itself whether it is whole is as good as one behind a flush.
TEST(JournalTest, TaggedRecordsNeedNoFlushInside) {
  for (const Mode mode : kModes) {
    Config config = with(mode, small());
    config.record = Record::kTagged;
    EXPECT_EQ(run_many({.config = config}, 200, 120).first, "");
  }
}

TEST(JournalTest, ASyncMountKeepsEveryOp) {
  for (const Mode mode : kModes) {
    Config config = with(mode);
    config.sync_mount = true;
    EXPECT_EQ(run_many({.config = config}, 60, 80).first, "");
  }
}

TEST(JournalTest, ALongLifeOnASmallDiskDoesEverythingRare) {
  RunOptions options{.config = small(), .cut_percent = 2};
  options.config.inodes = 16;
  options.config.blocks = 20;
  Runs runs = run_many(options, 12, 1500);
  EXPECT_EQ(runs.first, "");
  options.config = small();
  const Runs more = run_many(options, 12, 1500);
  EXPECT_EQ(more.first, "");
  runs.marks |= more.marks;
  const uint32_t all = kCommitted | kCheckpointed | kForcedCommit | kWrapped | kReplayed | kTornRecord |
                       kRevokeUsed | kDiskFull | kFileTooBig | kInodesUsedUp;
  EXPECT_EQ(runs.marks & all, all);
}

// The twin corpora: each switch in its wrong position is noticed by runs that are silent above. Cuts inside
// recovery are among them.
TEST(JournalTest, EachPlantedBugIsNoticed) {
  const auto noticed = [](void (*plant)(Config&)) {
    Config config = small();
    plant(config);
    return run_many({.config = config, .cut_percent = 10}, 300, 150).troubled;
  };
  EXPECT_GT(noticed([](Config& c) { c.record = Record::kEnds; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.commit_barrier = CommitBarrier::kNoBefore; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.commit_barrier = CommitBarrier::kNoAfter; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.commit_barrier = CommitBarrier::kNone; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.replay_flush = false; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.fsck.flushes = false; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.early_clean = true; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.abort_leak = true, c.blocks = 4; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.fsck.writes_map = false; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.store_error = true; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.fsync.parent = false; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.fsync.size = false; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.sync_bitmap = false; }), 0u);
  EXPECT_GT(noticed([](Config& c) { c.sync_mount = true, c.osync_metadata = false; }), 0u);
}

// What was freed has to be used again while the journal still holds it: with few names, and few cuts.
TEST(JournalTest, BugsOfReuseAreNoticedInLongerLives) {
  RunOptions options{.config = {}, .cut_percent = 4, .sync_percent = 70, .names = {"a", "b"}};
  options.config.journal = kMaxJournal;
  EXPECT_EQ(run_many(options, 400, 200).first, "");
  options.config.revoke = false;
  EXPECT_GT(run_many(options, 400, 200).troubled, 0u);
  options.config.revoke = true;
  options.config.reuse_checked = false;
  EXPECT_GT(run_many(options, 400, 200).troubled, 0u);
}

// FiSC 7.1, Figure 4: recovery clears the journal, the power goes, and the journal is on the disk and what it
// was cleared for is not.
TEST(JournalTest, ClearingTheJournalBeforeAFlushLosesWhatWasReplayed) {
  const auto survives = [](const Config& config, bool by_fsck) {
    Rig rig(config);
    EXPECT_EQ(rig.apply(OpKind::kCreate, "/a"), 0);
    EXPECT_EQ(rig.apply(OpKind::kFsync, "/a"), 0);
    rig.cut();
    RepairReport report;
    if (by_fsck)
      rig.target->checks_offline()->fsck(rig.disk, FsckMode::kRepair, &report);
    else
      EXPECT_EQ(rig.target->mount(rig.disk), 0);
    // Of the first epoch only the journal's superblock reaches the disk.
    Image image = rig.disk.state().durable;
    std::vector<const Event*> events;
    for (const Event* event : rig.disk.state().log.events(events)) {
      if (event->kind == EventKind::kFlush) break;
      if (event->changes_blocks() && event->first.value == Layout::journal_super())
        image.set(event->first, make_block(event->block(0)->bytes()));
    }
    rig.target->power_cut();
    rig.disk.load(MediaState(image));
    report.clear();
    rig.target->checks_offline()->fsck(rig.disk, FsckMode::kRepair, &report);
    EXPECT_EQ(rig.target->mount(rig.disk), 0);
    return rig.has("/a");
  };
  Config wrong;
  wrong.replay_flush = wrong.fsck.flushes = false;
  for (const bool by_fsck : {false, true}) {
    EXPECT_TRUE(survives(Config{}, by_fsck));
    EXPECT_FALSE(survives(wrong, by_fsck));
  }
}

// FiSC 7.1: one bad entry, and the whole directory goes.
TEST(JournalTest, FsckRemovesTheBadEntryAndKeepsTheOthers) {
  for (const bool drops : {false, true}) {
    Config config;
    config.fsck.drops = drops;
    Rig rig(config);
    for (const char* path : {"/a", "/b", "/c"}) EXPECT_EQ(rig.apply(OpKind::kCreate, path), 0);
    EXPECT_EQ(rig.target->unmount(), 0);
    Image image = rig.disk.state().current;
    const BlockAddress root(Layout(config).data(0));
    std::array<std::byte, kBlockSize> bytes;
    image.read(root, bytes);
    auto block = read_from<DirectoryBlock>(bytes.data());
    block.entries[1].ino = static_cast<uint16_t>(-ENOSPC);
    std::memcpy(bytes.data(), &block, sizeof block);
    image.write(root, bytes);
    rig.disk.load(MediaState(image));
    const std::vector<Problem> problems = rig.fsck(FsckMode::kRepair);
    ASSERT_FALSE(problems.empty());
    EXPECT_EQ(problems[0].kind, kBadEntry);
    EXPECT_TRUE(rig.fsck(FsckMode::kCheck).empty());
    EXPECT_EQ(rig.target->mount(rig.disk), 0);
    EXPECT_EQ(rig.has("/a"), !drops);
    EXPECT_FALSE(rig.has("/b"));
    EXPECT_EQ(rig.has("/c"), !drops);
  }
}

// FiSC 7.2: a directory block that cannot be read is taken for one without entries. A name is made a second
// time, and a directory that is not empty is removed.
TEST(JournalTest, AnUnreadableDirectoryIsNotAnEmptyOne) {
  for (const bool right : {true, false}) {
    Config config;
    config.lookup_error = right;
    unsigned made_twice = 0, removed_full = 0;
    for (uint32_t ordinal = 1; ordinal <= 12; ++ordinal) {
      Rig rig(config);
      EXPECT_EQ(rig.apply(OpKind::kMkdir, "/d"), 0);
      EXPECT_EQ(rig.apply(OpKind::kCreate, "/d/a"), 0);
      EXPECT_EQ(rig.apply(OpKind::kSync, "/"), 0);
      const Snapshot memory = rig.target->saves_memory()->save();
      rig.disk.fail_call(ordinal);
      const int created = rig.apply(OpKind::kCreate, "/d/a");
      EXPECT_TRUE(created == EEXIST || created == EIO || !right) << created;
      made_twice += created == 0 ? 1 : 0;
      rig.target->saves_memory()->load(memory, rig.disk);
      rig.disk.fail_call(ordinal);
      const int removed = rig.apply(OpKind::kRmdir, "/d");
      EXPECT_TRUE(removed == ENOTEMPTY || removed == EIO || !right) << removed;
      removed_full += removed == 0 ? 1 : 0;
    }
    EXPECT_EQ(made_twice != 0, !right);
    EXPECT_EQ(removed_full != 0, !right);
  }
}

// A directory block that was freed holds file data now. Its copy in the journal must not come back.
TEST(JournalTest, ARevokedCopyIsNotReplayed) {
  for (const bool revoke : {true, false}) {
    Config config;
    config.revoke = revoke;
    Rig rig(config);
    EXPECT_EQ(rig.apply(OpKind::kCreate, "/f"), 0);
    EXPECT_EQ(rig.apply(OpKind::kMkdir, "/d"), 0);
    EXPECT_EQ(rig.apply(OpKind::kFsync, "/f"), 0);
    EXPECT_EQ(rig.apply(OpKind::kRmdir, "/d"), 0);
    EXPECT_EQ(rig.apply(OpKind::kFsync, "/f"), 0);
    EXPECT_EQ(rig.apply(Op::append(Path("/f"), kBlockSize)), 0);
    EXPECT_EQ(rig.apply(OpKind::kFsync, "/f"), 0);
    const Tree before = rig.target->walk().tree;
    rig.cut();
    EXPECT_TRUE(rig.fsck(FsckMode::kRepair).empty());
    EXPECT_EQ(rig.target->mount(rig.disk), 0);
    EXPECT_EQ(rig.target->walk().tree == before, revoke);
    EXPECT_EQ((rig.target->reaches_marks()->take_marks() & kRevokeUsed) != 0, revoke);
  }
}

// The file is open when its last name goes; it can be read until it is closed, and a power cut frees it.
TEST(JournalTest, AnOrphanLivesUntilItIsClosedOrThePowerGoes) {
  for (const bool cut : {false, true}) {
    Config config;
    config.orphans = true;
    Core core(config);
    Media disk(Image(Geometry{kBlockSize, BlockCount(core.layout().block_count())}));
    ASSERT_EQ(core.format(disk), 0);
    ASSERT_EQ(core.mount(disk), 0);
    ASSERT_EQ(core.sync(), 0);
    const uint64_t blocks = core.memory().block_map;
    const std::array<std::byte, 100> bytes{std::byte{7}};
    EXPECT_EQ(core.create("/a", Type::kFile), 0);
    EXPECT_EQ(core.write("/a", 0, bytes), 0);
    EXPECT_EQ(core.open("/a"), 0);
    const Ino ino = core.find("/a", Last::kFollow).node;
    EXPECT_EQ(core.unlink("/a"), 0);
    EXPECT_EQ(core.fsync("/"), 0);
    std::span<const std::byte> seen;
    EXPECT_EQ(core.read(ino, 0, 100, &seen), 0);
    ASSERT_EQ(seen.size(), 100u);
    EXPECT_EQ(seen[0], std::byte{7});
    EXPECT_NE(core.memory().block_map, blocks);
    if (cut) {
      core.forget();
      RepairReport report;
      Fsck(config).run(disk, FsckMode::kRepair, &report);
      EXPECT_TRUE(report.clean());
      EXPECT_EQ(core.mount(disk), 0);
    } else {
      EXPECT_EQ(core.close(ino), 0);
    }
    EXPECT_NE(core.take_marks() & kOrphanFreed, 0u);
    EXPECT_EQ(core.memory().block_map, blocks);
    EXPECT_EQ(core.memory().orphans, 0u);
    EXPECT_EQ(core.unmount(), 0);
    RepairReport report;
    Fsck(config).run(disk, FsckMode::kCheck, &report);
    EXPECT_TRUE(report.clean());
  }
}

// Each commit brings the ring further, and after any of them a power cut brings everything back.
TEST(JournalTest, TheRingGoesAroundAndLosesNothing) {
  Rig rig(small());
  EXPECT_EQ(rig.apply(OpKind::kCreate, "/a"), 0);
  uint32_t marks = 0;
  for (uint8_t i = 0; i < 40; ++i) {
    EXPECT_EQ(rig.apply(i % 2 == 0 ? Op::append(Path("/a"), kBlockSize, i) : Op::truncate(Path("/a"), 0)), 0);
    EXPECT_EQ(rig.apply(OpKind::kFsync, "/a"), 0);
    const Tree before = rig.target->walk().tree;
    if (i % 5 == 4) {
      rig.cut();
      EXPECT_EQ(rig.target->mount(rig.disk), 0);
    }
    EXPECT_TRUE(rig.target->walk().tree == before);
    marks |= rig.target->reaches_marks()->take_marks();
  }
  EXPECT_EQ(marks & (kWrapped | kCheckpointed | kReplayed), kWrapped | kCheckpointed | kReplayed);
}

TEST(JournalTest, AFullDiskRefusesAndChangesNothing) {
  Config config;
  config.blocks = 4;
  Rig rig(config);
  EXPECT_EQ(rig.apply(OpKind::kCreate, "/a"), 0);
  EXPECT_EQ(rig.apply(Op::append(Path("/a"), 3 * kBlockSize)), 0);
  const Snapshot before = rig.target->saves_memory()->save();
  EXPECT_EQ(rig.apply(OpKind::kMkdir, "/d"), ENOSPC);
  EXPECT_EQ(rig.apply(Op::append(Path("/a"), kBlockSize)), ENOSPC);
  EXPECT_EQ(rig.target->saves_memory()->save().digest(), before.digest());
  // What is freed can be used at once: the commit that this needs is made.
  EXPECT_EQ(rig.apply(OpKind::kFsync, "/a"), 0);
  EXPECT_EQ(rig.apply(OpKind::kUnlink, "/a"), 0);
  EXPECT_EQ(rig.apply(OpKind::kMkdir, "/d"), 0);
}

TEST(JournalTest, AFullDirectoryRefusesFurtherNames) {
  Rig rig(Config{});
  EXPECT_EQ(rig.apply(OpKind::kCreate, "/a"), 0);
  for (char name = 'b'; name <= 'p'; ++name) {
    const std::string path = std::string("/") + name;
    EXPECT_EQ(rig.apply(Op::of(OpKind::kLink, Path("/a"), Path(path))), 0) << path;
  }
  EXPECT_EQ(rig.apply(OpKind::kCreate, "/q"), ENOSPC);
  EXPECT_NE(rig.target->reaches_marks()->take_marks() & kDirectoryFull, 0u);
  // The old entry makes room for the new one.
  EXPECT_EQ(rig.apply(Op::of(OpKind::kRename, Path("/b"), Path("/q"))), 0);
  EXPECT_TRUE(rig.has("/q"));
}

TEST(JournalTest, TheFastCheckReplaysAndLooksNoFurther) {
  Config config;
  config.recovery = Recovery::kFast;
  Rig rig(config);
  EXPECT_EQ(rig.apply(OpKind::kCreate, "/a"), 0);
  EXPECT_EQ(rig.apply(OpKind::kFsync, "/a"), 0);
  rig.cut();
  EXPECT_TRUE(rig.fsck(FsckMode::kRepair).empty());
  EXPECT_TRUE(rig.fsck(FsckMode::kCheck).empty());
  EXPECT_EQ(rig.target->mount(rig.disk), 0);
  EXPECT_TRUE(rig.has("/a"));
}

// A check that may not write sees what a replay would give.
TEST(JournalTest, ACheckOfAJournalThatIsNeededLooksThroughIt) {
  Rig rig(Config{});
  EXPECT_EQ(rig.apply(OpKind::kMkdir, "/d"), 0);
  EXPECT_EQ(rig.apply(OpKind::kFsync, "/d"), 0);
  rig.cut();
  const Digest before = rig.disk.state().current.digest();
  EXPECT_TRUE(rig.fsck(FsckMode::kCheck).empty());
  EXPECT_EQ(rig.disk.state().current.digest(), before);
}

TEST(JournalTest, ASnapshotHasTheSameFuture) {
  RandomRun run({.config = small(), .seed = 5, .cut_percent = 0});
  for (unsigned i = 0; i < 100; ++i) {
    run.ops(3);
    const Snapshot memory = run.target().saves_memory()->save();
    const MediaState disk = run.disk().save();
    const auto other = kind_of(small()).make();
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

// Performs these ops on a new disk, of which the nth access of one fails; at each step a reader sees what
// succeeded, and so it does after a power cut at the end. False: that op makes fewer accesses.
bool survives_failure(const Config& config, std::span<const Op> ops, size_t failing, uint32_t nth) {
  const TargetKind kind = kind_of(config);
  const auto target = kind.make();
  Media disk{Image(kind.disks)};
  EXPECT_EQ(target->format(disk), 0);
  EXPECT_EQ(target->mount(disk), 0);
  Tree tree;
  int last = 0;
  for (size_t at = 0; at < ops.size(); ++at) {
    disk.fail_call(at == failing ? nth : 0);
    last = target->apply(ops[at]).error;
    if (at == failing && !disk.call_failed()) return false;
    disk.fail_call(0);
    Tree after = tree;
    const int expected = sisyfs::apply(ops[at], after).error;
    EXPECT_TRUE(last == expected || at == failing) << to_text(ops[at]);
    if (last == 0) tree = after;
    const Walk walk = target->walk();
    EXPECT_EQ(walk.error, 0);
    EXPECT_TRUE(walk.tree == tree) << "access " << nth << " of " << to_text(ops[failing]) << ": "
                                   << to_text(ops[at]);
  }
  if (last != 0) return true;
  target->power_cut();
  RepairReport report;
  target->checks_offline()->fsck(disk, FsckMode::kRepair, &report);
  EXPECT_TRUE(report.clean()) << "access " << nth << " of " << to_text(ops[failing]);
  EXPECT_EQ(target->mount(disk), 0);
  EXPECT_TRUE(target->walk().tree == tree) << "access " << nth << " of " << to_text(ops[failing]);
  return true;
}

// An op that fails because the device does has changed nothing that a reader sees, and what was promised
// before and after it is kept.
TEST(JournalTest, AFailedAccessChangesNothing) {
  const Op ops[] = {Op::of(OpKind::kMkdir, Path("/d")),    Op::of(OpKind::kCreate, Path("/d/a")),
                    Op::write(Path("/d/a"), 0, 400),       Op::of(OpKind::kFsync, Path("/d/a")),
                    Op::truncate(Path("/d/a"), 20),        Op::of(OpKind::kSync),
                    Op::of(OpKind::kUnlink, Path("/d/a")), Op::of(OpKind::kFsync, Path("/d")),
                    Op::of(OpKind::kCreate, Path("/b")),   Op::of(OpKind::kFsync, Path("/b")),
                    Op::of(OpKind::kFsync, Path("/b"))};
  for (const Mode mode : kModes) {
    unsigned failures = 0;
    for (size_t op = 0; op < std::size(ops); ++op) {
      uint32_t nth = 1;
      while (survives_failure(with(mode), ops, op, nth)) ++nth;
      failures += nth - 1;
    }
    EXPECT_GT(failures, 40u);
  }
}

// Damages a disk in a few places, and does what can be done with it.
struct Hostile {
  explicit Hostile(uint32_t seed, const Config& config)
      : random(seed), run({.config = config, .seed = seed % 20 + 1, .cut_percent = 0}), disk(damaged()) {}

  Image damaged() {
    run.ops(40);
    if (random() % 3 == 0) (void)run.target().apply(Op::of(OpKind::kSync));
    run.target().power_cut();
    Image image = run.disk().state().current;
    const uint64_t blocks = image.geometry().block_count.value;
    for (unsigned k = random() % 10 + 1; k > 0; --k) {
      const BlockAddress at(random() % blocks);
      std::array<std::byte, kBlockSize> bytes;
      image.read(random() % 4 == 0 ? BlockAddress(random() % blocks) : at, bytes);
      const unsigned greatest = random() % 2 == 0 ? 256 : 100;
      for (unsigned n = random() % 4; n > 0; --n)
        bytes[random() % kBlockSize] = static_cast<std::byte>(random() % greatest);
      image.write(at, bytes);
    }
    return image;
  }

  bool use() {
    if (run.target().mount(disk) != 0) return false;
    (void)run.target().walk();
    for (unsigned i = 0; i < 30; ++i) {
      const Op op = run.random_op();
      if (op.kind != OpKind::kRemount) (void)run.target().apply(op);
    }
    (void)run.target().unmount();
    return true;
  }

  std::mt19937 random;
  RandomRun run;
  Media disk;
};

// Whatever is on the disk, the check ends, repair makes it sound or says that it cannot, and what mounts can
// be walked and worked with without harm to us.
TEST(JournalTest, HostileDisksDoNoHarm) {
  unsigned repaired = 0, mounted = 0;
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    Hostile hostile(seed, with(kModes[seed % 3], seed % 2 == 0 ? small() : Config{}));
    RepairReport report, again;
    hostile.run.target().checks_offline()->fsck(hostile.disk, FsckMode::kRepair, &report);
    if (report.error == 0) {
      if (!report.clean()) ++repaired;
      hostile.run.target().checks_offline()->fsck(hostile.disk, FsckMode::kCheck, &again);
      EXPECT_TRUE(again.clean()) << "seed " << seed << ": "
                                 << (again.problems.empty() ? "" : to_text(again.problems[0], kProblems));
      if (hostile.use()) ++mounted;
    }
    EXPECT_EQ(hostile.disk.state().log.strays(), 0u) << seed;
  }
  EXPECT_GT(repaired, 100u);
  EXPECT_GT(mounted, 300u);
}

// Without the repair the rest has to cope with what it finds.
TEST(JournalTest, HostileDisksDoNoHarmUnrepaired) {
  unsigned mounted = 0;
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    Config config = with(kModes[seed % 3], seed % 2 == 0 ? small() : Config{});
    if (seed % 5 == 0) config.record = Record::kTagged;
    if (seed % 7 == 0) config.reuse_checked = false;
    Hostile hostile(seed, config);
    RepairReport report;
    hostile.run.target().checks_offline()->fsck(hostile.disk, FsckMode::kCheck, &report);
    if (hostile.use()) ++mounted;
    EXPECT_EQ(hostile.disk.state().log.strays(), 0u) << seed;
  }
  EXPECT_GT(mounted, 300u);
}

}  // namespace
}  // namespace sisyfs::journal::journal_test
