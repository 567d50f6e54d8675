// What a later fsync or sync promises after the device has failed a write and a call has said so. Linux marks
// such data as written (fsyncgate), so a system may lose it without a mistake, unless it claims to retry.
#include <gtest/gtest.h>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "toy_fs.h"

namespace sisyfs::doubt_test {
namespace {

using toy::Claim;
using toy::Habits;
using toy::OnError;
using toy::When;

SearchResult search(OnError on_error, const Claim& claim, uint32_t depth, OpSet ops, uint32_t failures = 1) {
  DiskSetup setup;
  setup.kind = toy::kind_of({.when = When::kAsked, .on_error = on_error}, claim);
  setup.bounds.ops = ops;
  setup.bounds.max_files = 1;
  setup.bounds.names = {"a", "b"};
  setup.bounds.max_file_size = 1;
  setup.bounds.write_sizes = {1};
  setup.failures.most = failures;
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  options.threads = 2;
  return catalogued_search(**check, options);
}

const OpSet kFiles(OpKind::kCreate, OpKind::kWrite, OpKind::kRename, OpKind::kFsync, OpKind::kSync);

// It gives up what it could not write and says so once.
TEST(DoubtTest, WhatWasReportedMayBeLost) {
  const Claim claim{.fsync_names = true, .retries_sync = false};
  const SearchResult result = search(OnError::kDrops, claim, 5, kFiles);
  EXPECT_EQ(result.findings, 0u);
  EXPECT_EQ(result.left_out, 0u);
  EXPECT_EQ(search(OnError::kDrops, claim, 4, kFiles, 2).findings, 0u);
}

TEST(DoubtTest, ItIsFoundWhereTheSystemClaimsToRetry) {
  const Claim claim{.fsync_names = true, .retries_sync = true};
  EXPECT_EQ(search(OnError::kDrops, claim, 4, kFiles).findings, bit(FindingKind::kNotAllowed));
  EXPECT_EQ(search(OnError::kDrops, claim, 5, kFiles, 0).findings, 0u) << "it takes a failure";
  EXPECT_EQ(search(OnError::kRetries, claim, 5, kFiles).findings, 0u) << "this one does retry";
}

// The call answers 0 although nothing is on the disk.
TEST(DoubtTest, WhatNobodyWasToldOfIsFoundEitherWay) {
  for (const bool retries : {false, true}) {
    const Claim claim{.fsync_names = true, .retries_sync = retries};
    EXPECT_EQ(search(OnError::kNothing, claim, 3, kFiles).findings, bit(FindingKind::kNotAllowed)) << retries;
  }
}

// After unmounting and mounting it has what is on the disk, and from then on that is promised.
TEST(DoubtTest, AMountMayShowThatItWasLost) {
  const OpSet ops(OpKind::kCreate, OpKind::kWrite, OpKind::kFsync, OpKind::kRemount);
  EXPECT_EQ(search(OnError::kDrops, {.fsync_names = true, .retries_sync = false}, 5, ops).findings, 0u);
  EXPECT_NE(search(OnError::kDrops, {.fsync_names = true, .retries_sync = true}, 4, ops).findings &
                bit(FindingKind::kWrongEffect),
            0u);
}

// Under `atomic` the window stays until the next mount.
TEST(DoubtTest, AWholeTreeMayBeOlderToo) {
  const OpSet ops(OpKind::kCreate, OpKind::kWrite, OpKind::kSync);
  const auto claim = [](bool retries) {
    return Claim{.contract = Contract::kAtomic, .retries_sync = retries};
  };
  EXPECT_EQ(search(OnError::kRetries, claim(true), 5, ops).findings, 0u);
  EXPECT_EQ(search(OnError::kRetries, claim(false), 5, ops).findings, 0u);
  EXPECT_NE(search(OnError::kDrops, claim(true), 4, ops).findings & bit(FindingKind::kNotAllowed), 0u);
}

TEST(DoubtTest, AFailedReadPutsNothingInDoubt) {
  Episode episode;
  episode.failed = true;
  episode.failure = {InjectedFailure::Kind::kDiskAccess, 1};
  episode.answer = OpResult::of(EIO);
  EXPECT_FALSE(episode.reports_lost_write());
  episode.write_failed = true;
  EXPECT_TRUE(episode.reports_lost_write());
  episode.answer = {};
  EXPECT_FALSE(episode.reports_lost_write()) << "nobody was told";
}

}  // namespace
}  // namespace sisyfs::doubt_test
