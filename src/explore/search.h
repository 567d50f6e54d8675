// What a search is told and what it answers: options, bounds, progress, result. No templates here.
//
//   SearchOptions options;
//   options.bounds.depth = 12;
//   SearchResult result = run_search(system, options, nullptr);   // explore/run.h
//   if (result.verdict == Verdict::kFail) ...
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "explore/system.h"

namespace sisyfs {

// Three values that merge: fail over unknown over pass.
enum class Verdict : uint8_t { kPass, kUnknown, kFail };
inline Verdict merge(Verdict a, Verdict b) { return a > b ? a : b; }

enum class SearchOrder : uint8_t {
  kBreadthFirst,
  kDepthFirst,
  kMostRecovery,  // best-first: states after which recovery had most to do
  kRarest,        // best-first: states whose transition reached marks that were seen least often
  kCoverage,      // best-first: states whose transition reached edges of the code that none had reached
  kWalk,          // random walks, which find but never prove
};
inline bool is_best_first(SearchOrder order) {
  return order == SearchOrder::kMostRecovery || order == SearchOrder::kRarest ||
         order == SearchOrder::kCoverage;
}

// How a state is known again. kShape is for systems that know it (judge/disk_system.h): states with
// isomorphic trees and the same last ops are taken for one.
enum class Dedup : uint8_t { kExact, kBitstate, kNone, kShape };

// Why a search ended before its space or its depth bound was exhausted.
// kHarness: not by a bound but by trouble of ours or of the harness; SearchResult::trouble says which.
enum class Stop : uint8_t { kNo, kFinding, kInterrupted, kTime, kStates, kMemory, kHarness };

// When findings end a search. A breadth-first search finishes its layer first, so that what it found does
// not depend on the number of threads.
enum class StopRule : uint8_t {
  kNever,  // search on to the bound, and collect the shallowest of each kind
  kFirst,  // once any watched kind was found
  kEach,   // once every watched kind was found
};

struct SearchBounds {
  static constexpr uint32_t kNoDepth = std::numeric_limits<uint32_t>::max();
  uint32_t depth = kNoDepth;                               // transitions from the initial state
  uint64_t states = std::numeric_limits<uint64_t>::max();  // visited states
  std::chrono::milliseconds time = std::chrono::milliseconds::max();
  size_t memory_bytes = size_t{4} << 30;  // visited set and frontier together
};

class LoadedCheckpoint;

// Where and how often a search saves itself (explore/checkpoint.h).
struct CheckpointOptions {
  std::string path;
  std::chrono::milliseconds interval = std::chrono::minutes(1);  // at least, between two saves
  Digest identity;    // of all that decides the search: target, settings, bounds, kind of fingerprint
  std::string setup;  // for whoever resumes; the search does not read it
};

struct WalkOptions {
  uint64_t walks = 1000;
  uint32_t length = 100;  // transitions
  uint64_t seed = 1;
};

struct SearchOptions {
  SearchOrder order = SearchOrder::kBreadthFirst;
  Dedup dedup = Dedup::kExact;
  uint32_t shape_ops = 3;  // of dedup by shape: how many of the last ops count
  SearchBounds bounds;
  unsigned threads = 1;
  StopRule stop = StopRule::kNever;
  uint32_t watched = ~uint32_t{0};  // findings that count, as Outcome::findings
  bool digest_visited = true;       // fill SearchResult::visited, for a pass over the table at the end
  // Set from outside (Ctrl-C) to end the search with a partial verdict.
  const std::atomic<bool>* interrupt = nullptr;
  WalkOptions walk;                             // for SearchOrder::kWalk
  std::optional<CheckpointOptions> checkpoint;  // to be saved, see explore/generations.h
  const LoadedCheckpoint* resume = nullptr;     // to go on from; must outlive the search
};

struct FoundTrace {
  uint32_t kind = 0;  // the bit's number in Outcome::findings
  Trace trace;
};

// What a search for traces came to.
struct FoundTraces {
  std::vector<FoundTrace> traces;  // sorted by length, then kind
  // Why a kind that was looked for is missing: kMemory, kInterrupted, kHarness with what went wrong; or kNo,
  // and it is nowhere.
  Stop stopped = Stop::kNo;
  std::optional<Error> trouble;
};

struct Progress {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint32_t depth = 0;
  size_t memory_bytes = 0;
  uint32_t findings = 0;
  bool tracing = false;  // of the search for the traces of what was found
  std::chrono::duration<double> elapsed{};
};
using ProgressFn = std::function<void(const Progress&)>;
inline constexpr std::chrono::milliseconds kShowEach{250};

// Edges of the code of a target that is instrumented.
struct EdgeCount {
  uint64_t reached = 0;
  uint64_t known = 0;  // how many there are; 0: nobody can say
};

struct SearchResult {
  static constexpr int kKinds = 32;
  Verdict verdict = Verdict::kUnknown;
  Stop stopped = Stop::kNo;
  uint64_t states = 0;        // distinct states visited, the initial one included
  uint64_t transitions = 0;   // successors generated
  uint64_t unexpanded = 0;    // states at the depth bound, whose successors were not looked at
  uint32_t depth = 0;         // of the deepest state visited
  bool exhausted = false;     // every reachable state was expanded: a greater depth adds nothing
  uint32_t findings = 0;      // kinds found, as Outcome::findings, watched ones only
  uint32_t met = 0;           // kinds found, whether watched or not
  uint32_t marks = 0;         // "sometimes" properties reached
  uint64_t left_out = 0;      // crash states that a bound of the target left out, as far as they are counted
  uint64_t sampled = 0;       // crash states that were drawn from among those, and judged
  uint64_t crash_states = 0;  // that were judged; the greatest number means that many or more
  uint64_t recoveries = 0;    // carried out for them: the others were known to come back alike
  uint64_t crash_images = 0;  // where crash states are built one by one: those that were not met before
  std::optional<EdgeCount> edges;              // reached by what was really run, from the first format on
  std::array<uint64_t, kKinds> times_found{};  // by kind
  std::array<uint32_t, kKinds> least_depth{};  // by kind, where found
  Digest visited;                              // equal for equal sets of visited states (exact dedup only)
  double merge_probability = 0;                // that any two states were taken for one
  size_t memory_bytes = 0;                     // visited set and frontier at their largest
  double seconds = 0;                          // a resumed search counts from its first start
  // The first shortest way to each kind found, sorted by length, then kind; from searches that keep paths.
  std::vector<FoundTrace> traces;
  // What went wrong outside of the search itself: a checkpoint that could not be written (the search went
  // on), or, with Stop::kHarness, what made it end.
  std::optional<Error> trouble;
  uint32_t checkpoints_written = 0;
};

}  // namespace sisyfs
