// Writes that a power cut may split. A system that logs each unit of a write as a record of its own was
// blamed for the size in between, and nothing could be claimed to say that it is meant so.
#include <gtest/gtest.h>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "toy_fs.h"

namespace sisyfs::split_writes_test {
namespace {

using toy::Claim;
using toy::Habits;

struct Case {
  Contract contract;
  Habits habits;
  bool claims, found;
};

constexpr Habits kWhole = {}, kSplit = {.split_writes = true},
                 kBackwards = {.split_writes = true, .backwards = true};

uint64_t findings_of(const Case& c) {
  DiskSetup setup;
  setup.kind = toy::kind_of(c.habits, {.contract = c.contract, .split_writes = c.claims});
  setup.bounds.ops = OpSet(OpKind::kCreate, OpKind::kWrite, OpKind::kTruncate, OpKind::kWriteSync,
                           OpKind::kFsync, OpKind::kSync);
  setup.bounds.max_files = 1;
  setup.bounds.write_sizes = {1, 2};
  setup.bounds.max_file_size = 2;
  setup.max_system_ops = 2;
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = 4;
  return catalogued_search(**check, options).findings;
}

TEST(SplitWritesTest, APrefixInUnitsIsAllowedOnlyWhereItIsClaimed) {
  const Case cases[] = {
      {Contract::kAtomic, kWhole, true, false},     {Contract::kAtomic, kSplit, true, false},
      {Contract::kAtomic, kSplit, false, true},     {Contract::kAtomic, kBackwards, true, true},
      {Contract::kAtomic, kBackwards, false, true}, {Contract::kOrdered, kSplit, true, false},
      {Contract::kOrdered, kSplit, false, true},    {Contract::kFsync, kSplit, true, false},
      {Contract::kFsync, kSplit, false, true},      {Contract::kStructure, kSplit, false, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(contract_name(c.contract)) + (c.habits.split_writes ? " split" : " whole") +
                 (c.habits.backwards ? " backwards" : "") + (c.claims ? " claimed" : ""));
    EXPECT_EQ(findings_of(c), c.found ? bit(FindingKind::kNotAllowed) : 0);
  }
}

}  // namespace
}  // namespace sisyfs::split_writes_test
