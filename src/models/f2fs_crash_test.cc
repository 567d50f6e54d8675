// The F2FS model over power cuts: what comes back is the last checkpoint and the files fsynced since,
// exactly.
#include <map>
#include <optional>

#include "models/f2fs_world_for_test.h"

namespace sisyfs::f2fs {
namespace {

constexpr uint32_t kCheckpointMark = 1u << 1;
constexpr uint32_t kFsyncCheckpointMark = 1u << 8;

// What has to come back: the tree of a checkpoint, and the files that were fsynced since then.
struct Promise {
  Tree base;
  std::map<std::string, std::vector<std::byte>> fsynced;

  Tree tree() const {
    Tree out = base;
    for (const auto& [path, bytes] : fsynced) {
      (void)out.create(path);
      EXPECT_EQ(out.truncate(path, 0), 0) << path;
      EXPECT_EQ(out.write(path, 0, bytes), 0) << path;
    }
    return out;
  }
};

std::vector<std::byte> content(const Tree& tree, const Path& path) {
  Stat stat;
  EXPECT_EQ(tree.stat(path, &stat), 0);
  std::vector<std::byte> bytes(stat.size);
  size_t count = 0;
  EXPECT_EQ(tree.read(path, 0, bytes, &count), 0);
  return bytes;
}

void apply_event(const Event& event, Image& image) {
  for (uint64_t i = 0; i < event.count.value; ++i) {
    std::vector<std::byte> bytes(kBlockBytes);
    if (const sisyfs::Block* block = event.block(i)) {
      const auto from = block->bytes();
      std::copy(from.begin(), from.end(), bytes.begin());
    }
    image.write(event.first + BlockCount(i), bytes);
  }
}

// A random disk that a cut after `end` events leaves: what was flushed, and a prefix or any of the rest.
Image cut(const DiskState& state, size_t end, bool any_order, RandomOps& random) {
  std::vector<const Event*> events;
  state.log.events(events);
  Image image = state.durable;
  size_t flushed = 0;
  for (size_t i = 0; i < end; ++i) {
    if (events[i]->kind == EventKind::kFlush) flushed = i;
  }
  const uint32_t keep = 1 + random.below(8);  // of eight
  for (size_t i = 0; i < end; ++i) {
    const bool pending = i >= flushed;
    if (!events[i]->changes_blocks()) continue;
    if (!pending || !any_order || random.below(8) < keep) apply_event(*events[i], image);
  }
  return image;
}

// What is wrong with a recovery; empty if nothing is.
std::string recover(Target& target, MemDisk& disk, Tree* tree) {
  RepairReport report;
  target.power_cut();
  target.fsck(disk, FsckMode::kCheck, &report);
  if (report.error != 0) return "fsck answers " + errno_text(report.error);
  if (!report.problems.empty()) return to_text(report.problems[0], target.traits().problems);
  if (const int error = target.mount(disk)) return "mount answers " + errno_text(error);
  Walk walk = target.walk();
  if (walk.error != 0) return "walk answers " + errno_text(walk.error);
  *tree = walk.tree;
  return {};
}

struct Outcome {
  std::string wrong;
  uint32_t marks = 0;
};

class History {
 public:
  History(const Config& config, uint32_t seed, bool any_order, bool fsyncs, Mix mix)
      : config_(config),
        world_(config),
        random_(seed, false, mix),
        any_order_(any_order),
        fsyncs_(fsyncs),
        mix_(mix) {}

  Outcome run(unsigned ops) {
    for (unsigned i = 0; i < ops && out_.wrong.empty(); ++i) {
      Op op = random_.next(true);
      if (!fsyncs_ && op.kind == OpKind::kFsync) op = Op::of(OpKind::kSync);
      step(i, op);
      if (out_.wrong.empty() && random_.below(mix_ == Mix::kChurn ? 150 : 25) == 0) go_on_after_a_cut();
    }
    return out_;
  }

  Outcome play(const std::vector<Op>& ops) {
    for (unsigned i = 0; i < ops.size() && out_.wrong.empty(); ++i) step(i, ops[i]);
    return out_;
  }

