// A campaign in a file, from which `resume` goes on with it (docs/formats/campaign.md).
//
// What is saved is the request and what came of each search that has ended. The search that was running
// begins again.
//
//   std::string text = campaign_text(saved);
//   if (is_campaign(text)) Result<SavedCampaign> same = parse_campaign(text);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/campaign/schedule.h"

namespace sisyfs::cli {

// One search of a campaign, and what came of it.
struct DoneTask {
  std::string stage;
  uint32_t round = 1;
  double limit = 0, cost = 0, seconds = 0;
  Schedule::End end = Schedule::End::kDone;
  bool at_memory_bound = false;
  std::string left_out;  // why the stage cannot be done; empty if it can
  uint64_t walks = 0;
  uint64_t states = 0, transitions = 0, crash_states = 0, recoveries = 0, left_out_states = 0;
  uint64_t performed = 0;                    // kinds of op, as bits
  std::vector<std::string> reached, missed;  // marks
  std::vector<std::string> not_tried;        // of what is no op

  bool operator==(const DoneTask&) const = default;
};

struct SavedCampaign {
  std::string target;
  std::vector<std::string> settings;
  std::string bound;  // as the user gave it
  double budget = 0;  // in seconds or states
  bool counts_states = false;
  bool is_budget = false;
  std::string stages;  // names; empty: all
  uint64_t seed = 1;
  std::vector<std::string> only;
  bool all = false;
  uint64_t memory_bytes = 0;
  uint64_t smallest_blocks = 0;  // 0: not known
  std::vector<DoneTask> done;
  std::vector<std::string> findings;  // tokens

  bool operator==(const SavedCampaign&) const = default;
};

std::string campaign_text(const SavedCampaign& saved);
// Whether a file with this beginning is a campaign, and no saved search.
bool is_campaign(std::string_view beginning);
// Bad input, as the rest of a sentence about the file, if it is malformed or from another version.
Result<SavedCampaign> parse_campaign(std::string_view text);

}  // namespace sisyfs::cli
