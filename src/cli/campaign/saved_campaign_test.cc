#include "cli/campaign/saved_campaign.h"

#include <gtest/gtest.h>

#include <string>

namespace sisyfs::cli::saved_campaign_test {
namespace {

SavedCampaign sample() {
  SavedCampaign saved;
  saved.target = "journal";
  saved.settings = {"mode=data"};
  saved.bound = "10m";
  saved.budget = 600;
  saved.stages = "calls,torn";
  saved.only = {"R3"};
  saved.memory_bytes = 1 << 30;
  DoneTask task;
  task.stage = "torn";
  task.round = 3;
  task.limit = 7.5;
  task.cost = task.seconds = 1.25;
  task.end = Schedule::End::kCut;
  task.states = 12345;
  task.reached = {"recovery replayed the journal"};
  task.not_tried = {"power cuts in recovery"};
  saved.done = {task, task};
  saved.done[1].end = Schedule::End::kExhausted;
  saved.findings = {"s2:journal::R3:AAAC:1234"};
  return saved;
}

TEST(SavedCampaignTest, TextBringsItBack) {
  const Result<SavedCampaign> back = parse_campaign(campaign_text(sample()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
  EXPECT_TRUE(is_campaign(campaign_text(sample())));
  EXPECT_FALSE(is_campaign("SISYFSCP"));
}

TEST(SavedCampaignTest, WhatIsNoCampaignIsRefused) {
  const std::string good = campaign_text(sample());
  for (const char* bad : {"", "{", "{}", "[]", "{\"schema\": 1}", "null"})
    EXPECT_FALSE(parse_campaign(bad)) << bad;
  // Each line taken away, and each number replaced by one that makes no sense.
  size_t refused = 0, lines = 0;
  for (size_t at = 0; at < good.size(); at = good.find('\n', at) + 1) {
    const size_t end = good.find('\n', at);
    ++lines;
    refused += parse_campaign(good.substr(0, at) + good.substr(end + 1)) ? 0 : 1;
  }
  EXPECT_GT(refused, lines * 3 / 4) << "only items of a list may be missing";
  for (const auto& [from, to] : {std::pair{"\"round\": 3", "\"round\": 0"},
                                 {"\"cost\": 1.25", "\"cost\": -1"},
                                 {"\"cut\"", "\"burnt\""},
                                 {"\"states\": 12345", "\"states\": -1"},
                                 {"\"budget\": 600.0", "\"budget\": 1e999"},
                                 {"\"seed\": 1", "\"seed\": \"1\""}}) {
    std::string changed = good;
    const size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, std::string_view(from).size(), to);
    EXPECT_FALSE(parse_campaign(changed)) << to;
  }
}

}  // namespace
}  // namespace sisyfs::cli::saved_campaign_test
