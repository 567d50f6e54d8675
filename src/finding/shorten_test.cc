#include "finding/shorten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "finding/disk_check.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::shorten_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> ops_of(const std::vector<Step>& steps) {
  std::vector<std::string> ops;
  for (const Step& step : steps) ops.push_back(step.op);
  return ops;
}

// Without flushes /a is lost when the power goes in the last step. Many steps have nothing to do with it.
struct ShortenTest : testing::Test {
  ShortenTest() {
    for (const char* op : {"create /b", "sync", "unlink /b", "sync", "create /a", "create /b", "unlink /b"})
      steps.push_back(
          Step{.id = static_cast<uint32_t>(steps.size()) + 1, .op = op, .failure = {}, .cuts = {}});
  }
  std::unique_ptr<Check> check = *make_disk_check(toy_setup({.no_flush = true}));
  std::vector<Step> steps;
  const std::atomic<bool> no_stop{false}, stop{true};
};

TEST_F(ShortenTest, StepsThatAreNotNeededAreLeftOut) {
  steps.push_back(
      Step{.id = 8, .op = "sync", .failure = {}, .cuts = {{.after = 0, .promises = 1, .lost = {}}}});
  // The promise of sync is broken, because nothing was flushed.
  for (const auto& [id, nth] : {std::pair{5u, 1u}})
    steps.back().cuts[0].lost.push_back({{.step = id, .nth = nth, .address = 1}, {}});
  const Replayed before = check->replay(steps);
  ASSERT_EQ(before.cannot_happen, "");
  ASSERT_TRUE(before.story.shows(FindingKind::kNotAllowed));
  const std::vector<Step> after = shorten(*check, FindingKind::kNotAllowed, steps, no_stop);
  EXPECT_THAT(ops_of(after), ElementsAre("create /a", "sync"));
  EXPECT_EQ(after[0].id, 5u) << "ids stay";
  EXPECT_TRUE(check->replay(after).story.shows(FindingKind::kNotAllowed));
  EXPECT_EQ(shorten(*check, FindingKind::kNotAllowed, after, no_stop), after);
  EXPECT_EQ(shorten(*check, FindingKind::kNotAllowed, steps, stop), steps) << "stopped before the first try";
}

// Story: a random walk told three power cuts where one is enough.
TEST_F(ShortenTest, PowerCutsAndLostEventsThatAreNotNeededAreLeftOut) {
  steps = {Step{.id = 1, .op = "create /b", .failure = {}, .cuts = {{.after = 1, .promises = 0, .lost = {}}}},
           Step{.id = 2, .op = "create /a", .failure = {}, .cuts = {}},
           Step{.id = 3, .op = "unlink /b", .failure = {}, .cuts = {}},
           Step{.id = 4, .op = "sync", .failure = {}, .cuts = {{.after = 0, .promises = 1, .lost = {}}}}};
  for (const auto& [id, address] : {std::pair{2u, 1u}, std::pair{3u, 2u}})
    steps.back().cuts[0].lost.push_back({{.step = id, .nth = 1, .address = address}, {}});
  if (!check->replay(steps).cannot_happen.empty()) GTEST_FAIL() << check->replay(steps).cannot_happen;
  ASSERT_TRUE(check->replay(steps).story.shows(FindingKind::kNotAllowed));
  const std::vector<Step> after = shorten(*check, FindingKind::kNotAllowed, steps, no_stop);
  size_t cuts = 0, lost = 0;
  for (const Step& step : after) {
    cuts += step.cuts.size();
    for (const PowerCut& cut : step.cuts) lost += cut.lost.size();
  }
  EXPECT_EQ(after.size(), 2u);
  EXPECT_EQ(cuts, 1u);
  EXPECT_EQ(lost, 1u);
  const std::vector<Step> told = renumbered(after);
  EXPECT_EQ(told[0].id, 1u);
  EXPECT_EQ(told[1].id, 2u);
  EXPECT_EQ(told[1].cuts[0].lost[0].event.step, 1u);
  EXPECT_TRUE(check->replay(told).story.shows(FindingKind::kNotAllowed));
}

}  // namespace
}  // namespace sisyfs::shorten_test
