#include "finding/valid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "finding/random_finding_for_test.h"

namespace sisyfs::valid_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Three steps, the last with a power cut that lost two events.
Finding example() {
  Finding finding;
  finding.kind = FindingKind::kNotAllowed;
  finding.setup = {"journal", {"revoke=off"}};
  for (uint32_t id = 1; id <= 3; ++id) {
    Step& step = finding.steps.emplace_back();
    step.id = id;
    step.op = "create /a";
  }
  finding.steps[2].cuts = {{.after = 2, .promises = 0, .lost = {}}};
  finding.steps[2].cuts[0].lost = {{{.step = 2, .cut = 0, .nth = 1, .disk = 0, .address = 17}, {}},
                                   {{.step = 3, .cut = 0, .nth = 2, .disk = 0, .address = 18}, {1, 2}}};
  return finding;
}

LostEvent& lost(Finding& finding, size_t i) { return finding.steps[2].cuts[0].lost[i]; }

std::string refusal(const std::function<void(Finding&)>& change) {
  Finding finding = example();
  change(finding);
  const Status status = validate(finding);
  return status ? "accepted" : status.error().message;
}

TEST(ValidTest, TheExampleKeepsTheRules) {
  EXPECT_EQ(refusal([](Finding&) {}), "accepted");
  EXPECT_TRUE(validate({}).error().message.starts_with("target: is empty"));
}

TEST(ValidTest, RandomFindingsKeepTheRules) {
  RandomFindings findings(7);
  for (int i = 0; i < 500; ++i) {
    const Status status = validate(findings.next());
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(ValidTest, IdsRise) {
  EXPECT_THAT(refusal([](Finding& f) { f.steps[1].id = 1; }),
              StartsWith("steps[1]: has the id 1 after the id 1;"));
  EXPECT_THAT(refusal([](Finding& f) { f.steps[0].id = 0; }), StartsWith("steps[0]: has the id 0;"));
  EXPECT_EQ(refusal([](Finding& f) { f.steps[2].id = 9; }), "accepted");
}

// A step that was removed by hand leaves its name behind in a power cut.
TEST(ValidTest, AnEventMayNameAStepThatIsNotThereButNotALaterOne) {
  EXPECT_EQ(refusal([](Finding& f) { f.steps.erase(f.steps.begin() + 1); }), "accepted");
  EXPECT_THAT(refusal([](Finding& f) { lost(f, 1).event.step = 4; }),
              StartsWith("steps[2].cuts[0].lost[1]: names the step 4, which comes after its own step 3;"));
  EXPECT_EQ(refusal([](Finding& f) { lost(f, 0).event.step = 0; }), "accepted") << "the start";
  EXPECT_THAT(refusal([](Finding& f) {
                lost(f, 0).event.step = 0;
                lost(f, 0).event.cut = 1;
              }),
              StartsWith("steps[2].cuts[0].lost[0]: names a power cut of step 0"));
}

TEST(ValidTest, EventsAreNumberedFromOneAndNamedOnce) {
  EXPECT_THAT(refusal([](Finding& f) { lost(f, 0).event.nth = 0; }), HasSubstr("numbered from 1"));
  EXPECT_THAT(refusal([](Finding& f) { lost(f, 1) = lost(f, 0); }), HasSubstr("names an event again"));
  EXPECT_EQ(refusal([](Finding& f) { std::swap(lost(f, 0), lost(f, 1)); }), "accepted");
}

TEST(ValidTest, PartsRise) {
  for (const std::vector<uint32_t>& parts : {std::vector<uint32_t>{1, 1}, {2, 1}, {0, 5, 4}})
    EXPECT_THAT(refusal([&](Finding& f) { lost(f, 1).parts = parts; }),
                StartsWith("steps[2].cuts[0].lost[1]: has parts that do not rise;"));
  EXPECT_EQ(refusal([](Finding& f) { lost(f, 1).parts = {0, 7}; }), "accepted");
}

TEST(ValidTest, EachKindOfStepHasWhatItNeeds) {
  EXPECT_THAT(refusal([](Finding& f) { f.steps[0].op = ""; }), StartsWith("steps[0]: has no op;"));
  EXPECT_THAT(refusal([](Finding& f) { f.steps[0].op = "create /a\n"; }), HasSubstr("control character"));
  EXPECT_THAT(refusal([](Finding& f) { f.steps[2].kind = Step::Kind::kPowerCut; }), HasSubstr("has an op"));
  EXPECT_THAT(refusal([](Finding& f) {
                f.steps[2].kind = Step::Kind::kPowerCut;
                f.steps[2].op = "";
                f.steps[2].failure = {InjectedFailure::Kind::kDiskAccess, 1};
              }),
              HasSubstr("fails a call"));
  EXPECT_EQ(refusal([](Finding& f) { f.steps[0].kind = Step::Kind::kAdvance, f.steps[0].op = ""; }),
            "accepted");
  EXPECT_THAT(refusal([](Finding& f) { f.steps[0].failure.nth = 3; }), HasSubstr("without a kind"));
  EXPECT_THAT(refusal([](Finding& f) { f.steps[0].failure.kind = InjectedFailure::Kind::kAllocation; }),
              HasSubstr("without a kind or a number"));
}

TEST(ValidTest, SettingsAreNamesWithValues) {
  for (const char* setting : {"", "revoke", "=on", "a\n=1"})
    EXPECT_THAT(refusal([&](Finding& f) { f.setup.settings = {setting}; }), StartsWith("settings[0]:"))
        << setting;
  EXPECT_THAT(refusal([](Finding& f) { f.setup.settings = {"a=1", "a=2"}; }), HasSubstr("given twice"));
  EXPECT_EQ(refusal([](Finding& f) { f.setup.settings = {"a=", "b=1=2,:%"}; }), "accepted");
  EXPECT_THAT(refusal([](Finding& f) {
                f.others = {{"journal", {}}, {"", {}}};
              }),
              StartsWith("others[1].target:"));
  EXPECT_THAT(refusal([](Finding& f) { f.surroundings[""] = "6.1"; }), StartsWith("surroundings:"));
}

TEST(ValidTest, LimitsAreKept) {
  EXPECT_THAT(refusal([](Finding& f) { f.steps.resize(kMostSteps + 1); }), HasSubstr("the limit is 1000000"));
  EXPECT_THAT(refusal([](Finding& f) { f.steps[0].cuts.resize(kMostCuts); }), HasSubstr("power cuts"));
  EXPECT_THAT(refusal([](Finding& f) {
                f.steps[0].cuts = {{0, 0, std::vector<LostEvent>(kMostLost + 1)}};
              }),
              StartsWith("steps[0].cuts[0]: there are more than"));
  EXPECT_THAT(refusal([](Finding& f) { lost(f, 0).parts.resize(kMostParts + 1); }),
              HasSubstr("parts up to here"));
  EXPECT_THAT(refusal([](Finding& f) { f.steps[1].op.resize(kMostText, 'x'); }), HasSubstr("bytes"));
  EXPECT_THAT(refusal([](Finding& f) { f.surroundings["a"].resize(kMostText, 'x'); }), HasSubstr("bytes"));
  EXPECT_THAT(refusal([](Finding& f) { f.others.resize(kMostOthers + 1); }), StartsWith("others:"));
  EXPECT_THAT(refusal([](Finding& f) { f.setup.settings.resize(kMostSettings + 1); }),
              StartsWith("settings:"));
}

}  // namespace
}  // namespace sisyfs::valid_test
