#include "target/target_kind.h"

#include <gtest/gtest.h>

namespace sisyfs::target_kind_test {
namespace {

// Two files of at most two units, in one directory.
TargetKind flat_kind() {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kAppend, OpKind::kUnlink);
  kind.limits.max_files = 2;
  kind.limits.write_unit = 512;
  kind.limits.max_file_size = 1024;
  kind.limits.fixed_names = {"0", "1"};
  return kind;
}

TEST(BoundsForTest, CountsUnitsAndKeepsToWhatTheTargetCan) {
  Bounds wanted;
  wanted.ops = OpSet::all();
  wanted.write_sizes = {1, 2, 3};
  wanted.write_offsets = {0, 1, 9};
  const TargetKind kind = flat_kind();
  const Bounds bounds = bounds_for(kind, wanted);
  EXPECT_EQ(bounds.ops, kind.ops);
  EXPECT_EQ(bounds.write_sizes, (std::vector<uint32_t>{512, 1024})) << "3 units are more than a file holds";
  EXPECT_EQ(bounds.write_offsets, (std::vector<uint64_t>{0, 512}));
  EXPECT_EQ(bounds.max_file_size, 1024u);
  EXPECT_EQ(bounds.max_files, 2u);
  EXPECT_EQ(bounds.max_depth, 1u);
  EXPECT_EQ(bounds.names, (std::vector<std::string>{"0", "1"}));
  EXPECT_TRUE(bounds.fixed_names);
}

TEST(BoundsForTest, LeavesAloneWhatTheTargetDoesNotLimit) {
  TargetKind kind;
  kind.ops = OpSet::all();
  const Bounds wanted;
  const Bounds bounds = bounds_for(kind, wanted);
  EXPECT_EQ(bounds.ops, wanted.ops);
  EXPECT_EQ(bounds.max_depth, wanted.max_depth);
  EXPECT_EQ(bounds.names, wanted.names);
  EXPECT_EQ(bounds.max_file_size, wanted.max_file_size);
  EXPECT_FALSE(bounds.fixed_names);
}

TEST(BoundsForTest, OddSizesNeedATargetThatTakesAnyByte) {
  Bounds wanted;
  wanted.variety.odd = true;
  wanted.variety.truncate_steps = true;
  TargetKind kind;
  kind.ops = OpSet::all();
  kind.limits.write_unit = 512;
  const Bounds none = bounds_for(kind, wanted);
  EXPECT_FALSE(none.variety.odd);
  EXPECT_EQ(none.write_sizes, (std::vector<uint32_t>{512}));
  EXPECT_EQ(none.variety.unit, 512u);
  kind.limits.any_byte = true;
  const Bounds odd = bounds_for(kind, wanted);
  EXPECT_TRUE(odd.variety.odd);
  EXPECT_EQ(odd.write_sizes, (std::vector<uint32_t>{512, 2}));
  EXPECT_EQ(odd.write_offsets, (std::vector<uint64_t>{0, 511}));
  kind.limits.write_unit = 2;
  EXPECT_EQ(bounds_for(kind, wanted).write_sizes, (std::vector<uint32_t>{2})) << "each size once";
  kind.limits.write_unit = 1;
  EXPECT_FALSE(bounds_for(kind, wanted).variety.odd);
}

TEST(BoundsForTest, NamesAreOfTheStyleAndNoLongerThanTheTargetAllows) {
  Bounds wanted;
  wanted.variety.names = NameStyle::kLong;
  TargetKind kind;
  kind.ops = OpSet::all();
  kind.limits.max_name = 5;
  EXPECT_EQ(bounds_for(kind, wanted).names.front(), "aaaaa");
  wanted.variety.names = NameStyle::kPlain;
  wanted.names = {"abcdef", "abc"};
  EXPECT_EQ(bounds_for(kind, wanted).names, (std::vector<std::string>{"abc"}));
}

TEST(BoundsForTest, HandlesNeedATargetThatOpensAndCloses) {
  Bounds wanted;
  wanted.ops = OpSet::all();
  wanted.handles = true;
  TargetKind kind;
  kind.ops = OpSet::all();
  EXPECT_TRUE(bounds_for(kind, wanted).handles);
  kind.ops = OpSet::all() - OpSet(OpKind::kClose);
  const Bounds bounds = bounds_for(kind, wanted);
  EXPECT_FALSE(bounds.handles);
  EXPECT_FALSE(bounds.ops.has(OpKind::kOpen));
}

TEST(TargetKindTest, AKindWithoutBlocksHasNoDisk) {
  TargetKind kind;
  EXPECT_FALSE(kind.has_disk());
  kind.disks.block_count = BlockCount(1);
  EXPECT_TRUE(kind.has_disk());
}

TEST(BoundsForTest, ATargetWithoutNumberedHandlesGetsNone) {
  TargetKind kind;
  Bounds wanted;
  wanted.ops = wanted.ops | kHandleOps;
  wanted.variety.max_handles = 2;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kWrite);
  EXPECT_EQ(bounds_for(kind, wanted).variety.max_handles, 0u);
  kind.ops = kind.ops | kHandleOps;
  EXPECT_EQ(bounds_for(kind, wanted).variety.max_handles, 2u);
  wanted.variety.max_handles = 0;
  EXPECT_EQ(bounds_for(kind, wanted).ops & kHandleOps, OpSet());
}

TEST(BoundsForTest, WhereEachCallCoversAllNothingIsStoredThroughAMapping) {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kWriteMapped, OpKind::kMsync);
  kind.disks.block_count = BlockCount(8);
  Bounds wanted;
  wanted.ops = kind.ops;
  EXPECT_EQ(bounds_for(kind, wanted).ops, kind.ops);
  kind.claims.durable = OpSet::all();
  EXPECT_EQ(bounds_for(kind, wanted).ops, kind.ops - OpSet(OpKind::kWriteMapped));
}

}  // namespace
}  // namespace sisyfs::target_kind_test
