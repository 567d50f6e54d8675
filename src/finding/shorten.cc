#include "finding/shorten.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sisyfs {
namespace {

bool still_happens(const Check& check, FindingKind kind, const std::vector<Step>& steps) {
  const Replayed replayed = check.replay(steps);
  return replayed.cannot_happen.empty() && replayed.story.shows(kind);
}

std::vector<Step> without(const std::vector<Step>& steps, size_t from, size_t count) {
  std::vector<Step> rest(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(from));
  rest.insert(rest.end(), steps.begin() + static_cast<ptrdiff_t>(std::min(from + count, steps.size())),
              steps.end());
  return rest;
}

// Leaves out runs of `count` steps where that is possible, the last ones first. Whether it was.
bool leave_out(const Check& check, FindingKind kind, size_t count, std::vector<Step>& steps,
               const std::atomic<bool>& stop) {
  bool shorter = false;
  for (size_t end = steps.size(); end > 0 && !stop.load(); end -= std::min(end, count)) {
    const size_t from = end - std::min(end, count);
    std::vector<Step> candidate = without(steps, from, end - from);
    if (candidate.empty() || !still_happens(check, kind, candidate)) continue;
    steps = std::move(candidate);
    shorter = true;
  }
  return shorter;
}

// Whether the finding happens with `candidate` in place of `steps`, which are replaced then.
bool take_if(const Check& check, FindingKind kind, std::vector<Step> candidate, std::vector<Step>& steps) {
  if (!still_happens(check, kind, candidate)) return false;
  steps = std::move(candidate);
  return true;
}

// Leaves out failing calls, power cuts and lost events. Whether there was one.
bool simplify(const Check& check, FindingKind kind, std::vector<Step>& steps, const std::atomic<bool>& stop) {
  bool simpler = false;
  for (size_t at = 0; at < steps.size(); ++at) {
    const auto attempt = [&](auto change) {
      if (stop.load()) return false;
      std::vector<Step> candidate = steps;
      change(candidate[at]);
      const bool taken = take_if(check, kind, std::move(candidate), steps);
      simpler |= taken;
      return taken;
    };
    if (steps[at].failure.kind != InjectedFailure::Kind::kNone)
      (void)attempt([](Step& step) { step.failure = {}; });
    while (!steps[at].cuts.empty() && attempt([](Step& step) { step.cuts.pop_back(); })) {
    }
    for (size_t cut = 0; cut < steps[at].cuts.size(); ++cut)
      for (size_t i = steps[at].cuts[cut].lost.size(); i-- > 0;)
        (void)attempt([&](Step& step) {
          std::vector<LostEvent>& lost = step.cuts[cut].lost;
          lost.erase(lost.begin() + static_cast<ptrdiff_t>(i));
        });
  }
  return simpler;
}

}  // namespace

std::vector<Step> shorten(const Check& check, FindingKind kind, std::vector<Step> steps,
                          const std::atomic<bool>& stop) {
  for (size_t count = steps.size() / 2; count > 1 && !stop.load(); count /= 2)
    (void)leave_out(check, kind, count, steps, stop);
  bool better = true;
  while (better && !stop.load()) {
    better = leave_out(check, kind, 1, steps, stop);
    better |= simplify(check, kind, steps, stop);
  }
  return steps;
}

std::vector<Step> renumbered(std::vector<Step> steps) {
  std::map<uint32_t, uint32_t> ids{{0, 0}};  // the start has 0
  for (Step& step : steps) {
    const uint32_t id = static_cast<uint32_t>(ids.size());
    ids[step.id] = id;
    step.id = id;
    for (PowerCut& cut : step.cuts) {
      std::erase_if(cut.lost, [&](const LostEvent& lost) { return !ids.contains(lost.event.step); });
      for (LostEvent& lost : cut.lost) lost.event.step = ids[lost.event.step];
    }
  }
  return steps;
}

}  // namespace sisyfs
