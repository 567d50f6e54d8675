#include "explore/run.h"

#include <algorithm>
#include <thread>

#include "base/memory_refused.h"

namespace sisyfs {
namespace {

// The greatest number means that many or more.
uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

uint64_t difference(uint64_t now, uint64_t before) { return now == UINT64_MAX ? now : now - before; }

}  // namespace

CrashCounts& CrashCounts::operator+=(const CrashCounts& more) {
  left_out = sum(left_out, more.left_out);
  sampled = sum(sampled, more.sampled);
  crash_states = sum(crash_states, more.crash_states);
  recoveries = sum(recoveries, more.recoveries);
  crash_images = sum(crash_images, more.crash_images);
  performed |= more.performed;
  return *this;
}

CrashCounts CrashCounts::operator-(const CrashCounts& before) const {
  return {difference(left_out, before.left_out),         difference(sampled, before.sampled),
          difference(crash_states, before.crash_states), difference(recoveries, before.recoveries),
          difference(crash_images, before.crash_images), performed};
}

}  // namespace sisyfs

namespace sisyfs::detail {

std::optional<Error> refusal(const SearchOptions& options, bool by_generations) {
  if ((options.checkpoint || options.resume != nullptr) && !by_generations)
    return bad_input(
        "this search cannot be saved: choose a breadth-first or best-first order, "
        "exact dedup or none, and a target that can follow choices");
  if (options.start_worker && !by_generations && options.order != SearchOrder::kWalk)
    return bad_input(
        "this order cannot be searched by other processes: choose a breadth-first or best-first order, or "
        "random walks");
  if (options.dedup == Dedup::kBitstate && (by_generations || options.order == SearchOrder::kWalk))
    return bad_input("this order knows no bitstate dedup: choose exact or none");
  const bool by_depth = options.order == SearchOrder::kDepthFirst && options.dedup == Dedup::kExact &&
                        options.bounds.depth != SearchBounds::kNoDepth;
  if (by_depth && options.bounds.depth > VisitedSet::kDeepest)
    return bad_input("a depth-first search with a bound on depth counts to " +
                     std::to_string(VisitedSet::kDeepest) + ": choose a smaller bound, or none");
  return std::nullopt;
}

static SearchResult not_begun(const char* why) {
  SearchResult result;
  result.stopped = Stop::kHarness;
  result.trouble = bad_input(why);
  return result;
}

SearchResult no_memory() {
  return not_begun("the system does not grant the bound on memory (--memory): choose a smaller one");
}

SearchResult no_threads() {
  return not_begun("the system does not grant so many threads (--threads): choose fewer");
}

size_t memory_for_traces(size_t bound) {
  constexpr size_t kLeast = size_t{64} << 20;
  size_t bytes = std::max(bound, kLeast);
  while (bytes > kLeast && Reservation(bytes).data() == nullptr) bytes /= 2;
  return std::max(bytes, kLeast);
}

void oversee(Team& team, const std::atomic<unsigned>& running, const std::function<size_t()>& memory,
             const ProgressFn& show) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const SearchBounds& bounds = team.options().bounds;
  auto next_show = start + kShowEach;
  auto pause = std::chrono::microseconds(200);
  while (running.load(std::memory_order_acquire) != 0) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
    const auto now = Clock::now();
    // In milliseconds: a very long time has more nanoseconds than can be counted.
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(now - start);
    if (bounds.time != std::chrono::milliseconds::max() && spent >= bounds.time) team.stop(Stop::kTime);
    if (team.options().interrupt != nullptr && team.options().interrupt->load(std::memory_order_relaxed))
      team.stop(Stop::kInterrupted);
    if (memory() > bounds.memory_bytes || memory_refused.load(std::memory_order_relaxed))
      team.stop(Stop::kMemory);
    if (show && now >= next_show) {
      Progress progress = team.progress();
      progress.memory_bytes = memory();
      progress.elapsed = now - start;
      try {
        show(progress);
      } catch (...) {
        team.stop(Stop::kInterrupted);  // the caller joins the workers, which must end for that
        throw;
      }
      next_show = now + kShowEach;
    }
  }
}

void pronounce(const SearchOptions& options, SearchResult& result) {
  result.met = result.findings;
  result.findings &= options.watched;
  const bool cut = result.stopped != Stop::kNo && result.stopped != Stop::kFinding;
  const bool best_first = is_best_first(options.order);
  if (result.findings != 0)
    result.verdict = Verdict::kFail;
  else if (cut || options.dedup == Dedup::kBitstate || options.order == SearchOrder::kWalk ||
           (best_first && result.unexpanded != 0))  // a state at the bound may have had a shorter way
    result.verdict = Verdict::kUnknown;
  else
    result.verdict = Verdict::kPass;
}

}  // namespace sisyfs::detail
