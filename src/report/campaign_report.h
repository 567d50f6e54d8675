// What a campaign did, stage by stage: as a table for people, and as JSON (docs/formats/campaign.md).
//
//   fmt::print("{}", campaign_table(report, style));
//   json = campaign_json(report);
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "explore/search.h"
#include "finding/finding.h"
#include "finding/told_finding.h"
#include "report/text.h"

namespace sisyfs {

inline constexpr const char* kCampaignSchema = "sisyfs.campaign/1";

// One stage, over all of its rounds.
struct StageReport {
  std::string name, says;
  std::vector<std::string> settings;  // of the check, without the target
  std::string left_out;               // why it was not begun; empty if it was, or waited
  bool is_walks = false;
  uint32_t rounds = 0;     // complete; of a search: every path of so many steps was walked
  bool exhausted = false;  // a further round would add nothing
  bool cut = false;        // the round after these was begun and broken off
  uint64_t walks = 0;
  uint32_t walk_length = 0;
  // Of a search: of its largest round. Of walks: in all.
  uint64_t states = 0, crash_states = 0, left_out_states = 0;
  // Of all rounds.
  uint64_t transitions = 0, recoveries = 0;
  double seconds = 0;
  std::vector<FindingKind> found;
};

struct CampaignReport {
  Setup setup;  // as the user gave it
  Verdict verdict = Verdict::kUnknown;
  Stop stopped = Stop::kNo;
  // As the user gave it: "60s", "10000 states".
  std::string bound;
  bool is_budget = false;         // to find nothing within the bound is what was asked for
  std::vector<std::string> only;  // kinds that were looked for; empty: all
  std::vector<StageReport> stages;
  std::vector<NotTried> not_tried;          // in no stage
  std::vector<std::string> reached, never;  // marks
  std::vector<ToldFinding> findings;
  double seconds = 0;
  unsigned threads = 1;
};

// The verdict, a line for each stage, and what was never tried.
std::string campaign_table(const CampaignReport& report, const TextStyle& style);
nlohmann::ordered_json campaign_json(const CampaignReport& report);

}  // namespace sisyfs
