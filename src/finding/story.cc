#include "finding/story.h"

#include <algorithm>

namespace sisyfs {

bool Story::shows(FindingKind kind) const {
  return std::find(findings.begin(), findings.end(), kind) != findings.end();
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
