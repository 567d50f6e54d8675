// A random run of the F2FS model beside the reference tree, with power cuts. For tests.
//
//   RandomRun run({.config = Config::small(), .seed = 7});
//   run.ops(200);
//   EXPECT_EQ(run.trouble(), "");
//
// Beside the tree that is right now it keeps the tree that a power cut must leave: the one of the last
// checkpoint (the target's marks say when one was written), with the files that were synced since. A
// checkpoint in the middle of an overwrite holds a part of it: each block is as before, or as after it.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "disk/media.h"
#include "models/cut_for_test.h"
#include "models/f2fs/core.h"
#include "models/f2fs/target.h"
#include "tree/tree_text.h"

namespace sisyfs::f2fs {

struct RunOptions {
  Config config;
  uint32_t seed = 1;
  bool fsync = true;
  bool in_order = false;        // a power cut keeps a prefix of the writes, and not any of them
  unsigned cut_percent = 20;    // ops after which the power goes
  unsigned sync_percent = 100;  // of the syncs that are drawn, so many are done
  std::vector<std::string> names = {"a", "b", "c", "d", "e"};
};

class RandomRun {
 public:
  explicit RandomRun(const RunOptions& options)
      : options_(options),
        random_(options.seed),
        target_(kind_of(options.config).make()),
        disk_(Image(kind_of(options.config).disks)) {
    if (target_->format(disk_) != 0) fail("format fails");
    disk_.load(MediaState(disk_.state().current));
    if (target_->mount(disk_) != 0) fail("mount fails");
    target_->reaches_marks()->take_marks();
    forget_settled(disk_);
  }

  // The first thing that went wrong; empty if nothing did.
  const std::string& trouble() const { return trouble_; }
  uint32_t marks() const { return marks_; }
  uint64_t refused() const { return refused_; }
  uint64_t done() const { return done_; }
  Target& target() { return *target_; }
  Media& disk() { return disk_; }
  const Tree& tree() const { return now_; }

  void ops(unsigned count) {
    for (unsigned i = 0; i < count && trouble_.empty(); ++i) step();
  }

  Op random_op() {
    const unsigned size = options_.config.block_size;
    const Path path = random_path();
    const auto version = static_cast<uint8_t>(pick(200));
    const uint32_t lengths[] = {1, size, size * 2 + 7, size * 6, size * 9, 0};
    const uint64_t offsets[] = {0, size, size * 3 + 5, size * 12, size * 20};
    switch (pick(options_.fsync ? 18 : 15)) {
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
      case 9:
        return Op::write(path, offsets[pick(5)], lengths[pick(6)], version);
      case 10:
        return Op::append(path, lengths[pick(6)], version);
      case 11:
        return Op::truncate(path, pick(3) == 0 ? 0 : pick(size * 22));
      case 12:
        return Op::read(path, offsets[pick(5)], lengths[pick(6)]);
      case 13:
        return Op::of(pick(2) == 0 ? OpKind::kReaddir : OpKind::kStat, path);
      case 14:
        return Op::of(pick(4) == 0 ? OpKind::kRemount : OpKind::kSync);
      default:
        return Op::of(pick(2) == 0 ? OpKind::kFsync : OpKind::kFdatasync, path);
    }
  }

  void step() {
    const Op op = random_op();
    const bool waits = op.kind == OpKind::kSync || op.kind == OpKind::kRemount || op.kind == OpKind::kFsync ||
                       op.kind == OpKind::kFdatasync;
    if (!waits || pick(100) < options_.sync_percent) step(op);
  }

  void step(const Op& op) {
    trace_ += to_text(op) + "\n";
    const Tree before = now_, safe_before = safe_;
    const size_t events_before = disk_.state().log.size();
    Tree after = now_;
    const OpResult expected = sisyfs::apply(op, after);
    target_->reaches_marks()->take_marks();
    const OpResult result = perform(op);
    const uint32_t marks = target_->reaches_marks()->take_marks();
    marks_ |= marks;
    const bool too_big = result.error == EFBIG && expected.error == 0;
    const bool no_space = result.error == ENOSPC && expected.error == 0 && needs_space(op.kind);
    if (too_big || no_space)
      ++refused_;
    else if (result != expected)
      return fail(fmt::format("'{}' answers {}, expected {}", to_text(op), errno_text(result.error),
                              errno_text(expected.error)));
    if (result.error == 0) now_ = after, ++done_;
    const Walk walk = target_->walk();
    if (walk.error != 0 || !(walk.tree == now_))
      return fail(fmt::format("after '{}': {}", to_text(op), first_difference(walk.tree, now_)));
    update_safe(op, result.error, marks, before);
    const bool in_parts = (marks & kCheckpointInOp) != 0;
    if (in_parts && !is_part(safe_, op, before))
      return fail("a checkpoint in the middle of the op: " + first_difference(safe_, before));
    if (pick(100) < options_.cut_percent)
      power_cut(safe_before, events_before,
                [&](const Tree& t) { return in_parts && is_part(t, op, before); });
    else
      forget_settled(disk_);
  }

