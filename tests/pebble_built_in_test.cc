// The example file system as a plug-in and compiled in: both must behave the same.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "adapters/plugin/namespace.h"
#include "adapters/plugin/plugin_check.h"
#include "bench/pebble_target.h"
#include "disk/media.h"
#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"

namespace sisyfs::pebble_built_in_test {
namespace {

SearchResult search(const DiskSetup& setup, uint32_t depth) {
  const Result<std::unique_ptr<Check>> check = make_disk_check(setup);
  EXPECT_TRUE(check) << check.error().message;
  SearchOptions options;
  options.bounds.depth = depth;
  options.threads = 1;
  return catalogued_search(**check, options);
}

class PebbleBuiltInTest : public testing::Test {
 protected:
  // The options are those of the plug-in, on both sides.
  void make(const std::vector<std::string>& settings) {
    const Result<std::string> path = bundled_library("examples/libpebblefs.so");
    ASSERT_TRUE(path) << path.error().message;
    Result<DiskSetup> setup = plugin_setup(*path, settings);
    ASSERT_TRUE(setup) << setup.error().message;
    plugin_ = *setup;
    built_in_ = *setup;
    built_in_.kind = pebble_kind();
    built_in_.trouble = nullptr;
  }
  void expect_same(uint32_t depth) {
    const SearchResult plugin = search(plugin_, depth), built_in = search(built_in_, depth);
    EXPECT_EQ(plugin.verdict, built_in.verdict);
    EXPECT_EQ(plugin.findings, built_in.findings);
    EXPECT_EQ(plugin.marks, built_in.marks);
    EXPECT_EQ(plugin.states, built_in.states);
    EXPECT_EQ(plugin.transitions, built_in.transitions);
    EXPECT_GT(plugin.transitions, 100u);
  }
  DiskSetup plugin_, built_in_;
};

TEST_F(PebbleBuiltInTest, ClaimsWhatThePluginClaims) {
  make({});
  const TargetKind &a = plugin_.kind, &b = built_in_.kind;
  EXPECT_EQ(a.ops, b.ops);
  EXPECT_EQ(a.disks, b.disks);
  EXPECT_EQ(a.claims.contract, b.claims.contract);
  EXPECT_EQ(a.claims.fsync_all, b.claims.fsync_all);
  EXPECT_EQ(a.limits.write_unit, b.limits.write_unit);
  EXPECT_EQ(a.has_fsck, b.has_fsck);
  EXPECT_EQ(a.isolation, Isolation::kProcess);
  EXPECT_EQ(b.isolation, Isolation::kNone);
  EXPECT_NE(a.faults, 0u);
  EXPECT_EQ(b.faults, 0u);
}

TEST_F(PebbleBuiltInTest, GivesTheVerdictAndTheCountsOfThePlugin) {
  make({});
  expect_same(4);
}

TEST_F(PebbleBuiltInTest, AlsoWhereTheOpsThatMustFailAreTried) {
  make({"impossible=on", "write=2", "file_blocks=3"});
  expect_same(3);
}

TEST_F(PebbleBuiltInTest, AlsoWhereThePowerGoesInRecovery) {
  make({"nesting=1", "both_ways=on"});
  expect_same(3);
}

TEST(PebbleTargetTest, WhatWasLoadedIsSavedAgainAsItWas) {
  const TargetKind kind = pebble_kind();
  const std::unique_ptr<Target> target = kind.make(), other = kind.make();
  Media disk{Image(kind.disks)};
  ASSERT_EQ(target->format(disk), 0);
  ASSERT_EQ(target->mount(disk), 0);
  const Snapshot before = target->saves_memory()->save();
  ASSERT_EQ(target->apply(Op::of(OpKind::kCreate, Path("/a"))).error, 0);
  ASSERT_EQ(target->apply(Op::write(Path("/a"), 0, 48)).error, 0);
  const Snapshot after = target->saves_memory()->save();
  EXPECT_NE(before.digest(), after.digest());
  other->saves_memory()->load(after, disk);
  EXPECT_EQ(other->saves_memory()->save().digest(), after.digest());
  EXPECT_EQ(other->apply(Op::of(OpKind::kStat, Path("/a"))).value, 48u);
  other->saves_memory()->load(before, disk);
  EXPECT_EQ(other->saves_memory()->save().digest(), before.digest());
  EXPECT_EQ(other->apply(Op::of(OpKind::kStat, Path("/a"))).error, ENOENT);
  EXPECT_EQ(target->saves_memory()->save().digest(), after.digest());  // the copies are deep
}

}  // namespace
}  // namespace sisyfs::pebble_built_in_test
