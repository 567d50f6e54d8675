// Writes that a power cut may split. A system that logs each unit of a write as a record of its own was
// blamed for the size in between, and nothing could be claimed to say that it is meant so.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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
  OpSet ops = OpSet(OpKind::kWrite, OpKind::kTruncate, OpKind::kWriteSync);
};

constexpr Habits kWhole = {}, kSplit = {.split_writes = true},
                 kBackwards = {.split_writes = true, .backwards = true};

uint64_t findings_of(const Case& c) {
  DiskSetup setup;
  setup.kind = toy::kind_of(c.habits, {.contract = c.contract, .split_writes = c.claims, .more = c.ops});
  setup.bounds.ops = c.ops | OpSet(OpKind::kCreate, OpKind::kFsync, OpKind::kSync);
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

// A range is worked on like a write: a journal may end a transaction between two of its blocks.
TEST(SplitWritesTest, SoIsAPrefixOfARange) {
  const OpSet ranges(OpKind::kWrite, OpKind::kZeroRange);
  for (const Contract contract : {Contract::kAtomic, Contract::kOrdered, Contract::kFsync}) {
    SCOPED_TRACE(contract_name(contract));
    EXPECT_EQ(findings_of({contract, kSplit, true, false, ranges}), 0u);
    EXPECT_EQ(findings_of({contract, kWhole, true, false, ranges}), 0u);
  }
}

TEST(SplitWritesTest, ARangeIsCutAtUnits) {
  Tree tree;
  for (const char* line : {"create /a", "append /a 12"}) ASSERT_EQ(apply(*parse_op(line), tree).error, 0);
  const auto sizes_and_zeros = [&](const char* line) {
    std::vector<std::pair<size_t, size_t>> out;
    each_part(*parse_op(line), tree, 4, [&](Tree part) {
      const std::string text = part.node(part.child(kRootNode, "a")).data.text();
      out.emplace_back(text.size(), std::count(text.begin(), text.end(), '\0'));
    });
    return out;
  };
  using Parts = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(sizes_and_zeros("punch_hole /a 0 12"), (Parts{{12, 4}, {12, 8}}));
  EXPECT_EQ(sizes_and_zeros("zero_range /a 8 12"), (Parts{{12, 4}, {16, 8}}));
  EXPECT_EQ(sizes_and_zeros("fallocate /a 12 8"), (Parts{{16, 4}}));
  EXPECT_EQ(sizes_and_zeros("write_mapped /a 0 8 v1"), (Parts{{12, 0}}));
  EXPECT_EQ(sizes_and_zeros("write_direct /a 12 8"), (Parts{{16, 0}}));
  EXPECT_TRUE(sizes_and_zeros("exchange /a /b").empty());
}

}  // namespace
}  // namespace sisyfs::split_writes_test