 private:
  void step(unsigned number, const Op& op) {
    const Tree before_op = tree_;
    const Tree promised = promise_.tree();
    const size_t first = world_.disk.state().log.size();
    const OpResult expected = sisyfs::apply(op, tree_);
    const OpResult result = world_.perform(op);
    const uint32_t marks = world_.target->take_marks();
    out_.marks |= marks;
    if (result.error != 0) tree_ = before_op;
    if (result.error == EIO ||
        (expected.error == 0) != (result.error == 0 || result.error == ENOSPC || result.error == EFBIG)) {
      out_.wrong = to_text(op) + " answers " + errno_text(result.error);
      return;
    }
    std::vector<Tree> allowed = {promised};
    if ((marks & kCheckpointMark) != 0) promise_ = {before_op, {}}, allowed.push_back(before_op);
    Stat stat;
    if (op.kind == OpKind::kFsync && result.error == 0 && (marks & kFsyncCheckpointMark) == 0 &&
        tree_.stat(op.path, &stat) == 0 && stat.type == FileType::kFile)
      keep_fsynced(op.path);
    allowed.push_back(promise_.tree());
    const size_t last = world_.disk.state().log.size();
    for (unsigned cuts = 0; cuts < 4 && out_.wrong.empty(); ++cuts) {
      const size_t end = cuts == 0 ? last : first + random_.below(static_cast<uint32_t>(last - first + 1));
      try_cut(op, number, end, end == last, allowed);
    }
  }

  void keep_fsynced(const Path& path) { promise_.fsynced[std::string(path.text())] = content(tree_, path); }

  void try_cut(const Op& op, unsigned number, size_t end, bool over, const std::vector<Tree>& allowed) {
    MemDisk disk(cut(world_.disk.state(), end, any_order_, random_));
    auto target = make_target(config_);
    Tree tree;
    std::string wrong = recover(*target, disk, &tree);
    out_.marks |= target->take_marks();
    if (wrong.empty() && over && tree != allowed.back()) wrong = "after the op:\n" + listing(tree);
    if (wrong.empty() && std::find(allowed.begin(), allowed.end(), tree) == allowed.end())
      wrong = "during the op:\n" + listing(tree);
    if (wrong.empty()) wrong = cut_recovery(disk, tree);
    if (wrong.empty()) return;
    out_.wrong = "op " + std::to_string(number) + " '" + to_text(op) + "': " + wrong + "\nexpected\n" +
                 listing(allowed.back());
  }

  // Whatever is left of a recovery, the next one brings the same.
  std::string cut_recovery(const MemDisk& recovered, const Tree& tree) {
    const DiskState& state = recovered.state();
    const auto end = random_.below(static_cast<uint32_t>(state.log.size() + 1));
    MemDisk disk(cut(state, end, any_order_, random_));
    auto target = make_target(config_);
    Tree again;
    const std::string wrong = recover(*target, disk, &again);
    if (!wrong.empty()) return "after a cut in recovery: " + wrong;
    return again == tree ? "" : "a cut in recovery changes the outcome:\n" + listing(again);
  }

  void go_on_after_a_cut() {
    const size_t end = world_.disk.state().log.size();
    world_.disk.load(DiskState(cut(world_.disk.state(), end, any_order_, random_)));
    out_.wrong = recover(*world_.target, world_.disk, &tree_);
    (void)world_.target->take_marks();
    promise_ = {tree_, {}};
  }

  Config config_;
  World world_;
  RandomOps random_;
  bool any_order_, fsyncs_;
  Mix mix_;
  Tree tree_;
  Promise promise_;
  Outcome out_;
};

uint32_t expect_right(const Config& config, bool any_order, uint32_t seeds, unsigned ops,
                      Mix mix = Mix::kBroad) {
  uint32_t marks = 0;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    const Outcome outcome = History(config, seed, any_order, true, mix).run(ops);
    EXPECT_EQ(outcome.wrong, "") << "seed " << seed;
    if (!outcome.wrong.empty()) return marks;
    marks |= outcome.marks;
  }
  return marks;
}

void expect_wrong(const Config& config, bool any_order, bool fsyncs, Mix mix = Mix::kBroad) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    if (!History(config, seed, any_order, fsyncs, mix).run(80).wrong.empty()) return;
  }
  ADD_FAILURE() << "nothing was found";
}

