// Tried: what the searches of a campaign have tried and reached, taken together.
//
//   Tried tried;
//   tried.add(done);                 // after each search
//   tried.report_to(report, *check);
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/campaign/saved_campaign.h"
#include "finding/check.h"
#include "report/campaign_report.h"

namespace sisyfs::cli {

class Tried {
 public:
  // As the mask of performed ops: what is left is not tried for another reason.
  static constexpr uint64_t kAllOps = ~uint64_t{0};

  void add(const DoneTask& done);
  // Marks that were reached and not, and ops that no search has performed, and what else none of them tries.
  // `usual`: the check with the settings of the user alone.
  void report_to(CampaignReport& report, const Check& usual) const;

 private:
  uint64_t performed_ = 0;                         // kinds of op, as bits
  std::map<std::string, bool> marks_;              // whether they were reached
  std::optional<std::vector<std::string>> never_;  // what is no op, and was not tried so far
};

}  // namespace sisyfs::cli
