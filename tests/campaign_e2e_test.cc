// A check without options of a search: its stages, bounds, verdicts and exit codes, and how it is resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.h"
#include "running_program.h"

namespace sisyfs::campaign_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Answer check(const std::string& arguments) { return run("check " + arguments + " --progress off"); }

json report_of(const std::string& arguments) { return json::parse(check(arguments + " --json -").text); }

const json& stage_of(const json& report, const std::string& name) {
  for (const json& stage : report["stages"])
    if (stage["name"] == name) return stage;
  throw std::out_of_range("no stage " + name);
}

// What does not depend on the clock.
json without_times(json report) {
  report.erase("seconds");
  report.erase("threads");
  for (json& stage : report["stages"]) {
    stage.erase("seconds");
    stage.erase("recoveries");  // each worker has tables of its own
  }
  return report;
}

// Nobody has said that units of the flash may go bad: the target claims that it works on with them.
TEST(CampaignTest, WhoIgnoresWhatABadUnitRefusesIsFound) {
  for (const std::string wrong : {"refused=ignore-erase", "refused=ignore-program"}) {
    const Answer answer = check("flash --set " + wrong + " --states 100000");
    EXPECT_EQ(answer.code, 1) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(wrong + " erase_cycles=2"));
    EXPECT_EQ(run("replay " + token_in(answer.text)).code, 1);
  }
}

TEST(CampaignTest, AFindingEndsItAndIsToldInTheSimplestStage) {
  const Answer answer = check("f2fs --set rollforward=off");
  EXPECT_EQ(answer.code, 1) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("FOUND not-allowed (R3"));
  EXPECT_THAT(answer.text, HasSubstr("f2fs rollforward=off: 2 steps, 1 power cut"));
  EXPECT_THAT(answer.text, HasSubstr("FAIL: f2fs rollforward=off"));
  const Answer again = run("replay " + token_in(answer.text));
  EXPECT_EQ(again.code, 1) << again.text;
  const json report = report_of("'" SISYFS_PLUGIN_DIR "/examples/libpebblefs_rename.so'");
  ASSERT_EQ(report["findings"].size(), 1u);
  EXPECT_EQ(report["findings"][0]["name"], "not-allowed");
  EXPECT_EQ(stage_of(report, "ordered")["found"], json::array({"not-allowed"}))
      << "also in a device that reorders, which is not needed";
}

TEST(CampaignTest, EqualBoundsOnStatesGiveEqualResults) {
  const std::string bounded = "journal --states 30000 --threads ";
  const json one = report_of(bounded + "1"), two = report_of(bounded + "2");
  EXPECT_EQ(without_times(one), without_times(two));
  EXPECT_EQ(one["verdict"], "unknown");
  EXPECT_EQ(one["bound"], "30000 states");
  for (const char* name : {"calls", "ordered", "reordered", "torn", "recovery", "failures"})
    EXPECT_GE(stage_of(one, name)["depth"], 2) << name;
  EXPECT_GT(stage_of(one, "walks")["walks"], 0);
  EXPECT_EQ(check(bounded + "1").code, 3);
}

TEST(CampaignTest, WithinABudgetNothingFoundIsASuccessAndNoProof) {
  const Answer answer = check("flash --budget 2s");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("NOTHING FOUND: flash: nothing found within the budget of 2s"));
  EXPECT_THAT(answer.text, Not(HasSubstr("PASS")));
  const json report = report_of("flash --budget 1s");
  EXPECT_EQ(report["verdict"], "unknown");
  EXPECT_EQ(report["says"], "nothing found within the budget");
  EXPECT_EQ(check("flash --set checksum=off --budget 10s").code, 1);
  EXPECT_EQ(check("flash --time 1s").code, 3);
}

TEST(CampaignTest, StagesAreChosenByName) {
  const json report = report_of("journal --states 2000 --stages torn,calls");
  ASSERT_EQ(report["stages"].size(), 2u);
  EXPECT_EQ(report["stages"][0]["name"], "calls");
  EXPECT_EQ(report["stages"][1]["settings"], json::array({"device=hostile"}));
  EXPECT_EQ(report["not_tried"][0]["what"], "power cuts in recovery");
}

