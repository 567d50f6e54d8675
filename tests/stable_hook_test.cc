// Disk::say_stable: a system that says it correctly is accepted; a system that says it too early is found, by
// a power cut during the call that says it.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "toy_fs.h"

namespace sisyfs::stable_hook_test {
namespace {

using toy::Claim;
using toy::Habits;
using toy::When;

DiskSetup setup_for(const Habits& habits, bool lazy = false) {
  DiskSetup setup;
  setup.kind = toy::kind_of(habits, Claim{.contract = Contract::kAtomic});
  setup.bounds.ops = OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kWrite, OpKind::kSync);
  setup.bounds.max_files = 2;
  setup.bounds.names = {"a", "b"};
  setup.bounds.write_sizes = {1};
  setup.bounds.max_file_size = 1;
  setup.max_system_ops = 2;
  setup.cuts.lazy = lazy;
  return setup;
}

SearchResult search(DiskSetup setup) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = 4;
  return catalogued_search(**check, options);
}

Habits habits_of(Stable says, bool too_early) {
  Habits habits;
  habits.when = says == Stable::kThisCallToo ? When::kThrough : When::kAtOnce;
  habits.says = says;
  habits.says_too_early = too_early;
  return habits;
}

TEST(StableHookTest, WhoSaysItRightlyIsAccepted) {
  for (const Stable says : {Stable::kEarlierCalls, Stable::kThisCallToo})
    for (const bool lazy : {false, true}) {
      const SearchResult result = search(setup_for(habits_of(says, false), lazy));
      EXPECT_EQ(result.findings, 0u) << static_cast<int>(says) << lazy;
      EXPECT_EQ(result.left_out, 0u);
    }
}

// The flush follows in the same call, so nothing but a power cut between the two can show it.
TEST(StableHookTest, WhoSaysItTooEarlyIsCaughtWithinTheCall) {
  for (const Stable says : {Stable::kEarlierCalls, Stable::kThisCallToo})
    for (const bool lazy : {false, true})
      EXPECT_EQ(search(setup_for(habits_of(says, true), lazy)).findings, bit(FindingKind::kNotAllowed))
          << static_cast<int>(says) << lazy;
}

// What is wrong is the word alone: the same writes without it are right.
TEST(StableHookTest, WithoutTheWordNothingIsWrong) {
  Habits quiet;
  EXPECT_EQ(search(setup_for(quiet)).findings, 0u);
  quiet.when = When::kThrough;
  EXPECT_EQ(search(setup_for(quiet)).findings, 0u);
}

Story story_of(const Habits& habits) {
  const auto check = make_disk_check(setup_for(habits));
  EXPECT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit(FindingKind::kNotAllowed)).traces;
  EXPECT_EQ(found.size(), 1u);
  const Result<Story> story = (*check)->tell(found.at(0).trace);
  EXPECT_TRUE(story);
  return *story;
}

TEST(StableHookTest, TheStoryNamesTheCallThatSaidIt) {
  const Story earlier = story_of(habits_of(Stable::kEarlierCalls, true));
  ASSERT_EQ(earlier.steps.size(), 3u);
  EXPECT_EQ(earlier.steps[0].op, "create /a");
  EXPECT_EQ(earlier.steps[1].text, "does not return; says that all before it is stable");
  EXPECT_NE(earlier.steps[2].text.find("in the middle of"), std::string::npos) << earlier.steps[2].text;
  EXPECT_EQ(
      earlier.steps[2].expected.back(),
      "what '" + earlier.steps[1].op + "' (step 2) promised, /a (0 bytes); after the power cut /a is absent");

  const Story itself = story_of(habits_of(Stable::kThisCallToo, true));
  ASSERT_EQ(itself.steps.size(), 2u);
  EXPECT_EQ(itself.steps[0].text, "does not return; says that it is stable");
  EXPECT_NE(itself.steps[1].text.find("in the middle of"), std::string::npos) << itself.steps[1].text;
  EXPECT_EQ(itself.steps[1].expected.back(),
            "what 'create /a' (step 1) promised, /a (0 bytes); after the power cut /a is absent");
}

}  // namespace
}  // namespace sisyfs::stable_hook_test
