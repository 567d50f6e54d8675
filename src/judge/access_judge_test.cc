#include "judge/access_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "judge/judge_for_test.h"

namespace sisyfs::access_judge_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

MediaState blank_disk() { return MediaState(Image(toy_kind().disks)); }

Opinion opinion_on_op(uint32_t faults, const MediaState& disk = blank_disk()) {
  const TargetKind kind = toy_kind();
  AccessJudge judge(kind);
  Episode episode;
  episode.faults = faults;
  Opinion opinion{&all_kinds()};
  judge.op_ended(MadeUpEnd(episode, disk), opinion);
  return opinion;
}

TEST(AccessJudgeTest, EachFaultIsAFindingOfItsOwn) {
  std::set<FindingKind> kinds;
  for (const Fault fault : {kDied, kHung, kLeaked, kHeapMisused, kTooMuchMemory}) {
    kinds.insert(finding_of(fault));
    EXPECT_THAT(kinds_in(opinion_on_op(fault)), ElementsAre(finding_of(fault)));
  }
  EXPECT_EQ(kinds.size(), 5u);
  EXPECT_THAT(kinds_in(opinion_on_op(0)), IsEmpty());
}

TEST(AccessJudgeTest, ADeadTargetEndsThePathAndALeakDoesNot) {
  EXPECT_FALSE(opinion_on_op(0).over);
  EXPECT_FALSE(opinion_on_op(kLeaked).over);
  EXPECT_TRUE(opinion_on_op(kDied).over);
}

TEST(AccessJudgeTest, AccessesThatAreNotAllowedAreFound) {
  MediaState strays = blank_disk(), misuses = blank_disk();
  strays.log.add_stray(Access::kRead, BlockAddress(9), BlockCount(1));
  misuses.log.add_stray(Access::kProgramAgain, BlockAddress(1), BlockCount(1));
  EXPECT_THAT(kinds_in(opinion_on_op(0, strays)), ElementsAre(FindingKind::kOutOfRange));
  EXPECT_THAT(kinds_in(opinion_on_op(0, misuses)), ElementsAre(FindingKind::kFlashMisuse));
  EXPECT_FALSE(opinion_on_op(0, strays).over);
}

TEST(AccessJudgeTest, RecoveriesAreJudgedInTheSameWay) {
  const TargetKind kind = toy_kind();
  AccessJudge judge(kind);
  Recovery recovery = sound_recovery();
  EXPECT_THAT(kinds_in(opinion_on(judge, recovery)), IsEmpty());
  recovery.faults = kHung;
  recovery.out_of_range = recovery.flash_misused = true;
  EXPECT_THAT(
      kinds_in(opinion_on(judge, recovery)),
      UnorderedElementsAre(FindingKind::kTargetHung, FindingKind::kOutOfRange, FindingKind::kFlashMisuse));
}

TEST(AccessJudgeTest, DeclaresWhatTheTargetCanDoWrong) {
  TargetKind kind = toy_kind();
  EXPECT_THAT(AccessJudge(kind).may_find(), ElementsAre(FindingKind::kOutOfRange));
  kind.faults = kDied | kLeaked;
  EXPECT_THAT(
      AccessJudge(kind).may_find(),
      UnorderedElementsAre(FindingKind::kTargetDied, FindingKind::kMemoryLeak, FindingKind::kOutOfRange));
  kind.faults = 0;
  kind.disks.erase_blocks = 1;
  EXPECT_THAT(AccessJudge(kind).may_find(),
              UnorderedElementsAre(FindingKind::kOutOfRange, FindingKind::kFlashMisuse));
  kind.disks.block_count = BlockCount(0);
  EXPECT_THAT(AccessJudge(kind).may_find(), IsEmpty());
}

}  // namespace
}  // namespace sisyfs::access_judge_test
