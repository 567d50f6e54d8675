#include "finding/story.h"

#include <algorithm>
#include <utility>

namespace sisyfs {

bool Story::shows(FindingKind kind) const {
  return std::find(findings.begin(), findings.end(), kind) != findings.end();
}

// A step is told by entries that follow each other.
uint32_t Story::length() const {
  uint32_t count = 0, last = 0;
  for (const StoryStep& step : steps)
    if (const uint32_t before = std::exchange(last, step.step); last != before) ++count;
  return count;
}

uint32_t Story::ops() const {
  return static_cast<uint32_t>(std::count_if(steps.begin(), steps.end(), [](const StoryStep& s) {
    return s.kind == StoryStep::Kind::kBegin || s.kind == StoryStep::Kind::kOp ||
           s.kind == StoryStep::Kind::kVerify;
  }));
}

uint32_t Story::crashes() const {
  return static_cast<uint32_t>(std::count_if(
      steps.begin(), steps.end(), [](const StoryStep& s) { return s.kind == StoryStep::Kind::kCrash; }));
}

}  // namespace sisyfs
