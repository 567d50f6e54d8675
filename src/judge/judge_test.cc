#include "judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/judge_for_test.h"

namespace sisyfs::judge_test {
namespace {

struct Silent : Judge {
  std::vector<FindingKind> may_find() const override { return {}; }
};

TEST(OpinionTest, FindingsOfAllJudgesAddUp) {
  Opinion opinion{&all_kinds()};
  EXPECT_EQ(opinion.findings, 0u);
  opinion.found(FindingKind::kWrongErrno);
  opinion.found(FindingKind::kOutOfRange);
  opinion.found(FindingKind::kWrongErrno);
  EXPECT_THAT(kinds_in(opinion), testing::ElementsAre(FindingKind::kWrongErrno, FindingKind::kOutOfRange));
}

TEST(OpinionTest, WhatNoJudgeHasDeclaredCannotBeFound) {
  const KindTable none;
  Opinion opinion{&none};
  EXPECT_DEATH(opinion.found(FindingKind::kWrongErrno), "finds what it has declared");
}

TEST(JudgeTest, AJudgeThatOverridesNothingSaysNothing) {
  Silent judge;
  const Snapshot value = judge.initial();
  EXPECT_TRUE(value.empty());
  judge.begin(value);
  EXPECT_FALSE(judge.wants_events());
  const Episode episode;
  const MediaState disk{Image(toy_kind().disks)};
  const MadeUpEnd end(episode, disk);
  Opinion opinion{&all_kinds()};
  judge.op_ended(end, opinion);
  EXPECT_EQ(opinion.findings | opinion.marks, 0u);
  EXPECT_FALSE(opinion.over);
  EXPECT_EQ(end.asked, 0) << "a walk costs much";
  EXPECT_EQ(opinion_on(judge, sound_recovery()).findings, 0u);
  EXPECT_TRUE(judge.after_op().empty() && judge.after_comeback().empty());
}

}  // namespace
}  // namespace sisyfs::judge_test
