#include "cli/campaign/schedule.h"

#include <algorithm>

namespace sisyfs::cli {
namespace {

// A round costs more than the one before it by this factor, until two rounds of the stage have shown it.
constexpr double kUsualGrowth = 6;
constexpr double kLeastGrowth = 2, kMostGrowth = 30;
// A first round is cheap. If it is not, it is broken off at this part of the budget that is left, and so is
// any round that costs many times what was predicted.
constexpr double kPatience = 8;
// A round that was cut begins again, so it needs a good deal more.
constexpr double kMoreAfterCut = 4;
// So many rounds of the other stages come before elastic ones, if they cost no more than this part of what is
// left.
constexpr uint32_t kRoundsBeforeElastic = 3;
constexpr double kCheapRound = 0.05;
// A part of the budget below which costs are noise.
constexpr double kNoise = 1e-5;

}  // namespace

Schedule::Schedule(const std::vector<StageKind>& stages, double budget) : budget_(budget) {
  for (const StageKind& kind : stages)
    stages_.push_back({.elastic = kind.elastic, .predicted = kind.first, .favour = kind.favour});
}

std::optional<Schedule::Task> Schedule::next() const {
  if (left() <= budget_ * kNoise) return std::nullopt;
  const Stage* best = nullptr;
  const Stage* elastic = nullptr;  // the one that has had least
  // Walks wait for the first rounds of the other stages, unless these are dear.
  const bool early = std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
    return !stage.elastic && !stage.exhausted && stage.round <= kRoundsBeforeElastic &&
           stage.predicted <= left() * kCheapRound;
  });
  for (const Stage& stage : stages_) {
    if (stage.exhausted || (stage.elastic && early)) continue;
    if (best == nullptr || stage.predicted / stage.favour < best->predicted / best->favour) best = &stage;
    if (stage.elastic && (elastic == nullptr || stage.spent < elastic->spent)) elastic = &stage;
  }
  if (best == nullptr) return std::nullopt;
  const bool fits = best->predicted <= left();
  if (!fits && elastic != nullptr) best = elastic;
  const double limit = fits ? std::max(best->predicted * kPatience, left() / kPatience) : left();
  return Task{static_cast<size_t>(best - stages_.data()), best->round, std::min(limit, left()),
              best->predicted};
}

void Schedule::ended(const Task& task, double cost, End end) {
  Stage& stage = stages_[task.stage];
  cost = std::max(cost, budget_ * kNoise);
  spent_ += cost;
  stage.spent += cost;
  if (end == End::kCut) {
    stage.predicted = std::max(cost, task.limit) * kMoreAfterCut;
    return;
  }
  stage.exhausted = end == End::kExhausted;
  const double growth =
      stage.last == 0 ? kUsualGrowth : std::clamp(cost / stage.last, kLeastGrowth, kMostGrowth);
  stage.predicted = cost * growth;
  stage.last = cost;
  stage.round = task.round + 1;
}

bool Schedule::all_exhausted() const {
  return std::all_of(stages_.begin(), stages_.end(), [](const Stage& stage) { return stage.exhausted; });
}

}  // namespace sisyfs::cli
