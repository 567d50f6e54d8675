#include "finding/shorten.h"

#include <algorithm>
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

}  // namespace

std::vector<Step> shorten(const Check& check, FindingKind kind, std::vector<Step> steps,
                          const std::atomic<bool>& stop) {
  for (size_t count = steps.size() / 2; count > 1 && !stop.load(); count /= 2)
    (void)leave_out(check, kind, count, steps, stop);
  while (!stop.load() && leave_out(check, kind, 1, steps, stop)) {
  }
  return steps;
}

}  // namespace sisyfs
