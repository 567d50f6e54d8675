// A random run of the journal model beside the reference tree, with power cuts. For tests.
//
//   RandomRun run({.config = {}, .seed = 7});
//   run.ops(200);
//   EXPECT_EQ(run.trouble(), "");
//
// What a power cut may leave is asked of the Expectation, under the contract that the target claims. The
// power goes a second time while it recovers, and then the same must come back.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "disk/media.h"
#include "expect/expectation.h"
#include "models/cut_for_test.h"
#include "models/journal/core.h"
#include "models/journal/target.h"
#include "tree/tree_text.h"

namespace sisyfs::journal {

struct RunOptions {
  Config config;
  std::optional<Contract> claim = {};  // instead of what the target claims
  uint32_t seed = 1;
  bool in_order = false;       // a power cut keeps a prefix of the writes, and not any of them
  bool with_fsck = true;       // recovery is fsck and mount, and not mount alone
  unsigned cut_percent = 20;   // ops after which the power goes
  unsigned sync_percent = 50;  // of the syncs that are drawn, so many are done
  std::vector<std::string> names = {"a", "b", "c", "d", "e"};
};

class RandomRun {
 public:
  explicit RandomRun(const RunOptions& options)
      : options_(options),
        random_(options.seed),
        kind_(kind_of(options.config)),
        target_(kind_.make()),
        disk_(Image(kind_.disks)),
        expected_(options.claim.value_or(kind_.claims.contract), Tree(),
                  {.data_unit = kBlockSize, .fsync_names = true}) {
    if (target_->format(disk_) != 0) fail("format fails");
    disk_.load(MediaState(disk_.state().current));
    if (target_->mount(disk_) != 0) fail("mount fails");
    target_->reaches_marks()->take_marks();
  }

  // The first thing that went wrong; empty if nothing did.
  const std::string& trouble() const { return trouble_; }
  uint32_t marks() const { return marks_; }
  Target& target() { return *target_; }
  Media& disk() { return disk_; }
  const Tree& tree() const { return expected_.now(); }

  void ops(unsigned count) {
    for (unsigned i = 0; i < count && trouble_.empty(); ++i) {
      const Op op = random_op();
      if (!waits(op.kind) || pick(100) < options_.sync_percent) step(op);
    }
  }

  Op random_op() {
    const Path path = random_path();
    const auto version = static_cast<uint8_t>(pick(200));
    const uint32_t lengths[] = {1, kBlockSize, kBlockSize * 2 + 7, kBlockSize * 5, 0};
    const uint64_t offsets[] = {0, kBlockSize, kBlockSize * 3 + 5, kBlockSize * 7};
    switch (pick(20)) {
      case 0:
      case 1:
      case 2:
        return Op::of(OpKind::kCreate, path);
      case 3:
        return Op::of(OpKind::kMkdir, path);
      case 4:
        return Op::of(OpKind::kUnlink, path);
      case 5:
        return Op::of(OpKind::kRmdir, path);
      case 6:
      case 7:
        return Op::of(OpKind::kRename, path, random_path());
      case 8:
        return Op::of(OpKind::kLink, path, random_path());
      case 9:
        return Op::of(OpKind::kSymlink, path, pick(2) == 0 ? random_path() : Path("../a"));
      case 10:
      case 11:
        return Op::write(path, offsets[pick(4)], lengths[pick(5)], version);
      case 12:
        return Op::append(path, lengths[pick(5)], version);
      case 13:
        return Op::truncate(path, pick(3) == 0 ? 0 : pick(kBlockSize * 13));
      case 14:
        return Op::read(path, offsets[pick(4)], lengths[pick(5)]);
      case 15:
        return Op::of(pick(2) == 0 ? OpKind::kReaddir : OpKind::kStat, path);
      case 16:
        return Op::of(pick(2) == 0 ? OpKind::kOpen : OpKind::kClose, path);
      case 17:
        return Op::of(pick(4) == 0 ? OpKind::kRemount : OpKind::kSync);
      default:
        return Op::of(pick(2) == 0 ? OpKind::kFsync : OpKind::kFdatasync, path);
    }
  }

