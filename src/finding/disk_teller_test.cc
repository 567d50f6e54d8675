#include "finding/disk_teller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "finding/disk_check.h"
#include "finding/finding_json.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::disk_teller_test {
namespace {

using testing::HasSubstr;

std::unique_ptr<Check> check_of(const ToyMistakes& mistakes, bool lazy = false) {
  DiskSetup setup = toy_setup(mistakes);
  setup.cuts.lazy = lazy;
  setup.cuts.nesting = 1;
  setup.failures.most = 1;
  auto check = make_disk_check(setup);
  EXPECT_TRUE(check);
  return *std::move(check);
}

// What a search to this depth finds, by names.
struct Named {
  FindingKind kind;
  std::vector<Step> steps;
};
std::vector<Named> findings_of(const Check& check) {
  SearchOptions options;
  options.bounds.depth = 3;
  std::vector<Named> all;
  for (const FoundTrace& found : check.find_traces(options, check.search(options, {})).traces) {
    const Result<std::vector<Step>> steps = check.steps(found.trace);
    EXPECT_TRUE(steps);
    all.push_back({check.kinds()[found.kind], *steps});
  }
  return all;
}

const ToyMistakes kMistakes[] = {
    {.wrong_errno = true},
    {.wrong_effect = true},
    {.hides_error = true},
    {.no_flush = true},
    {.no_mount = true},
    {.bad_walk = true},
    {.no_unmount = true},
    {.early_clear = true},
    {.strays = true},
    {.fault = kLeaked},
    {.fault = kDied},
    {.mount_dies = true},
    {.hint = true, .has_check = true},
    {.hint = true, .reads_hint = true, .has_check = true, .problem = ToyProblem::kUnnamed, .repairs = false},
};

TEST(DiskTellerTest, EveryFindingOfASearchIsSeenAgainFromItsSteps) {
  for (const bool lazy : {false, true}) {
    for (size_t i = 0; i < std::size(kMistakes); ++i) {
      const auto check = check_of(kMistakes[i], lazy);
      const std::vector<Named> found = findings_of(*check);
      EXPECT_FALSE(found.empty()) << i << lazy;
      for (const Named& one : found) {
        const Replayed replayed = check->replay(one.steps);
        EXPECT_EQ(replayed.cannot_happen, "") << i << lazy;
        EXPECT_TRUE(replayed.story.shows(one.kind))
            << i << lazy << info(one.kind).name << to_json(one.steps).dump();
        ASSERT_FALSE(replayed.story.steps.empty());
        EXPECT_FALSE(replayed.story.steps.back().observed.empty()) << i << lazy;
      }
    }
  }
}

// A step is taken out by hand. Whatever comes of it is said, and the rest never names another step.
TEST(DiskTellerTest, WithAStepTakenOutTheReplaySaysWhatComesOfIt) {
  unsigned still = 0, something_else = 0, cannot = 0;
  for (const bool lazy : {false, true}) {
    for (const ToyMistakes& mistakes : kMistakes) {
      const auto check = check_of(mistakes, lazy);
      for (const Named& one : findings_of(*check)) {
        for (size_t out = 0; out < one.steps.size(); ++out) {
          std::vector<Step> steps = one.steps;
          steps.erase(steps.begin() + static_cast<ptrdiff_t>(out));
          const Replayed replayed = check->replay(steps);
          if (!replayed.cannot_happen.empty()) {
            EXPECT_THAT(replayed.cannot_happen, testing::StartsWith("step "));
            ++cannot;
          } else {
            ++(replayed.story.shows(one.kind) ? still : something_else);
          }
        }
      }
    }
  }
  EXPECT_GT(still, 0u);
  EXPECT_GT(something_else, 0u);
  EXPECT_GT(cannot + something_else, still) << "traces are short: most steps are needed";
}

// Without flushes /a is in doubt when the power goes in the second step, which loses it.
struct LostTest : testing::Test {
  LostTest() {
    steps = {Step{.id = 1, .op = "create /a", .failure = {}, .cuts = {}},
             Step{.id = 2, .op = "create /b", .failure = {}, .cuts = {}}};
    steps[1].cuts.push_back({.after = 1, .promises = 0, .lost = {{{.step = 1, .nth = 1, .address = 1}, {}}}});
  }
  Replayed replay() { return check->replay(steps); }
  LostEvent& lost() { return steps[1].cuts[0].lost[0]; }

