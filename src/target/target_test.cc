#include "target/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "disk/media.h"

namespace sisyfs::target_test {
namespace {

constexpr ProblemKind kProblems[] = {
    {"X1", "dead-block", Severity::kRepairable, "nobody uses block {0}"},
    {"X2", "lost-block", Severity::kCritical, "block {1} of file {0} is free"},
};

// A very small system without a disk: up to four files of whole units, called 0 to 3.
class Flat : public Target, public SavesMemory {
 public:
  static TargetKind kind(uint32_t files) {
    TargetKind kind;
    kind.ops = OpSet(OpKind::kCreate, OpKind::kAppend, OpKind::kUnlink);
    kind.limits.max_files = files;
    kind.limits.write_unit = 512;
    kind.limits.max_file_size = 1024;
    for (uint32_t f = 0; f < files; ++f) kind.limits.fixed_names.push_back(std::to_string(f));
    kind.make = [] { return std::make_unique<Flat>(); };
    return kind;
  }

  SavesMemory* saves_memory() override { return this; }
  int format(Media&) override { return 0; }
  int mount(Media&) override { return 0; }
  int unmount() override { return power_cut(), 0; }
  void power_cut() override { memory_ = {}; }
  OpResult apply(const Op& op) override {
    uint32_t& units = memory_.units[static_cast<size_t>(op.path.text()[1] - '0')];
    switch (op.kind) {
      case OpKind::kCreate:
        if (units != 0) return OpResult::of(EEXIST);
        units = 1;
        return {};
      case OpKind::kUnlink:
        if (units == 0) return OpResult::of(ENOENT);
        units = 0;
        return {};
      case OpKind::kAppend:
        if (units == 0) return OpResult::of(ENOENT);
        units += op.length / 512;
        return {0, op.length, {}};
      default:
        return OpResult::of(ENOSYS);
    }
  }
  Walk walk() override {
    Walk out;
    for (size_t f = 0; f < 4; ++f) {
      if (memory_.units[f] == 0) continue;
      const Path path("/" + std::to_string(f));
      if (sisyfs::apply(Op::of(OpKind::kCreate, path), out.tree).error != 0) out.error = EIO;
      for (uint32_t u = 1; u < memory_.units[f]; ++u) (void)sisyfs::apply(Op::append(path, 512), out.tree);
    }
    return out;
  }
  Snapshot save() const override { return Snapshot(memory_); }
  void load(const Snapshot& snapshot, Media&) override { memory_ = snapshot.as<Memory>(); }

 private:
  struct Memory {
    uint32_t units[4] = {};  // 0: absent, else one more than its length
  };
  Memory memory_;
};

// A search through the interface alone: all states of a flat system, reached by snapshots, are compared with
// the reference tree.
TEST(TargetTest, FlatTargetIsExhaustedThroughTheInterface) {
  const TargetKind kind = Flat::kind(2);
  const std::unique_ptr<Target> target = kind.make();
  SavesMemory& memory = *target->saves_memory();
  Bounds bounds = bounds_for(kind, Bounds{});
  bounds.impossible = true;
  Result<Workload> workload = Workload::make(bounds);
  ASSERT_TRUE(workload) << workload.error().message;
  Media unused{Image(Geometry{.block_size = 1, .block_count = BlockCount(1)})};

  std::vector<std::pair<Snapshot, Tree>> states{{memory.save(), Tree()}};
  std::vector<Candidate> ops;
  for (size_t i = 0; i < states.size(); ++i) {
    workload->from(states[i].second, &ops);
    for (const Candidate& c : ops) {
      Tree expected = states[i].second;
      memory.load(states[i].first, unused);
      ASSERT_EQ(target->apply(c.op), apply(c.op, expected)) << to_text(c.op);
      ASSERT_EQ(target->walk().tree, expected) << to_text(c.op);
      const Snapshot saved = memory.save();
      const bool seen = std::any_of(states.begin(), states.end(), [&](const auto& s) {
        EXPECT_EQ(s.first.digest() == saved.digest(), s.second == expected);
        return s.second == expected;
      });
      if (!seen) states.emplace_back(saved, expected);
    }
  }
  EXPECT_EQ(states.size(), 16u) << "two files, each absent or of 0, 1 or 2 units";
}

TEST(RepairReportTest, RepairedIsSoundButNotClean) {
  RepairReport report;
  EXPECT_TRUE(report.clean() && report.sound());
  report.add(0, true, {5});
  EXPECT_FALSE(report.clean());
  EXPECT_TRUE(report.sound());
  report.add(1, false, {1, 3});
  EXPECT_FALSE(report.sound());
  EXPECT_EQ(to_text(report.problems[0], kProblems), "X1 dead-block: nobody uses block 5 (repaired)");
  EXPECT_EQ(to_text(report.problems[1], kProblems), "X2 lost-block: block 3 of file 1 is free");
  report.clear();
  report.error = EIO;
  EXPECT_FALSE(report.clean() || report.sound()) << "a check that could not run says nothing";
}

TEST(TargetTest, AbilitiesThatATargetDoesNotImplementAreNull) {
  Flat flat;
  Target& target = flat;
  EXPECT_EQ(target.saves_memory(), &flat);
  EXPECT_EQ(target.checks_offline(), nullptr);
  EXPECT_EQ(target.names_blocks(), nullptr);
  EXPECT_EQ(target.fails_allocations(), nullptr);
  EXPECT_EQ(target.has_faults(), nullptr);
  EXPECT_EQ(target.reaches_marks(), nullptr);
  EXPECT_EQ(target.covers_code(), nullptr);
}

// Has a text of its own for one of its two kinds of problems.
class Checked : public Flat, public ChecksOffline {
 public:
  ChecksOffline* checks_offline() override { return this; }
  void fsck(Media&, FsckMode, RepairReport*) override {}
  std::string problem_text(const Problem& problem) const override { return problem.kind == 0 ? "own" : ""; }
};

TEST(TargetTest, AProblemIsToldByTheTargetOrByTheTableOfItsKind) {
  TargetKind kind;
  kind.words.problems = kProblems;
  Checked checked;
  Flat flat;
  const Problem dead{.kind = 0, .context = {5}}, lost{.kind = 1, .context = {1, 3}};
  EXPECT_EQ(to_text(dead, kind, checked), "own");
  EXPECT_EQ(to_text(lost, kind, checked), "X2 lost-block: block 3 of file 1 is free");
  EXPECT_EQ(to_text(dead, kind, flat), "X1 dead-block: nobody uses block 5");
}

TEST(FaultTest, OnlyALeakLeavesAnAnswer) {
  EXPECT_FALSE(is_dead(0));
  EXPECT_FALSE(is_dead(kLeaked));
  for (const Fault fault : {kDied, kHung, kHeapMisused, kTooMuchMemory})
    EXPECT_TRUE(is_dead(fault | kLeaked));
}

TEST(TargetTest, AWalkThatEndedEarlySaysWhy) {
  EXPECT_EQ(error_text({.error = EIO, .where = Path("/a"), .tree = {}}), "/a cannot be read: EIO");
  EXPECT_EQ(error_text({.error = kShortFile, .where = Path("/b"), .tree = {}}),
            "/b cannot be read: it ends before its size");
}

}  // namespace
}  // namespace sisyfs::target_test