  // What the power cut must leave, and with an op in flight what it may leave.
  template <class IsPart>
  void power_cut(const Tree& safe_before, size_t events_before, IsPart is_part) {
    const size_t end = disk_.state().log.size();
    const size_t cut = events_before + pick(static_cast<uint32_t>(end - events_before + 1));
    const bool whole = cut == end;
    const Image image = crash_image(disk_.state(), cut);
    trace_ += "power cut\n";
    Tree recovered;
    disk_.load(MediaState(image));
    if (!recover(&recovered)) return;
    if (!(recovered == safe_) && (whole || (!(recovered == safe_before) && !is_part(recovered))))
      return fail("after a power cut: " + first_difference(recovered, safe_));
    // The power goes again while it recovers.
    const Image again = crash_image(disk_.state(), pick(static_cast<uint32_t>(disk_.state().log.size() + 1)));
    disk_.load(MediaState(again));
    Tree second;
    if (!recover(&second)) return;
    if (!(second == recovered))
      return fail("after a second power cut: " + first_difference(second, recovered));
    now_ = safe_ = recovered;
    forget_settled(disk_);
  }

 private:
  static bool needs_space(OpKind kind) {
    return kind != OpKind::kUnlink && kind != OpKind::kRmdir && kind != OpKind::kRead &&
           kind != OpKind::kReaddir && kind != OpKind::kStat && kind != OpKind::kSync &&
           kind != OpKind::kFsync && kind != OpKind::kFdatasync && kind != OpKind::kRemount;
  }

  bool recover(Tree* tree) {
    target_->power_cut();
    RepairReport report;
    target_->checks_offline()->fsck(disk_, FsckMode::kRepair, &report);
    if (!report.clean()) {
      fail(report.problems.empty() ? "fsck fails" : "fsck: " + to_text(report.problems[0], kProblems));
      return false;
    }
    if (const int error = target_->mount(disk_)) {
      fail("mount answers " + errno_text(error));
      return false;
    }
    marks_ |= target_->reaches_marks()->take_marks();
    Walk walk = target_->walk();
    if (walk.error != 0) {
      fail("the walk answers " + errno_text(walk.error));
      return false;
    }
    *tree = walk.tree;
    return true;
  }

  OpResult perform(const Op& op) {
    if (op.kind != OpKind::kRemount) return target_->apply(op);
    if (const int error = target_->unmount()) return OpResult::of(error);
    RepairReport report;
    target_->checks_offline()->fsck(disk_, FsckMode::kCheck, &report);
    if (!report.clean()) fail("fsck after unmount: " + to_text(report.problems[0], kProblems));
    return OpResult::of(target_->mount(disk_));
  }

  // Whether this is the tree from before the op, with some of the blocks that the op has written.
  bool is_part(const Tree& tree, const Op& op, const Tree& before) const {
    Stat got, was, is;
    if (tree.stat(op.path, &got) != 0 || before.stat(op.path, &was) != 0 || now_.stat(op.path, &is) != 0)
      return false;
    const std::string data = tree.node(got.node).data.text(), old = before.node(was.node).data.text(),
                      fresh = now_.node(is.node).data.text();
    if (data.size() != old.size()) return false;
    const size_t unit = options_.config.block_size;
    for (size_t at = 0; at < data.size(); at += unit) {
      const std::string block = data.substr(at, unit);
      if (block != old.substr(at, unit) && block != fresh.substr(at, block.size())) return false;
    }
    Tree mixed = before;
    return mixed.write(op.path, 0, std::as_bytes(std::span(data))) == 0 && mixed == tree;
  }

  // What the last checkpoint on the disk holds.
  Tree checkpointed() {
    const auto other = kind_of(options_.config).make();
    Media copy(MediaState(disk_.state().current));
    if (other->mount(copy) != 0) fail("the checkpoint does not mount");
    return other->walk().tree;
  }

  void update_safe(const Op& op, int error, uint32_t marks, const Tree& before) {
    const bool waits = op.kind == OpKind::kSync || op.kind == OpKind::kRemount || op.kind == OpKind::kFsync ||
                       op.kind == OpKind::kFdatasync;
    if ((marks & kCheckpointInOp) != 0) {
      safe_ = checkpointed();
      return;
    }
    if ((marks & kCheckpointWritten) != 0) {
      safe_ = waits ? now_ : before;
      return;
    }
    if (error != 0 || (op.kind != OpKind::kFsync && op.kind != OpKind::kFdatasync)) return;
    Stat stat;
    if (now_.stat(op.path, &stat) != 0 || stat.type != FileType::kFile) return;
    const std::string data = now_.node(stat.node).data.text();
    Stat old;
    if (safe_.stat(op.path, &old) != 0 && safe_.create(op.path) != 0)
      return fail("synced in a lost directory");
    if (safe_.truncate(op.path, 0) != 0 || safe_.write(op.path, 0, std::as_bytes(std::span(data))) != 0)
      fail("synced a file that is not one");
  }

  Image crash_image(const MediaState& state, size_t cut) {
    const unsigned kept_percent = pick(5) * 25;
    return cut_image(state, cut, [&] { return options_.in_order || pick(100) < kept_percent; });
  }

  void collect(const Path& here, NodeId id, std::vector<Path>& out) const {
    for (const Tree::Entry& entry : now_.children(id)) {
      const Path path = here.child(entry.name());
      out.push_back(path);
      collect(path, entry.node, out);
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
  std::unique_ptr<Target> target_;
  Media disk_;
  Tree now_, safe_;
  std::string trouble_, trace_;
  uint32_t marks_ = 0;
  uint64_t refused_ = 0, done_ = 0;
};

}  // namespace sisyfs::f2fs
