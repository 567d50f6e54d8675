#include "judge/workload_options.h"

#include <gtest/gtest.h>

#include "machine/toy_target_for_test.h"

namespace sisyfs::workload_options_test {
namespace {

DiskSetup setup_with(std::string_view crash, const std::vector<std::string>& settings) {
  const Result<Options> options = Options::parse(cut_specs("", crash), settings);
  EXPECT_TRUE(options);
  DiskSetup setup;
  setup.kind = toy_kind();
  set_cuts(*options, setup);
  return setup;
}

TEST(WorkloadOptionsTest, TheThesisKeepsOrderAndAPlainDiskDoesNot) {
  const DiskSetup thesis = setup_with(kThesisCuts, {}), disk = setup_with(kPlainDiskCuts, {});
  EXPECT_TRUE(thesis.cuts.enabled && disk.cuts.enabled);
  EXPECT_FALSE(thesis.cuts.lazy);
  EXPECT_TRUE(thesis.cuts.device.keeps_order());
  EXPECT_TRUE(disk.cuts.lazy);
  EXPECT_FALSE(disk.cuts.device.keeps_order());
  EXPECT_TRUE(disk.cuts.device.writes_are_tied());
  EXPECT_FALSE(DiskSetup().cuts.device.keeps_order()) << "the default is a plain disk";
}

TEST(WorkloadOptionsTest, WhatIsSaidCountsMoreThanTheDefault) {
  const DiskSetup setup = setup_with(
      kPlainDiskCuts, {"crash=subsets", "device=scattered", "samples=3", "sample_seed=9", "nesting=1"});
  EXPECT_FALSE(setup.cuts.lazy);
  EXPECT_TRUE(setup.cuts.device.scattered && setup.cuts.device.keeps_order());
  EXPECT_EQ(setup.cuts.enumeration.samples, 3u);
  EXPECT_EQ(setup.cuts.enumeration.seed, 9u);
  EXPECT_EQ(setup.cuts.nesting, 1u);
}

TEST(WorkloadOptionsTest, PersistedIsNoOtherKindOfCrashState) {
  const DiskSetup setup = setup_with(kPlainDiskCuts, {"crash=persisted"});
  EXPECT_TRUE(setup.cuts.enabled && setup.cuts.persisted);
  EXPECT_FALSE(setup.cuts.lazy);
  EXPECT_FALSE(setup_with(kPlainDiskCuts, {}).cuts.persisted);
}

// The bounds of a workload with these options, in units.
Bounds bounds_with(Width width, std::vector<std::string> settings, std::vector<OptionSpec> specs = {}) {
  for (OptionSpec& spec : call_specs(width)) specs.push_back(std::move(spec));
  specs.push_back(names_spec());
  for (const char* name : {"fsync", "remount", "one_write", "impossible", "odd"})
    specs.push_back(OptionSpec::flag(name, false, ""));
  for (const char* name : {"files", "dirs", "depth", "write", "system_ops"})
    specs.push_back(OptionSpec::integer(name, 1, 8, 2, ""));
  specs.push_back(OptionSpec::integer("file_blocks", 1, 8, 3, ""));
  for (OptionSpec& spec : cut_specs()) specs.push_back(std::move(spec));
  const Result<Options> options = Options::parse(std::move(specs), settings);
  EXPECT_TRUE(options);
  DiskSetup setup;
  setup.kind = toy_kind();
  set_workload(*options, setup);
  return setup.bounds;
}

TEST(WorkloadOptionsTest, ThePublishedWorkloadsStayAndOthersAreWider) {
  const Bounds published = bounds_with(Width::kPublished, {}), wide = bounds_with(Width::kWide, {});
  EXPECT_EQ(wide.ops, published.ops | OpSet(OpKind::kFdatasync));
  EXPECT_FALSE(published.variety.truncate_steps || published.variety.write_steps || published.variety.odd);
  EXPECT_TRUE(wide.variety.truncate_steps && wide.variety.write_steps);
  EXPECT_FALSE(wide.variety.odd);
  EXPECT_EQ(published.write_offsets, (std::vector<uint64_t>{0}));
  EXPECT_EQ(published.truncate_sizes, (std::vector<uint64_t>{0}));
}

TEST(WorkloadOptionsTest, PlacesReadsAndNamesAreSet) {
  const Bounds all = bounds_with(Width::kPublished, {"truncates=all", "offsets=all", "reads=on", "odd=on",
                                                     "names=colliding", "fdatasync=on"});
  EXPECT_EQ(all.write_offsets, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(all.truncate_sizes, (std::vector<uint64_t>{0, 1, 2, 3}));
  for (const OpKind kind : {OpKind::kRead, OpKind::kReaddir, OpKind::kStat, OpKind::kFdatasync})
    EXPECT_TRUE(all.ops.has(kind)) << op_name(kind);
  EXPECT_FALSE(all.ops.has(OpKind::kGetxattr)) << "no attributes are set";
  EXPECT_TRUE(all.variety.odd);
  EXPECT_EQ(all.variety.names, NameStyle::kColliding);
  EXPECT_FALSE(all.variety.truncate_steps || all.variety.write_steps);
}

TEST(WorkloadOptionsTest, CallsOfLinuxAreOfferedToTargetsThatHaveThem) {
  EXPECT_TRUE(linux_specs(OpSet(OpKind::kCreate, OpKind::kSync), true).empty());
  const std::vector<OptionSpec> some = linux_specs(OpSet(OpKind::kPunchHole, OpKind::kCommit), true);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].name, "fallocate");
  EXPECT_EQ(some[1].name, "commit");
  const auto ops_with = [&](bool by_default, const std::vector<std::string>& settings) {
    return bounds_with(Width::kPublished, settings, linux_specs(kLinuxOps, by_default)).ops & kLinuxOps;
  };
  EXPECT_EQ(ops_with(true, {}), kLinuxOps) << "a target may switch them on by default";
  EXPECT_EQ(ops_with(false, {}), OpSet());
  EXPECT_EQ(ops_with(false, {"exchange=on"}), OpSet(OpKind::kExchange, OpKind::kRenameNew));
  EXPECT_EQ(ops_with(false, {"direct=on", "commit=on"}),
            OpSet(OpKind::kWriteDirect, OpKind::kSyncfs, OpKind::kCommit));
  EXPECT_EQ(ops_with(true, {"fallocate=off", "exchange=off", "direct=off", "commit=off"}),
            OpSet(OpKind::kWriteMapped, OpKind::kMsync));
}

TEST(WorkloadOptionsTest, TheDeviceIsAlsoToldPieceByPiece) {
  const DeviceModel plain = setup_with(kPlainDiskCuts, {}).cuts.device;
  EXPECT_EQ(setup_with(kPlainDiskCuts, {"atomic=whole", "write_cache=volatile"}).cuts.device, plain);
  const DeviceModel torn = setup_with(kPlainDiskCuts, {"atomic=4096"}).cuts.device;
  EXPECT_TRUE(torn.tearing && !torn.keeps_order());
  EXPECT_EQ(torn.unit_bytes, 4096u);
  EXPECT_TRUE(setup_with(kPlainDiskCuts, {"device=hostile", "atomic=whole"}).cuts.device.writes_are_tied());
  EXPECT_EQ(setup_with(kPlainDiskCuts, {"device=hostile", "atomic=512"}).cuts.device.unit_bytes, 512u);
  EXPECT_TRUE(setup_with(kPlainDiskCuts, {"write_cache=through"}).cuts.device.keeps_order());
  EXPECT_EQ(setup_with(kPlainDiskCuts, {"discarded=garbage"}).cuts.device.discard, DiscardReads::kGarbage);
  EXPECT_EQ(setup_with(kPlainDiskCuts, {"discarded=old"}).cuts.device.discard, DiscardReads::kOld);
}

}  // namespace
}  // namespace sisyfs::workload_options_test
