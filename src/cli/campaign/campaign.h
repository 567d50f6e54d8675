// A campaign: what `check` does when nobody says how to search. Searches of one target, from cheap to stern
// (stages.h), each deepened in turn (schedule.h), until something is found, every stage is exhausted, or the
// time is used.
//
//   return run_campaign({.entry = entry, .settings = {"files=3"}, .options = options, .output = output});
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "adapters/plugin/black_box.h"
#include "cli/campaign/saved_campaign.h"
#include "cli/run.h"
#include "explore/search.h"
#include "finding/registry.h"

namespace sisyfs::cli {

struct CampaignRequest {
  const CheckEntry& entry;
  std::vector<std::string> settings;
  // Bounds on time or states are those of the campaign. Depth and order are set by the stages.
  SearchOptions options;
  std::string bound;              // as the user gave it; empty: the usual time
  bool is_budget = false;         // nothing found within the bound is a success
  std::string stages;             // a list of names; empty: all
  uint64_t seed = 1;              // of random walks
  std::vector<FindingInfo> only;  // kinds of findings; empty: all
  bool all = false;               // go on after a finding
  RunOutput output;
  const SharedBlackBox* box = nullptr;  // of a target whose workers are processes
  std::string checkpoint;               // where to save the campaign; empty: nowhere
  std::chrono::milliseconds checkpoint_every{60'000};
  const SavedCampaign* saved = nullptr;  // the campaign to go on with
};

// Searches, reports, and returns the exit code.
int run_campaign(const CampaignRequest& request);

}  // namespace sisyfs::cli
