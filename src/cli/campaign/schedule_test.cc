#include "cli/campaign/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace sisyfs::cli::schedule_test {
namespace {

using End = Schedule::End;

// Costs of rounds that grow by a factor of their own for each stage.
double cost_of(const Schedule::Task& task, double first, double growth) {
  return first * std::pow(growth, task.round - 1);
}

TEST(ScheduleTest, EachStageHasItsFirstRoundBeforeAnyHasItsSecond) {
  Schedule schedule(std::vector<Schedule::StageKind>(4), 100);
  for (size_t stage = 0; stage < 4; ++stage) {
    const auto task = schedule.next();
    ASSERT_TRUE(task);
    EXPECT_EQ(task->stage, stage);
    EXPECT_EQ(task->round, 1u);
    schedule.ended(*task, 0.001, End::kDone);
  }
  EXPECT_EQ(schedule.next()->round, 2u);
}

TEST(ScheduleTest, CheapStagesGoDeepAndDearOnesAreNotForgotten) {
  Schedule schedule(std::vector<Schedule::StageKind>(2), 1000);
  std::map<size_t, double> spent;
  std::map<size_t, uint32_t> rounds;
  while (const auto task = schedule.next()) {
    const double cost = task->stage == 0 ? cost_of(*task, 0.001, 4) : cost_of(*task, 0.5, 4);
    const bool cut = cost > task->limit;
    spent[task->stage] += cut ? task->limit : cost;
    schedule.ended(*task, cut ? task->limit : cost, cut ? End::kCut : End::kDone);
    if (!cut) rounds[task->stage] = task->round;
  }
  EXPECT_GT(rounds[0], rounds[1] + 2);
  EXPECT_GT(rounds[1], 3u);
  EXPECT_GT(spent[0], 100);
  EXPECT_GT(spent[1], 100);
  EXPECT_LE(spent[0] + spent[1], 1000.001);
}

TEST(ScheduleTest, AFavouredStageGetsALargerShare) {
  Schedule schedule({{.elastic = false}, {.elastic = false, .favour = 4}}, 1000);
  std::map<size_t, double> spent;
  while (const auto task = schedule.next()) {
    const double cost = std::min(task->limit, cost_of(*task, 1, 2));
    spent[task->stage] += cost;
    schedule.ended(*task, cost, cost == task->limit ? End::kCut : End::kDone);
  }
  EXPECT_GT(spent[1], 1.9 * spent[0]);
  EXPECT_GT(spent[0], 100);
}

TEST(ScheduleTest, TheRestOfTheBudgetGoesToAnElasticStage) {
  Schedule schedule({{.elastic = false}, {.elastic = true}}, 10);
  schedule.ended(*schedule.next(), 4, End::kDone);  // its next round would take 24
  schedule.ended(*schedule.next(), 1, End::kDone);
  const auto task = schedule.next();
  ASSERT_TRUE(task);
  EXPECT_EQ(task->stage, 1u);
  EXPECT_DOUBLE_EQ(task->limit, 5);
  schedule.ended(*task, 5, End::kCut);
  EXPECT_FALSE(schedule.next());
}

TEST(ScheduleTest, WithoutAnElasticStageTheCheapestRoundUsesTheRest) {
  Schedule schedule(std::vector<Schedule::StageKind>(2), 10);
  schedule.ended(*schedule.next(), 4, End::kDone);
  schedule.ended(*schedule.next(), 2, End::kDone);
  const auto task = schedule.next();
  ASSERT_TRUE(task);
  EXPECT_EQ(task->stage, 1u);
  EXPECT_DOUBLE_EQ(task->limit, 4);
}

TEST(ScheduleTest, AStageMayBeginLate) {
  Schedule schedule({{.elastic = false, .first = 0}, {.elastic = true, .first = 3}}, 100);
  double cost = 0.1;
  for (; schedule.next()->stage == 0; cost *= 2) schedule.ended(*schedule.next(), cost, End::kDone);
  EXPECT_GE(cost, 1.6);
  EXPECT_LE(cost, 6.4);
}

TEST(ScheduleTest, ExhaustedStagesAreDone) {
  Schedule schedule(std::vector<Schedule::StageKind>(2), 10);
  schedule.ended(*schedule.next(), 0.1, End::kExhausted);
  EXPECT_FALSE(schedule.all_exhausted());
  schedule.ended(*schedule.next(), 0.1, End::kExhausted);
  EXPECT_TRUE(schedule.all_exhausted());
  EXPECT_FALSE(schedule.next());
}

TEST(ScheduleTest, ARoundThatWasCutComesAgainOnlyWithMuchMore) {
  Schedule schedule(std::vector<Schedule::StageKind>(2), 100);
  const auto first = schedule.next();
  schedule.ended(*first, first->limit, End::kCut);
  schedule.ended(*schedule.next(), 1, End::kDone);
  EXPECT_EQ(schedule.next()->stage, 1u) << "the other stage goes on";
  schedule.ended(*schedule.next(), 60, End::kExhausted);
  const auto again = schedule.next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->stage, 0u);
  EXPECT_EQ(again->round, 1u);
  EXPECT_GT(again->limit, first->limit * 2) << "what is left of the budget";
}

}  // namespace
}  // namespace sisyfs::cli::schedule_test