TEST(CampaignTest, AFindingOfARandomWalkIsShortened) {
  const json report = report_of("f2fs --set rollforward=off --stages walks");
  ASSERT_FALSE(report["findings"].empty());
  for (const json& finding : report["findings"]) {
    EXPECT_LE(finding["steps"].size(), 3u) << finding.dump();
    EXPECT_EQ(run("replay " + finding["token"].get<std::string>()).code, 1);
  }
}

// Story: a missing flush at the end of format was never found: what format wrote was taken as durable.
TEST(CampaignTest, ThePowerMayGoBeforeTheFirstMount) {
  const std::string quillfs = "'" SISYFS_PLUGIN_DIR "/examples/libquillfs";
  const Answer wrong = check(quillfs + "_flush_format.so' --stages first-mount");
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("FOUND not-mountable (R1"));
  EXPECT_EQ(run("replay " + token_in(wrong.text)).code, 1);
  const Answer right = check(quillfs + ".so' --stages first-mount");
  EXPECT_EQ(right.code, 0) << right.text;
  EXPECT_EQ(check("'" SISYFS_PLUGIN_DIR "/examples/libpebblefs.so' --stages first-mount").code, 0);
}

// Story: replay refused the file that a campaign had written, as one of another program.
TEST(CampaignTest, ItsReportCanBeReplayed) {
  const TemporaryDirectory where;
  EXPECT_EQ(check("f2fs --set rollforward=off --json " + where.file("json")).code, 1);
  const Answer again = run("replay " + where.file("json"));
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("still happens"));
}

// Story: after a wrong errno had been found, the stages that could find nothing else were said to be left
// out.
TEST(CampaignTest, AStageThatHasFoundAllItCanIsNotLeftOut) {
  const Answer answer =
      check("'" SISYFS_PLUGIN_DIR
            "/libledger_wrong_errnos.so' --only wrong-errno --stages calls,refusals --time 3s");
  EXPECT_EQ(answer.code, 1) << answer.text;
  EXPECT_THAT(answer.text, Not(HasSubstr("left out")));
}

// Walks of a plug-in are taken by several processes.
TEST(CampaignTest, WalksOfAPluginDoNotDependOnTheNumberOfWorkers) {
  const std::string bounded =
      "'" SISYFS_PLUGIN_DIR "/examples/libquillfs.so' --states 20000 --stages walks,long-life";
  const json one = report_of(bounded + " --threads 1"), two = report_of(bounded + " --threads 2");
  EXPECT_EQ(without_times(one), without_times(two));
  EXPECT_GT(stage_of(one, "walks")["walks"], 0);
  EXPECT_NE(without_times(report_of(bounded + " --seed 2")), without_times(one));
}

TEST(CampaignTest, OptionsOfOneSearchGiveOne) {
  for (const char* one : {"--depth 2", "--set crash=none --depth 2", "--search dfs --depth 2",
                          "--dedup shape --depth 2", "--walk 2", "--set nesting=1 --depth 2"}) {
    const json report = report_of(std::string("journal ") + one);
    EXPECT_EQ(report["schema"], "sisyfs.run/2") << one;
  }
  EXPECT_EQ(report_of("journal --set mode=data --states 500")["schema"], "sisyfs.campaign/1");
}

TEST(CampaignTest, WrongUsesAreOneSentence) {
  const std::map<std::string, std::string> all = {
      {"journal --stages tron", "no stage 'tron'"},
      {"journal --stages calls --depth 3", "--stages is for searches in stages"},
      {"journal --budget 1s --set crash=none", "cannot be used with --set crash=none"},
      {"journal --budget 1s --time 2s", "--budget is a bound on time"},
      {"journal --budget soon", "soon"},
      {"link --budget 1s", "--budget cannot be used with link"},
      {"journal --set crush=none", "crush"},
      {"f2fs --only M4", "cannot have the finding content-error"},
  };
  for (const auto& [arguments, says] : all) {
    const Answer answer = check(arguments);
    EXPECT_EQ(answer.code, 2) << arguments << '\n' << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(says)) << arguments;
    EXPECT_EQ(std::count(answer.text.begin(), answer.text.end(), '\n'), 1) << answer.text;
  }
}

