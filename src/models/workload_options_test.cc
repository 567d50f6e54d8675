#include "models/workload_options.h"

#include <gtest/gtest.h>

#include "models/journal_config.h"
#include "models/journal_target.h"

namespace sisyfs {
namespace {

DiskSetup setup_with(std::string_view crash, const std::vector<std::string>& settings) {
  const Result<Options> options = Options::parse(cut_specs("", crash), settings);
  EXPECT_TRUE(options);
  DiskSetup setup;
  setup.make_target = [] { return journal::make_target(journal::Config()); };
  set_cuts(*options, setup);
  return setup;
}

TEST(WorkloadOptionsTest, TheThesisKeepsOrderAndAPlainDiskDoesNot) {
  const DiskSetup thesis = setup_with(kThesisCuts, {}), disk = setup_with(kPlainDiskCuts, {});
  EXPECT_TRUE(thesis.crashes && disk.crashes);
  EXPECT_FALSE(thesis.lazy);
  EXPECT_TRUE(thesis.device.keeps_order());
  EXPECT_TRUE(disk.lazy);
  EXPECT_FALSE(disk.device.keeps_order());
  EXPECT_TRUE(disk.device.writes_are_tied());
  EXPECT_FALSE(DiskSetup().device.keeps_order()) << "who sets nothing gets a disk";
}

TEST(WorkloadOptionsTest, WhatIsSaidCountsMoreThanTheDefault) {
  const DiskSetup setup = setup_with(
      kPlainDiskCuts, {"crash=subsets", "device=scattered", "samples=3", "sample_seed=9", "nesting=1"});
  EXPECT_FALSE(setup.lazy);
  EXPECT_TRUE(setup.device.scattered && setup.device.keeps_order());
  EXPECT_EQ(setup.enumeration.samples, 3u);
  EXPECT_EQ(setup.enumeration.seed, 9u);
  EXPECT_EQ(setup.nesting, 1u);
}

}  // namespace
}  // namespace sisyfs
