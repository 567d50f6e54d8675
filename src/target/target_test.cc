#include "target/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace sisyfs {
namespace {

constexpr ProblemKind kProblems[] = {
    {"X1", "dead-block", Severity::kRepairable, "nobody uses block {0}"},
    {"X2", "lost-block", Severity::kCritical, "block {1} of file {0} is free"},
};

// The smallest system that there can be: files 0 to 3 of whole units, no disk.
class Flat : public Target {
 public:
  explicit Flat(uint32_t files) {
    traits_.ops = OpSet(OpKind::kCreate, OpKind::kAppend, OpKind::kUnlink);
    traits_.max_files = files;
    traits_.write_unit = 512;
    traits_.max_file_size = 1024;
    for (uint32_t f = 0; f < files; ++f) traits_.fixed_names.push_back(std::to_string(f));
  }
  const Traits& traits() const override { return traits_; }
  int format(Disk&) override { return 0; }
  int mount(Disk&) override { return 0; }
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
  void load(const Snapshot& snapshot, Disk&) override { memory_ = snapshot.as<Memory>(); }

 private:
  struct Memory {
    uint32_t units[4] = {};  // 0: absent, else one more than its length
  };
  Traits traits_;
  Memory memory_;
};

// The whole walk without a disk: all states of a flat system by way of snapshots, held against the tree.
TEST(TargetTest, FlatTargetIsExhaustedThroughTheInterface) {
  Flat target(2);
  Bounds bounds = bounds_for(target.traits(), Bounds{});
  bounds.impossible = true;
  Result<Workload> workload = Workload::make(bounds);
  ASSERT_TRUE(workload) << workload.error().message;
  alignas(std::max_align_t) std::byte unused[sizeof(std::max_align_t)]{};
  Disk& none = reinterpret_cast<Disk&>(unused);  // the flat target never touches it

  std::vector<std::pair<Snapshot, Tree>> states{{target.save(), Tree()}};
  std::vector<Candidate> ops;
  for (size_t i = 0; i < states.size(); ++i) {
    workload->from(states[i].second, &ops);
    for (const Candidate& c : ops) {
      Tree expected = states[i].second;
      target.load(states[i].first, none);
      ASSERT_EQ(target.apply(c.op), apply(c.op, expected)) << to_text(c.op);
      ASSERT_EQ(target.walk().tree, expected) << to_text(c.op);
      const Snapshot saved = target.save();
      const bool seen = std::any_of(states.begin(), states.end(), [&](const auto& s) {
        EXPECT_EQ(s.first.digest() == saved.digest(), s.second == expected);
        return s.second == expected;
      });
      if (!seen) states.emplace_back(saved, expected);
    }
  }
  EXPECT_EQ(states.size(), 16u) << "two files, each absent or of 0, 1 or 2 units";
}

TEST(BoundsForTest, CountsUnitsAndKeepsToWhatTheTargetCan) {
  Bounds wanted;
  wanted.ops = OpSet::all();
  wanted.write_sizes = {1, 2, 3};
  wanted.write_offsets = {0, 1, 9};
  const Flat flat(2);
  const Bounds bounds = bounds_for(flat.traits(), wanted);
  EXPECT_EQ(bounds.ops, flat.traits().ops);
  EXPECT_EQ(bounds.write_sizes, (std::vector<uint32_t>{512, 1024})) << "3 units are more than a file holds";
  EXPECT_EQ(bounds.write_offsets, (std::vector<uint64_t>{0, 512}));
  EXPECT_EQ(bounds.max_file_size, 1024u);
  EXPECT_EQ(bounds.max_files, 2u);
  EXPECT_EQ(bounds.max_depth, 1u);
  EXPECT_EQ(bounds.names, (std::vector<std::string>{"0", "1"}));
  EXPECT_TRUE(bounds.fixed_names);
}

TEST(BoundsForTest, LeavesAloneWhatTheTargetDoesNotLimit) {
  Traits traits;
  traits.ops = OpSet::all();
  const Bounds wanted;
  const Bounds bounds = bounds_for(traits, wanted);
  EXPECT_EQ(bounds.ops, wanted.ops);
  EXPECT_EQ(bounds.max_depth, wanted.max_depth);
  EXPECT_EQ(bounds.names, wanted.names);
  EXPECT_EQ(bounds.max_file_size, wanted.max_file_size);
  EXPECT_FALSE(bounds.fixed_names);
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

TEST(BoundsForTest, HandlesNeedATargetThatOpensAndCloses) {
  Bounds wanted;
  wanted.ops = OpSet::all();
  wanted.handles = true;
  Traits traits;
  traits.ops = OpSet::all();
  EXPECT_TRUE(bounds_for(traits, wanted).handles);
  traits.ops = OpSet::all() - OpSet(OpKind::kClose);
  const Bounds bounds = bounds_for(traits, wanted);
  EXPECT_FALSE(bounds.handles);
  EXPECT_FALSE(bounds.ops.has(OpKind::kOpen));
}

}  // namespace
}  // namespace sisyfs
