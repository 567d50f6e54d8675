#include "cli/campaign/tried.h"

#include <algorithm>

namespace sisyfs::cli {

void Tried::add(const DoneTask& done) {
  performed_ |= done.performed;
  for (const std::string& mark : done.reached) marks_[mark] = true;
  for (const std::string& mark : done.missed) marks_.try_emplace(mark, false);
  if (!never_) never_ = done.not_tried;
  std::erase_if(*never_, [&](const std::string& what) {
    return std::find(done.not_tried.begin(), done.not_tried.end(), what) == done.not_tried.end();
  });
}

void Tried::report_to(CampaignReport& report, const Check& usual) const {
  for (const auto& [mark, reached] : marks_) (reached ? report.reached : report.never).push_back(mark);
  if (!never_) return;
  const std::vector<NotTried> but_ops = usual.not_tried(kAllOps);
  for (const NotTried& one : usual.not_tried(performed_)) {
    const bool is_ops = std::none_of(but_ops.begin(), but_ops.end(),
                                     [&](const NotTried& other) { return other.what == one.what; });
    if (is_ops || std::find(never_->begin(), never_->end(), one.what) != never_->end())
      report.not_tried.push_back(one);
  }
}

}  // namespace sisyfs::cli