TEST(CampaignTest, ItGoesOnWhereItWasStopped) {
  const TemporaryDirectory where;
  const std::string file = where.file("campaign");
  const Answer first = check("journal --states 4000 --checkpoint " + file);
  EXPECT_EQ(first.code, 3) << first.text;
  EXPECT_THAT(first.text, HasSubstr("to continue: ./sisyfs resume " + file));
  const json before = json::parse(content_of(file));
  EXPECT_EQ(before["schema"], "sisyfs.saved-campaign/1");
  EXPECT_EQ(check("journal --states 4000 --checkpoint " + file).code, 2) << "the file is not overwritten";
  const Answer second = run("resume " + file + " --states 40000 --progress off --json " + where.file("json"));
  EXPECT_EQ(second.code, 3) << second.text;
  const json after = json::parse(content_of(file));
  ASSERT_GT(after["done"].size(), before["done"].size());
  for (size_t i = 0; i < before["done"].size(); ++i) EXPECT_EQ(after["done"][i], before["done"][i]) << i;
  const json report = json::parse(content_of(where.file("json")));
  EXPECT_GE(stage_of(report, "calls")["depth"], 4);
  EXPECT_EQ(run("resume " + file + " --time 1s").code, 2) << "it counts states";
}

TEST(CampaignTest, CtrlCGivesTheTableSoFarAndSavesIt) {
  const TemporaryDirectory where;
  Running campaign("check journal --progress off --time 60s --checkpoint " + where.file("campaign"),
                   where.file("out"));
  usleep(1'500'000);
  EXPECT_EQ(WEXITSTATUS(campaign.end(SIGINT)), 3);
  const std::string said = content_of(where.file("out"));
  EXPECT_THAT(said, HasSubstr("UNKNOWN: journal: interrupted"));
  EXPECT_THAT(said, HasSubstr("to continue"));
  EXPECT_GT(json::parse(content_of(where.file("campaign")))["done"].size(), 5u);
}

// Story: the verdict was lost when the campaign could not be saved any more.
TEST(CampaignTest, AFileThatCannotBeWrittenAnyMoreLeavesTheVerdictAlone) {
  const TemporaryDirectory where;
  const std::string file = where.file("campaign");
  Running campaign("check journal --progress off --time 2s --checkpoint-every 1ms --checkpoint " + file,
                   where.file("out"));
  for (int i = 0; i < 1000 && content_of(file).empty(); ++i) usleep(10'000);
  for (int i = 0; i < 1000 && (unlink(file.c_str()), mkdir(file.c_str(), 0755)) != 0; ++i) usleep(1000);
  EXPECT_EQ(WEXITSTATUS(campaign.end()), 3);
  const std::string said = content_of(where.file("out"));
  EXPECT_THAT(said, HasSubstr("the campaign continued"));
  EXPECT_THAT(said, HasSubstr("UNKNOWN: journal"));
  EXPECT_THAT(said, Not(HasSubstr("to continue")));
}

// Story: a second run had as much time as all before it together.
TEST(CampaignTest, EachRunAddsTheSameBound) {
  const TemporaryDirectory where;
  const std::string file = where.file("campaign");
  ASSERT_EQ(check("journal --states 2000 --stages calls,walks --checkpoint " + file).code, 3);
  for (int run_number = 0; run_number < 3; ++run_number) {
    EXPECT_EQ(json::parse(content_of(file))["budget"], 2000.0) << run_number;
    ASSERT_EQ(run("resume " + file + " --progress off").code, 3);
  }
}

TEST(CampaignTest, WhatIsNoSavedCampaignIsRefused) {
  const TemporaryDirectory where;
  ASSERT_EQ(check("journal --states 3000 --checkpoint " + where.file("good")).code, 3);
  const std::string good = content_of(where.file("good"));
  const auto refused = [&](const std::string& text) {
    const Answer answer = run("resume " + where.write("bad", text) + " --states 10 --progress off");
    EXPECT_EQ(answer.code, 2) << answer.text;
    EXPECT_EQ(std::count(answer.text.begin(), answer.text.end(), '\n'), 1) << answer.text;
  };
  refused("{");
  refused(good.substr(0, good.size() / 2));
  for (const auto& [field, value] : {std::pair{"target", json("jornal")},
                                     {"settings", json::array({"a=b"})},
                                     {"budget", json(-1)},
                                     {"only", json::array({"R99"})},
                                     {"findings", json::array({"s2:x"})},
                                     {"stages", json("tron")}}) {
    json changed = json::parse(good);
    changed[field] = value;
    refused(changed.dump());
  }
  json changed = json::parse(good);
  changed["done"][0]["stage"] = "tron";
  refused(changed.dump());
}

}  // namespace
}  // namespace sisyfs::campaign_e2e_test
