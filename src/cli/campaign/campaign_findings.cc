#include "cli/campaign/campaign_findings.h"

#include <algorithm>

#include "finding/token.h"

namespace sisyfs::cli {

bool CampaignFindings::is_minor(const Finding& finding) {
  const auto& settings = finding.setup.settings;
  const auto sets = [&](const char* one) {
    return std::find(settings.begin(), settings.end(), one) != settings.end();
  };
  // Of other calls the stage without these has the same findings.
  const bool refusals = sets("impossible=on") && sets("crash=none");
  return (refusals && finding.kind == FindingKind::kWrongErrno) ||
         std::any_of(finding.steps.begin(), finding.steps.end(),
                     [](const Step& step) { return step.failure.kind != InjectedFailure::Kind::kNone; });
}

bool CampaignFindings::keep(ToldFinding told, double spent) {
  const bool minor = is_minor(told.finding);
  if (minor && !first_minor_at_) first_minor_at_ = spent;
  std::vector<FindingKind>& kinds = minor ? minor_kinds_ : grave_kinds_;
  if (std::find(kinds.begin(), kinds.end(), told.finding.kind) == kinds.end())
    kinds.push_back(told.finding.kind);
  // Two walks to one finding may have become the same steps.
  std::vector<ToldFinding>& kept = minor ? minor_ : grave_;
  const std::string token = make_token(told.finding);
  if (std::any_of(kept.begin(), kept.end(),
                  [&](const ToldFinding& other) { return make_token(other.finding) == token; }))
    return false;
  kept.push_back(std::move(told));
  return true;
}

FindingBits CampaignFindings::known(const KindTable& kinds, bool minor) const {
  FindingBits bits = 0;
  for (const FindingKind kind : grave_kinds_) bits |= kinds.bit_or_none(kind);
  if (minor)
    for (const FindingKind kind : minor_kinds_) bits |= kinds.bit_or_none(kind);
  return bits;
}

void CampaignFindings::drop_grave(size_t count) {
  grave_.erase(grave_.begin(), grave_.begin() + static_cast<ptrdiff_t>(count));
}

std::vector<ToldFinding> CampaignFindings::all() const {
  std::vector<ToldFinding> all = grave_;
  all.insert(all.end(), minor_.begin(), minor_.end());
  return all;
}

}  // namespace sisyfs::cli