TEST(F2fsCrash, KeepsItsPromisesWhenWritesStayInOrder) {
  const uint32_t marks = expect_right(Config{}, false, 60, 80);
  EXPECT_TRUE(marks & 1u << 2) << "nothing was rolled forward";
  EXPECT_TRUE(marks & 1u << 3) << "nothing was rolled back";
}

TEST(F2fsCrash, KeepsItsPromisesWhenWritesAreLostInAnyOrder) { expect_right(Config{}, true, 60, 80); }

TEST(F2fsCrash, KeepsItsPromisesWhenNearlyFull) {
  const uint32_t marks = expect_right(small_config(), true, 60, 120, Mix::kChurn);
  EXPECT_TRUE(marks & 1) << "no garbage was collected";
  EXPECT_TRUE(marks & 1u << 2) << "nothing was rolled forward";
}

TEST(F2fsCrash, KeepsItsPromisesWhileFilesAreWrittenAgainAndAgain) {
  const uint32_t marks = expect_right(Config{}, true, 60, 150, Mix::kChurn);
  EXPECT_TRUE(marks & 1u << 7) << "no segment was written again";
}

TEST(F2fsCrash, SegmentsReusedAtOnceAreFoundLastInFirstOut) {
  Config config;
  config.reuse = Reuse::kLifo;
  expect_wrong(config, false, false, Mix::kChurn);
}

// With the queue, all other free segments come first: it takes a file that is written again for long.
TEST(F2fsCrash, SegmentsReusedAtOnceAreFoundFirstInFirstOut) {
  const Path file("/a");
  std::vector<Op> ops = {Op::of(OpKind::kCreate, file), Op::write(file, 0, 6 * kBlockBytes),
                         Op::of(OpKind::kSync)};
  for (uint8_t i = 1; i < 60; ++i) ops.push_back(Op::write(file, 0, 6 * kBlockBytes, i));
  Config config;
  EXPECT_EQ(History(config, 1, false, true, Mix::kBroad).play(ops).wrong, "");
  config.reuse = Reuse::kFifo;
  EXPECT_NE(History(config, 1, false, true, Mix::kBroad).play(ops).wrong, "");
}

// The story of section 5.3.2: a file that spans segments is written over, a rename makes the block of the
// root's entries invalid, the segments are written again, and the power goes before the checkpoint is
// complete.
TEST(F2fsCrash, TraceOfTheThesisIsFoundWhereSegmentsAreReusedAtOnce) {
  const Path file("/foo");
  const std::vector<Op> ops = {Op::of(OpKind::kMkdir, Path("/A")),
                               Op::of(OpKind::kCreate, file),
                               Op::write(file, 0, 6 * kBlockBytes),
                               Op::of(OpKind::kMkdir, Path("/A/BAR")),
                               Op::of(OpKind::kSync),
                               Op::write(file, 0, 5 * kBlockBytes, 1),
                               Op::of(OpKind::kRename, Path("/A"), Path("/C")),
                               Op::of(OpKind::kSync)};
  unsigned wrong = 0;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Config config;
    EXPECT_EQ(History(config, seed, false, true, Mix::kBroad).play(ops).wrong, "");
    config.reuse = Reuse::kLifo;
    wrong += !History(config, seed, false, true, Mix::kBroad).play(ops).wrong.empty();
  }
  EXPECT_GT(wrong, 0u);
}

TEST(F2fsCrash, TablesWrittenInPlaceAreFound) {
  Config config;
  config.bitmaps = false;
  expect_wrong(config, false, false);
}

TEST(F2fsCrash, FooterBeforeTheBodyIsFound) {
  Config config;
  config.cp_order = CpOrder::kFooterFirst;
  expect_wrong(config, true, false);
}

TEST(F2fsCrash, TablesAfterTheFooterAreFound) {
  Config config;
  config.cp_order = CpOrder::kTablesLast;
  expect_wrong(config, false, false);
}

TEST(F2fsCrash, MissingFlushBeforeTheFooterIsFound) {
  Config config;
  config.cp_flush = false;
  expect_wrong(config, true, false);
}

TEST(F2fsCrash, RecoveryWithoutRollForwardIsFound) {
  Config config;
  config.rollforward = false;
  expect_wrong(config, false, true);
}

}  // namespace
}  // namespace sisyfs::f2fs