  std::unique_ptr<Check> check = check_of({.no_flush = true});
  std::vector<Step> steps;
};

TEST_F(LostTest, TheNamedEventIsLostAndNoOther) {
  const Replayed replayed = replay();
  EXPECT_EQ(replayed.cannot_happen, "");
  EXPECT_TRUE(replayed.story.shows(FindingKind::kNotAllowed));
  ASSERT_EQ(replayed.story.writes.size(), 2u);
  EXPECT_EQ(replayed.story.writes[0].status, WriteStatus::kLost);
  EXPECT_EQ(replayed.story.writes[1].status, WriteStatus::kPersisted);
  EXPECT_EQ(replayed.story.crashes(), 1u);
  EXPECT_EQ(replayed.story.ops(), 2u);
}

TEST_F(LostTest, AnotherAddressCannotHappen) {
  lost().event.address = 2;
  EXPECT_THAT(replay().cannot_happen, HasSubstr("event 1 of step 1 is no write to block 2 of disk 0 here"));
}

TEST_F(LostTest, AnotherNumberCannotHappen) {
  lost().event.nth = 2;
  EXPECT_THAT(replay().cannot_happen, HasSubstr("event 2 of step 1 is no write"));
}

TEST_F(LostTest, ADurableEventCannotBeLost) {
  check = check_of({});  // this one flushes before /b, so that /a is event 2 of its step and durable
  lost().event.nth = 2;
  steps[1].cuts[0].after = 2;
  EXPECT_THAT(replay().cannot_happen, HasSubstr("event 2 of step 1 is durable when the power goes"));
}

TEST_F(LostTest, EventsOfAStepThatWasTakenOutArePassedOver) {
  steps.erase(steps.begin());
  const Replayed replayed = replay();
  EXPECT_EQ(replayed.cannot_happen, "");
  EXPECT_TRUE(replayed.story.findings.empty()) << "/b alone is right now";
}

TEST_F(LostTest, APowerCutBehindTheLastEventCannotHappen) {
  steps[1].cuts[0].after = 2;
  EXPECT_THAT(replay().cannot_happen,
              HasSubstr("step 2: the power goes after 2 events of the op, which has only 1"));
}

TEST_F(LostTest, AFailureThatIsNotThereCannotHappen) {
  steps[0].failure = {InjectedFailure::Kind::kDiskAccess, 9};
  EXPECT_THAT(replay().cannot_happen, HasSubstr("step 1 ('create /a') has no access 9 that could fail"));
  DiskSetup setup = toy_setup({.no_flush = true});
  setup.failures.most = 0;
  check = *make_disk_check(setup);
  EXPECT_THAT(replay().cannot_happen,
              HasSubstr("step 1 has a call that fails, and with these settings none"));
}

// The judges had not declared what such a cut may show, and an assertion ended the program.
TEST_F(LostTest, MorePowerCutsThanTheSettingsAllowCannotHappen) {
  steps[1].cuts.resize(3);
  EXPECT_THAT(replay().cannot_happen,
              HasSubstr("step 2 has 3 power cuts, and with nesting=1 there are at most 2"));
}

TEST_F(LostTest, OpsThatTheTargetDoesNotHaveCannotHappen) {
  const auto why = [&](const char* op) {
    steps[0].op = op;
    return replay().cannot_happen;
  };
  EXPECT_THAT(why("mkdir /a"), HasSubstr("the target has no op 'mkdir'"));
  EXPECT_THAT(why("fsck"), HasSubstr("repairs a system that is mounted"));
  EXPECT_THAT(why("jump /a"), HasSubstr("step 1: "));
  steps[0].kind = Step::Kind::kBegin;
  EXPECT_THAT(why("create /a"), HasSubstr("one of interleaved tasks"));
}

TEST_F(LostTest, ThePowerCannotGoWhereItNeverDoes) {
  DiskSetup setup = toy_setup({.no_flush = true});
  setup.cuts.enabled = false;
  check = *make_disk_check(setup);
  EXPECT_THAT(replay().cannot_happen, HasSubstr("step 2 has a power cut, and the power never goes there"));
}

// A story in words.
TEST(DiskTellerStoryTest, NamesWritesAnswersAndWhatShouldHaveBeen) {
  const auto check = check_of({.wrong_errno = true});
  const std::vector<Step> steps = {Step{.id = 1, .op = "create /a", .failure = {}, .cuts = {}},
                                   Step{.id = 2, .op = "unlink /a", .failure = {}, .cuts = {}}};
  const Story story = check->replay(steps).story;
  ASSERT_EQ(story.steps.size(), 2u);
  EXPECT_EQ(story.steps[0].text, "answers 0");
  ASSERT_EQ(story.writes.size(), 1u);
  EXPECT_EQ(story.writes[0].label, "file a");
  EXPECT_EQ(story.writes[0].content, "1");
  EXPECT_EQ(story.writes[0].op, "create /a");
  ASSERT_EQ(story.steps[1].observed.size(), 1u);
  EXPECT_EQ(story.steps[1].observed[0].text, "it answers EPERM");
  EXPECT_EQ(story.steps[1].expected[0], "it answers 0");
}

// Names a block by what it holds.
struct NamingToy : ToyTarget {
  using ToyTarget::ToyTarget;
  std::string name_block(uint64_t address, Media& media) const override {
    std::byte bytes[kBlockSize] = {};
    EXPECT_EQ(media.read(BlockAddress(address), bytes), IoStatus::kOk);
    return std::to_string(static_cast<unsigned>(bytes[0]));
  }
};

// Story: blocks were named when the trial of use had deleted everything.
TEST(DiskTellerStoryTest, BlocksAreNamedOnTheDiskOfTheirStep) {
  DiskSetup setup = toy_setup({.early_clear = true});
  setup.kind.make = [] { return std::make_unique<NamingToy>(ToyMistakes{.early_clear = true}); };
  setup.cuts.nesting = 1;
  const auto check = *make_disk_check(setup);
  unsigned of_recovery = 0;
  for (const Named& one : findings_of(*check)) {
    const Story story = check->replay(one.steps).story;
    for (const WriteRecord& write : story.writes) {
      EXPECT_EQ(write.label, write.content) << write.number;
      of_recovery += write.op == "recovery" ? 1 : 0;
    }
  }
  EXPECT_GT(of_recovery, 0u);
}

TEST(DiskTellerStoryTest, AnOpAndItsPowerCutsAreOneStep) {
  const auto check = check_of({.no_flush = true});
  std::vector<Step> steps = {Step{.id = 1, .op = "create /a", .failure = {}, .cuts = {}},
                             Step{.id = 2, .op = "create /b", .failure = {}, .cuts = {}}};
  steps[1].cuts.push_back({.after = 1, .promises = 0, .lost = {{{.step = 1, .nth = 1, .address = 1}, {}}}});
  const Story story = check->replay(steps).story;
  ASSERT_EQ(story.steps.size(), 3u);
  EXPECT_EQ(story.steps[1].step, 2u);
  EXPECT_EQ(story.steps[2].step, 2u);
  EXPECT_EQ(story.length(), 2u);
}

TEST(DiskTellerStoryTest, AFailedTrialOfUseIsToldCallByCall) {
  const auto check = check_of({.no_unmount = true});
  const std::vector<Named> found = findings_of(*check);
  const auto unusable = std::find_if(found.begin(), found.end(),
                                     [](const Named& one) { return one.kind == FindingKind::kNotUsable; });
  ASSERT_NE(unusable, found.end());
  const StoryStep last = check->replay(unusable->steps).story.steps.back();
  ASSERT_GT(last.trial.size(), 1u);
  EXPECT_EQ(last.trial.front().call, "create /a");
  ASSERT_EQ(last.trial.front().writes.size(), 1u);
  EXPECT_EQ(last.trial.front().writes[0].label, "file a");
  EXPECT_EQ(last.trial.back().call, "unmount");
  EXPECT_EQ(last.trial.back().answer, "EBUSY");
}

// Story: a device that writes through, and raw flash, were said to have writes in the cache.
TEST(DiskTellerStoryTest, WhatADeviceWritesThroughIsNotInTheCache) {
  for (const WriteCache cache : {WriteCache::kVolatile, WriteCache::kWriteThrough}) {
    DiskSetup setup = toy_setup({.wrong_effect = true});
    setup.cuts.device.cache = cache;
    const auto check = *make_disk_check(setup);
    const std::vector<Step> steps = {Step{.id = 1, .op = "create /a", .failure = {}, .cuts = {}},
                                     Step{.id = 2, .op = "create /b", .failure = {}, .cuts = {}}};
    const Story story = check->replay(steps).story;
    ASSERT_TRUE(story.shows(FindingKind::kWrongEffect));
    EXPECT_EQ(story.writes.back().status,
              cache == WriteCache::kVolatile ? WriteStatus::kPending : WriteStatus::kPersisted);
  }
}

}  // namespace
}  // namespace sisyfs::disk_teller_test