  void step(const Op& op) {
    trace_ += to_text(op) + "\n";
    const size_t events_before = disk_.state().log.size();
    Tree after = expected_.now();
    const OpResult expected = sisyfs::apply(op, after);
    if (op.kind == OpKind::kRemount && expected.error != 0) return;
    const OpResult result = perform(op);
    marks_ |= target_->reaches_marks()->take_marks();
    const bool refused = (result.error == EFBIG || result.error == ENOSPC) && expected.error == 0;
    if (!refused && result != expected)
      return fail(fmt::format("'{}' answers {}, expected {}", to_text(op), errno_text(result.error),
                              errno_text(expected.error)));
    Expectation during = expected_;
    if (result.error == 0) {
      during.begin_op(after);
      expected_.begin_op(after);
      expected_.end_op(0);
      const bool fsync = op.kind == OpKind::kFsync || op.kind == OpKind::kFdatasync;
      if (waits(op.kind) && (!fsync || kind_.claims.fsync_all)) expected_.promise_all();
      if (kind_.claims.all_durable()) expected_.promise_all();
    }
    const Walk walk = target_->walk();
    if (walk.error != 0 || !(walk.tree == expected_.now()))
      return fail(fmt::format("after '{}': {} {}", to_text(op), errno_text(walk.error),
                              first_difference(walk.tree, expected_.now())));
    if (pick(100) < options_.cut_percent)
      power_cut(during, events_before);
    else if (disk_.state().log.size() > 200)
      forget_settled(disk_);
  }

 private:
  static bool waits(OpKind kind) {
    return kind == OpKind::kSync || kind == OpKind::kRemount || kind == OpKind::kFsync ||
           kind == OpKind::kFdatasync;
  }

  void power_cut(const Expectation& during, size_t events_before) {
    const size_t end = disk_.state().log.size();
    const size_t cut = events_before + pick(static_cast<uint32_t>(end - events_before + 1));
    const Expectation& allowed = cut == end ? expected_ : during;
    trace_ += "power cut\n";
    disk_.load(MediaState(crash_image(disk_.state(), cut)));
    Tree first, second;
    if (!recover(&first)) return;
    if (!allowed.crash_allowed(first)) return fail("after a power cut: " + allowed.why_not(first));
    // The power goes again while it recovers.
    const Image again = crash_image(disk_.state(), pick(static_cast<uint32_t>(disk_.state().log.size() + 1)));
    disk_.load(MediaState(again));
    if (!recover(&second)) return;
    if (!(second == first)) return fail("after a second power cut: " + first_difference(second, first));
    expected_.collapse(second);
    disk_.load(MediaState(disk_.state().current));
  }

  bool recover(Tree* tree) {
    target_->power_cut();
    RepairReport report;
    if (options_.with_fsck) target_->checks_offline()->fsck(disk_, FsckMode::kRepair, &report);
    if (!report.clean()) return fail("fsck: " + text_of(report)), false;
    if (const int error = target_->mount(disk_)) return fail("mount answers " + errno_text(error)), false;
    marks_ |= target_->reaches_marks()->take_marks();
    Walk walk = target_->walk();
    if (walk.error != 0) return fail("the walk answers " + errno_text(walk.error)), false;
    *tree = walk.tree;
    return true;
  }

  std::string text_of(const RepairReport& report) const {
    return report.problems.empty() ? "fails" : to_text(report.problems[0], kind_.words.problems);
  }

  OpResult perform(const Op& op) {
    if (op.kind != OpKind::kRemount) return target_->apply(op);
    if (const int error = target_->unmount()) return OpResult::of(error);
    RepairReport report;
    target_->checks_offline()->fsck(disk_, FsckMode::kCheck, &report);
    if (!report.clean()) fail("fsck after unmount: " + text_of(report));
    return OpResult::of(target_->mount(disk_));
  }

  Image crash_image(const MediaState& state, size_t cut) {
    const unsigned kept_percent = pick(5) * 25;
    return cut_image(state, cut, [&] { return options_.in_order || pick(100) < kept_percent; });
  }

  void collect(const Path& here, NodeId id, std::vector<Path>& out) const {
    for (const Tree::Entry& entry : tree().children(id)) {
      if (!here.has_room_for(entry.name())) continue;
      const Path path = here.child(entry.name());
      out.push_back(path);
      if (tree().node(entry.node).type == FileType::kDirectory) collect(path, entry.node, out);
    }
  }

  // Mostly something that is there.
  Path random_path() {
    std::vector<Path> known;
    if (pick(100) < 60) collect(Path("/"), kRootNode, known);
    if (!known.empty()) return known[pick(static_cast<uint32_t>(known.size()))];
    const auto name = [&] {
      return "/" + options_.names[pick(static_cast<uint32_t>(options_.names.size()))];
    };
    const uint32_t kind = pick(20);
    if (kind == 0) return Path("/");
    std::string path = name();
    if (kind > 10) path += name();
    if (kind > 17) path += name();
    return Path(path);
  }
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  void fail(std::string what) {
    if (trouble_.empty()) trouble_ = what + "\n" + trace_;
  }

  RunOptions options_;
  std::mt19937 random_;
  TargetKind kind_;
  std::unique_ptr<Target> target_;
  Media disk_;
  Expectation expected_;
  std::string trouble_, trace_;
  uint32_t marks_ = 0;
};

}  // namespace sisyfs::journal
