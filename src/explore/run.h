// run_search: one search from start to verdict; and find_traces: how the findings came about.
//
//   SearchResult result = run_search(system, options, show);
//   for (const FoundTrace& found : find_traces(system, options, result.findings).traces) ...
//
// The search itself remembers no paths, which keeps it at about ten bytes a state. When something was
// found, find_traces() searches once more, breadth-first and only as far as the deepest of the shallowest
// findings, with a parent and a choice kept for each state. So every trace is a shortest one, and the same
// one whatever the order and the number of threads of the search before.
#pragma once

#include "explore/breadth_first.h"
#include "explore/depth_first.h"
#include "explore/generations.h"
#include "explore/random_walk.h"
#include "explore/trace_finder.h"

namespace sisyfs {

namespace detail {

// Why these options cannot be searched, if so: a combination that no strategy offers.
std::optional<Error> refusal(const SearchOptions& options, bool by_generations);

// The result of a search that could not begin: the system refuses the address space of its bound on memory,
// or so many threads.
SearchResult no_memory();
SearchResult no_threads();

// Waits for the workers, showing progress and watching the clock and the interrupt flag.
void oversee(Team& team, const std::atomic<unsigned>& running, const std::function<size_t()>& memory,
             const ProgressFn& show);

// The verdict that the numbers allow.
void pronounce(const SearchOptions& options, SearchResult& result);

template <template <class, class> class Strategy, class System, class DedupPolicy>
SearchResult run_with(const System& system, const SearchOptions& options, const ProgressFn& show) {
  SearchResult result;
  DedupPolicy seen(options);
  if (!seen.ok()) return no_memory();
  // The frontier may need as much again as it has now; the rest is the visited set's.
  Team team(options, [&] {
    const size_t frontier = 2 * team.frontier_bytes(), bound = options.bounds.memory_bytes;
    seen.grow(bound > frontier ? bound - frontier : 0, options.threads);
  });
  {
    Strategy<System, DedupPolicy> strategy(system, seen, team);
    std::atomic<unsigned> running{options.threads};
    const auto start = std::chrono::steady_clock::now();
    Crew crew;
    const bool all = crew.start(options.threads, [&](unsigned worker) {
      strategy.work(worker);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) result.seconds = spent.count();
    });
    if (!all) return no_threads();
    oversee(
        team, running, [&] { return seen.bytes() + team.frontier_bytes(); }, show);
    crew.join();
    result.stopped = team.stop_reason();
    strategy.conclude(result);
  }
  result.memory_bytes = seen.bytes() + team.frontier_bytes();
  seen.conclude(result, options);
  pronounce(options, result);
  return result;
}

// The search that keeps no states (generations.h).
template <class System>
SearchResult run_generations(const System& system, const SearchOptions& options, const ProgressFn& show) {
  SearchResult result;
  Team team(options, [] {});
  Harvest harvest(options, team);
  if (!harvest.ok()) return no_memory();
  Generations<System> strategy(system, harvest, team);
  std::atomic<unsigned> running{options.threads};
  Crew crew;
  const bool all = crew.start(options.threads, [&](unsigned worker) {
    strategy.work(worker);
    running.fetch_sub(1, std::memory_order_acq_rel);
  });
  if (!all) return no_threads();
  oversee(
      team, running, [&] { return harvest.bytes(); }, show);
  crew.join();
  harvest.conclude(result);
  pronounce(options, result);
  return result;
}

template <class System>
constexpr bool by_generations(const SearchOptions& options) {
  if (is_best_first(options.order)) return true;
  return FollowableSystem<System> && options.order == SearchOrder::kBreadthFirst &&
         options.dedup != Dedup::kBitstate;
}

// The search by generations keeps the way to each node anyway, and no states.
template <FollowableSystem System>
FoundTraces traces_by_generations(const System& system, SearchOptions options, uint32_t wanted,
                                  const ProgressFn& show) {
  options.order = SearchOrder::kBreadthFirst;
  options.dedup = Dedup::kExact;
  options.stop = StopRule::kEach;
  options.watched = wanted;
  options.digest_visited = false;
  options.checkpoint.reset();
  options.resume = nullptr;
  ProgressFn show_tracing;
  if (show)
    show_tracing = [&](Progress p) {
      p.findings = wanted & ~p.findings;
      p.tracing = true;
      show(p);
    };
  SearchResult result = run_generations(system, options, show_tracing);
  return {std::move(result.traces), result.stopped == Stop::kFinding ? Stop::kNo : result.stopped,
          std::move(result.trouble)};
}

// What a search for traces may use: what the search before it could, or a little more if that was very
// little, or what the system grants.
size_t memory_for_traces(size_t bound);

}  // namespace detail

// Shortest traces to the kinds in `wanted`, each the first in breadth-first order. Of the bounds only that on
// memory counts (64 MiB are always allowed), and options.interrupt.
template <TransitionSystem System>
FoundTraces find_traces(const System& system, SearchOptions options, uint32_t wanted,
                        const ProgressFn& show = {}) {
  if (wanted == 0) return {};
  options.bounds = {.memory_bytes = detail::memory_for_traces(options.bounds.memory_bytes)};
  if constexpr (FollowableSystem<System>)
    return detail::traces_by_generations(system, options, wanted, show);
  else
    return detail::traces_by_paths(system, options, wanted, show);
}

// Searches `system`. Breadth-first a system that can follow choices is searched by generations, others
// with their states in the frontier; the best-first orders are always searched by generations. `show` may be
// empty; it is called a few times a second, from the calling thread.
template <TransitionSystem System>
SearchResult run_search(const System& system, const SearchOptions& options, const ProgressFn& show) {
  using detail::run_with;
  const bool by_generations = detail::by_generations<System>(options);
  if (auto refused = detail::refusal(options, by_generations)) {
    SearchResult result;
    result.stopped = Stop::kHarness;
    result.trouble = std::move(refused);
    return result;
  }
  if (by_generations) return detail::run_generations(system, options, show);
  if (options.order == SearchOrder::kWalk) {
    if (options.dedup == Dedup::kNone) return run_with<RandomWalk, System, NoDedup>(system, options, show);
    return run_with<RandomWalk, System, ExactDedup<false>>(system, options, show);
  }
  const bool bounded = options.bounds.depth != SearchBounds::kNoDepth;
  if (options.order == SearchOrder::kBreadthFirst) {
    if (options.dedup == Dedup::kExact)
      return run_with<BreadthFirst, System, ExactDedup<false>>(system, options, show);
    if (options.dedup == Dedup::kBitstate)
      return run_with<BreadthFirst, System, BitstateDedup>(system, options, show);
    return run_with<BreadthFirst, System, NoDedup>(system, options, show);
  }
  if (options.dedup == Dedup::kExact && bounded)
    return run_with<DepthFirst, System, ExactDedup<true>>(system, options, show);
  if (options.dedup == Dedup::kExact)
    return run_with<DepthFirst, System, ExactDedup<false>>(system, options, show);
  if (options.dedup == Dedup::kBitstate)
    return run_with<DepthFirst, System, BitstateDedup>(system, options, show);
  return run_with<DepthFirst, System, NoDedup>(system, options, show);
}

}  // namespace sisyfs
