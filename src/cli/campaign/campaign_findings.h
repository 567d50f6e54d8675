// CampaignFindings: what a campaign has found so far, grave findings before minor ones.
//
// A finding is minor if it needs a failing access or allocation, or is a wrong errno of a call that must
// fail. Most systems have such a finding, and one must not hide what a mere power cut does.
//
//   CampaignFindings found;
//   const bool is_new = found.keep(told, spent);
//   options.watched &= ~found.known(kinds, is_minor_stage);
#pragma once

#include <optional>
#include <vector>

#include "finding/told_finding.h"
#include "judge/kind_table.h"

namespace sisyfs::cli {

class CampaignFindings {
 public:
  static bool is_minor(const Finding& finding);

  // False if one with equal steps and settings is kept already. `spent`: what the campaign has cost so far.
  bool keep(ToldFinding told, double spent);

  // The kinds that were found, and need not be looked for: also those of minor findings where `minor` says
  // that the search may have these.
  FindingBits known(const KindTable& kinds, bool minor) const;
  // Grave findings are looked for once more, in a simpler way.
  void forget_grave_kinds() { grave_kinds_.clear(); }

  bool any() const { return !grave_.empty() || !minor_.empty(); }
  const std::vector<ToldFinding>& grave() const { return grave_; }
  // Forgets the first grave findings.
  void drop_grave(size_t count);
  // What the campaign had cost at the first minor finding.
  const std::optional<double>& first_minor_at() const { return first_minor_at_; }
  // All of them, grave ones first.
  std::vector<ToldFinding> all() const;

 private:
  std::vector<ToldFinding> grave_, minor_;
  std::vector<FindingKind> grave_kinds_, minor_kinds_;
  std::optional<double> first_minor_at_;
};

}  // namespace sisyfs::cli
