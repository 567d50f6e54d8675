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
