// run_search: one search from start to verdict. find_traces: a second search, for the traces of the findings.
//
//   SearchResult result = run_search(system, options, show);
//   for (const FoundTrace& found : find_traces(system, options, result.findings).traces) ...
//
// The first search of a system with small states stores no paths, which keeps it at about ten bytes a state.
// When it has found something, find_traces() searches again, breadth-first and only as deep as needed, and
// stores the parent and the choice of each state. So every trace is a shortest one, and the same one whatever
// the order and the number of threads of the first search.
#pragma once

#include "explore/breadth_first.h"
#include "explore/depth_first.h"
#include "explore/generations.h"
#include "explore/random_walk.h"
#include "explore/trace_finder.h"

namespace sisyfs {

namespace detail {

// An error if no search strategy supports this combination of options.
std::optional<Error> refusal(const SearchOptions& options, bool by_generations);

// The result of a search that could not begin: the operating system refuses the address space of the bound on
// memory, or the threads.
SearchResult no_memory();
SearchResult no_threads();

// Waits for the workers. Meanwhile shows progress, and stops the search at the bounds on time and memory and
// when the interrupt flag is set. Looks every 20 ms.
void oversee(Team& team, const std::atomic<unsigned>& running, const std::function<size_t()>& memory,
             const ProgressFn& show);

// Sets the verdict from the other fields of the result.
void pronounce(const SearchOptions& options, SearchResult& result);

template <template <class, class> class Strategy, class System, class DedupPolicy>
SearchResult run_with(const System& system, const SearchOptions& options, const ProgressFn& show) {
  SearchResult result;
  DedupPolicy seen(options);
  if (!seen.ok()) return no_memory();
  // The visited set may use what the frontier leaves, with a reserve for the frontier of its present size.
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

// The search that stores paths instead of states (generations.h).
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

// The search by generations stores the path to each node anyway.
template <FollowableSystem System>
FoundTraces traces_by_generations(const System& system, SearchOptions options, FindingBits wanted,
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

// The bound on memory of a search for traces: that of the first search, but at least 64 MiB, and at most what
// the operating system grants.
size_t memory_for_traces(size_t bound);

}  // namespace detail

// Shortest traces to the kinds in `wanted`, each the first in breadth-first order. Of the bounds only that on
// memory counts (64 MiB are always allowed), and options.interrupt.
template <TransitionSystem System>
FoundTraces find_traces(const System& system, SearchOptions options, FindingBits wanted,
                        const ProgressFn& show = {}) {
  if (wanted == 0) return {};
  options.bounds = {.memory_bytes = detail::memory_for_traces(options.bounds.memory_bytes)};
  if constexpr (FollowableSystem<System>)
    return detail::traces_by_generations(system, options, wanted, show);
  else
    return detail::traces_by_paths(system, options, wanted, show);
}

// Searches `system`. A breadth-first search of a system that can follow choices goes by generations, and so
// do all best-first orders; the other searches store the states of their frontier. `show` may be empty; it is
// called every kShowEach, from the calling thread.
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
