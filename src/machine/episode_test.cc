#include "machine/episode.h"

#include <gtest/gtest.h>

#include "machine/toy_target_for_test.h"

namespace sisyfs::episode_test {
namespace {

using Kind = InjectedFailure::Kind;

Episode failed_with(Kind kind, int error, OpKind op = OpKind::kCreate) {
  Episode episode;
  episode.op = Op::of(op, Path("/a"));
  episode.failure = {kind, 1};
  episode.failed = true;
  episode.answer = OpResult::of(error);
  return episode;
}

TEST(EpisodeTest, ARefusalIsTheErrorThatTheFailureMakesRight) {
  EXPECT_TRUE(failed_with(Kind::kDiskAccess, EIO).is_refusal());
  EXPECT_TRUE(failed_with(Kind::kDiskAccess, EROFS).is_refusal());
  EXPECT_FALSE(failed_with(Kind::kDiskAccess, ENOMEM).is_refusal());
  EXPECT_FALSE(failed_with(Kind::kDiskAccess, 0).is_refusal());
  EXPECT_TRUE(failed_with(Kind::kAllocation, ENOMEM).is_refusal());
  EXPECT_TRUE(failed_with(Kind::kAllocation, ENOBUFS).is_refusal());
  EXPECT_FALSE(failed_with(Kind::kAllocation, EIO).is_refusal());
  Episode nothing_failed = failed_with(Kind::kDiskAccess, EIO);
  nothing_failed.failed = false;
  EXPECT_FALSE(nothing_failed.is_refusal());
}

TEST(EpisodeTest, ACallThatChangesSomethingMayBeRefusedByABadUnit) {
  Episode episode;
  episode.op = Op::of(OpKind::kUnlink, Path("/a"));
  for (const int error : {EIO, ENOSPC, EROFS}) {
    episode.answer = OpResult::of(error);
    episode.bad_units = false;
    EXPECT_FALSE(episode.is_refusal());
    episode.bad_units = true;
    EXPECT_TRUE(episode.is_refusal());
    EXPECT_TRUE(episode.reports_lost_write());
  }
  episode.answer = OpResult::of(EINVAL);
  EXPECT_FALSE(episode.is_refusal());
  for (const OpKind read : {OpKind::kRead, OpKind::kReaddir, OpKind::kStat}) {
    episode.op = Op::of(read, Path("/a"));
    episode.answer = OpResult::of(EIO);
    EXPECT_FALSE(episode.is_refusal());
  }
}

TEST(EpisodeTest, OnlyARefusedRemountLeavesNothingToReadBack) {
  EXPECT_TRUE(failed_with(Kind::kDiskAccess, EIO, OpKind::kRemount).is_gone());
  EXPECT_FALSE(failed_with(Kind::kDiskAccess, 0, OpKind::kRemount).is_gone());
  EXPECT_FALSE(failed_with(Kind::kDiskAccess, EIO).is_gone());
}

TEST(EpisodeTest, ALeakIsNoDeath) {
  Episode episode;
  EXPECT_FALSE(episode.is_dead());
  episode.faults = kLeaked;
  EXPECT_FALSE(episode.is_dead());
  episode.faults = kLeaked | kHung;
  EXPECT_TRUE(episode.is_dead());
}

TEST(PromiseTest, EachCallPromisesWhatItNames) {
  const TargetKind kind = toy_kind();
  EXPECT_EQ(promise_of(kind, OpKind::kCreate), PromiseScope::kNone);
  EXPECT_EQ(promise_of(kind, OpKind::kSync), PromiseScope::kAll);
  EXPECT_EQ(promise_of(kind, OpKind::kRemount), PromiseScope::kAll);
  EXPECT_EQ(promise_of(kind, OpKind::kFsync), PromiseScope::kFile);
  EXPECT_EQ(promise_of(kind, OpKind::kFdatasync), PromiseScope::kData);
  EXPECT_EQ(promise_of(kind, OpKind::kWriteSync), PromiseScope::kWrite);
  EXPECT_EQ(promise_of(kind, OpKind::kFsyncHandle), PromiseScope::kFile);
  EXPECT_EQ(promise_of(kind, OpKind::kFdatasyncHandle), PromiseScope::kData);
  EXPECT_EQ(promise_of(kind, OpKind::kWriteHandle), PromiseScope::kNone);
}

// Story: in an early version of the calls of Linux a commit promised what sync does. Nobody has asked for it,
// so a system may begin it whenever it likes and need not wait for it.
TEST(PromiseTest, CallsOfLinuxPromiseWhatTheirRelativesDo) {
  TargetKind kind = toy_kind();
  EXPECT_EQ(promise_of(kind, OpKind::kSyncfs), PromiseScope::kAll);
  EXPECT_EQ(promise_of(kind, OpKind::kMsync), PromiseScope::kData);
  for (const OpKind op : {OpKind::kCommit, OpKind::kWriteDirect, OpKind::kWriteMapped, OpKind::kExchange,
                          OpKind::kRenameNew, OpKind::kFallocate, OpKind::kPunchHole})
    EXPECT_EQ(promise_of(kind, op), PromiseScope::kNone) << op_name(op);
  kind.claims.durable = OpSet(OpKind::kRename, OpKind::kWrite);
  for (const OpKind op : {OpKind::kExchange, OpKind::kRenameNew, OpKind::kWriteDirect})
    EXPECT_EQ(promise_of(kind, op), PromiseScope::kChanges) << op_name(op);
  EXPECT_EQ(promise_of(kind, OpKind::kWriteMapped), PromiseScope::kNone);
  kind.claims.durable = OpSet();
  kind.claims.contract = Contract::kNames;
  EXPECT_EQ(promise_of(kind, OpKind::kExchange), PromiseScope::kChanges);
  EXPECT_EQ(promise_of(kind, OpKind::kRenameNew), PromiseScope::kChanges);
  kind.claims.fsync_all = true;
  EXPECT_EQ(promise_of(kind, OpKind::kMsync), PromiseScope::kAll);
  kind.claims.durable = OpSet::all();
  EXPECT_EQ(promise_of(kind, OpKind::kPunchHole), PromiseScope::kAll);
  EXPECT_EQ(promise_of(kind, OpKind::kCommit), PromiseScope::kNone);
}

TEST(PromiseTest, ClaimsMakeCallsPromiseMore) {
  TargetKind kind = toy_kind();
  kind.claims.fsync_all = true;
  EXPECT_EQ(promise_of(kind, OpKind::kFdatasync), PromiseScope::kAll);
  EXPECT_EQ(promise_of(kind, OpKind::kCreate), PromiseScope::kNone);
  kind.claims.durable = OpSet::all();
  EXPECT_EQ(promise_of(kind, OpKind::kCreate), PromiseScope::kAll);
  TargetKind diskless;
  EXPECT_EQ(promise_of(diskless, OpKind::kCreate), PromiseScope::kAll) << "the power never goes";
}

}  // namespace
}  // namespace sisyfs::episode_test
