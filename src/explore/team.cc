#include "explore/team.h"

#include <algorithm>
#include <bit>
#include <exception>

namespace sisyfs {

void Tally::note_findings(FindingBits seen, uint32_t depth_reached) {
  for (FindingBits left = seen; left != 0; left &= left - 1) {
    const int kind = std::countr_zero(left);
    if ((findings >> kind & 1) == 0 || depth_reached < least_depth[kind]) least_depth[kind] = depth_reached;
    ++times_found[kind];
    findings |= FindingBits{1} << kind;
  }
}

void Tally::add(const Tally& other) {
  transitions += other.transitions;
  unexpanded += other.unexpanded;
  depth = std::max(depth, other.depth);
  marks |= other.marks;
  for (FindingBits left = other.findings; left != 0; left &= left - 1) {
    const int kind = std::countr_zero(left);
    const bool first = (findings >> kind & 1) == 0;
    least_depth[kind] =
        first ? other.least_depth[kind] : std::min(least_depth[kind], other.least_depth[kind]);
    times_found[kind] += other.times_found[kind];
    findings |= FindingBits{1} << kind;
  }
}

void Tally::merge_into(SearchResult& result) const {
  result.states += states;
  result.transitions += transitions;
  result.unexpanded += unexpanded;
  result.depth = std::max(result.depth, depth);
  result.marks |= marks;
  for (int kind = 0; kind < SearchResult::kKinds; ++kind) {
    if ((findings >> kind & 1) == 0) continue;
    const bool first = (result.findings >> kind & 1) == 0;
    result.least_depth[kind] =
        first ? least_depth[kind] : std::min(result.least_depth[kind], least_depth[kind]);
    result.times_found[kind] += times_found[kind];
    result.findings |= FindingBits{1} << kind;
  }
}

Team::Team(const SearchOptions& options, std::function<void()> maintenance)
    : options_(options),
      maintenance_(std::move(maintenance)),
      counts_(options.threads),
      active_(options.threads) {}

void Team::stop(Stop why) {
  Stop none = Stop::kNo;
  stop_.compare_exchange_strong(none, why, std::memory_order_relaxed);
}

void Team::heed(FindingBits findings) {
  const FindingBits hit = findings & options_.watched;
  if (options_.stop == StopRule::kNever || hit == 0) return;
  if (options_.stop == StopRule::kFirst || hit == options_.watched) stop(Stop::kFinding);
}

void Team::run_maintenance() {
  maintenance_();
  pause_wanted_.store(false, std::memory_order_relaxed);
  changed_.notify_all();
}

void Team::pause() {
  rest();
  resume();
}

void Team::rest() {
  const std::lock_guard lock(mutex_);
  if (--active_ == 0 && pause_wanted()) run_maintenance();
}

void Team::resume() {
  std::unique_lock lock(mutex_);
  if (active_ == 0 && pause_wanted()) run_maintenance();
  changed_.wait(lock, [this] { return !pause_wanted(); });
  ++active_;
}

void Team::report(unsigned worker, const Tally& tally) {
  WorkerCounts& mine = counts_[worker];
  mine.states.store(tally.states, std::memory_order_relaxed);
  mine.transitions.store(tally.transitions, std::memory_order_relaxed);
  mine.findings.store(tally.findings, std::memory_order_relaxed);
  mine.depth.store(tally.depth, std::memory_order_relaxed);
  if (options_.bounds.states != std::numeric_limits<uint64_t>::max() && states() >= options_.bounds.states)
    stop(Stop::kStates);
}

uint64_t Team::states() const {
  uint64_t sum = 0;
  for (const WorkerCounts& c : counts_) sum += c.states.load(std::memory_order_relaxed);
  return sum;
}

Progress Team::progress() const {
  Progress p;
  for (const WorkerCounts& c : counts_) {
    p.states += c.states.load(std::memory_order_relaxed);
    p.transitions += c.transitions.load(std::memory_order_relaxed);
    p.findings |= c.findings.load(std::memory_order_relaxed);
    p.depth = std::max(p.depth, c.depth.load(std::memory_order_relaxed));
  }
  return p;
}

bool Crew::start(unsigned size, std::function<void(unsigned)> work) {
  work_ = std::move(work);
  threads_.reserve(size);
  bool all = true;
  try {
    for (unsigned worker = 0; worker < size; ++worker)
      threads_.emplace_back([this, worker] {
        sign_.wait(Sign::kWait);
        if (sign_.load() == Sign::kGo) work_(worker);
      });
  } catch (const std::exception&) {
    all = false;
  }
  sign_.store(all ? Sign::kGo : Sign::kGoHome);
  sign_.notify_all();
  if (!all) join();
  return all;
}

}  // namespace sisyfs
