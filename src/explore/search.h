// Options, bounds, progress and result of a search. No templates here.
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
#include "explore/worker_link.h"

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

// How the search recognises a state that it has visited. kShape and kTree are only for systems that support
// them (judge/disk_system.h): states with the same last ops, and isomorphic trees or equal trees and
// expectations, count as one state.
enum class Dedup : uint8_t { kExact, kBitstate, kNone, kShape, kTree };
inline bool is_coarse(Dedup dedup) { return dedup == Dedup::kShape || dedup == Dedup::kTree; }

// What the fingerprints of a system cover: whole states, or what such a dedup compares.
enum class PrintKind : uint8_t { kWhole, kShape, kTree };

// Why a search ended before its space or its depth bound was exhausted.
// kHarness: because of an error outside of the target; SearchResult::trouble describes it.
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
  Digest identity;  // of everything that determines the search: target, settings, bounds, kind of fingerprint
  std::string setup;  // for the program that resumes; the search does not read it
};

struct WalkOptions {
  uint64_t walks = 1000;
  uint32_t length = 100;  // transitions
  uint64_t seed = 1;
  // A walk takes a choice that throws the system back (System::is_setback) so many times less often than any
  // other one. All are judged.
  uint32_t setbacks_rarer = 1;
  // In each step only one op is performed and judged, and each walk performs only some kinds of op (swarm.h).
  // A system whose successors come from ops offers them by Sink::pick(); other systems ignore this.
  bool swarm = false;
};

struct SearchOptions {
  SearchOrder order = SearchOrder::kBreadthFirst;
  Dedup dedup = Dedup::kExact;
  uint32_t shape_ops = 3;  // dedup by shape or tree: number of last ops that are compared
  // What the fingerprints of the system cover. To `dedup` they are exact. Set by a check; workers elsewhere
  // need to know.
  PrintKind prints = PrintKind::kWhole;
  SearchBounds bounds;
  unsigned threads = 1;
  StopRule stop = StopRule::kNever;
  FindingBits watched = ~FindingBits{0};   // kinds that count; others are ignored
  FindingBits possible = ~FindingBits{0};  // kinds that can occur; a checkpoint with others is refused
  bool digest_visited = true;  // fill SearchResult::visited; costs a pass over the table at the end
  // Set from outside (Ctrl-C) to end the search with a partial verdict.
  const std::atomic<bool>* interrupt = nullptr;
  WalkOptions walk;                             // for SearchOrder::kWalk
  std::optional<CheckpointOptions> checkpoint;  // where to save; only for searches by generations
  const LoadedCheckpoint* resume = nullptr;     // where to continue from; must outlive the search
  // Starts workers that run elsewhere, `threads` of them; only for searches by generations and random
  // walks. Empty: the workers are threads.
  StartWorker start_worker;
};

struct FoundTrace {
  uint32_t kind = 0;  // the bit's number in Outcome::findings
  Trace trace;
};

// The result of a search for traces.
struct FoundTraces {
  std::vector<FoundTrace> traces;  // sorted by length, then kind
  // Why a wanted kind has no trace: kMemory, kInterrupted, or kHarness with `trouble`. With kNo the whole
  // space was searched and the kind did not occur.
  Stop stopped = Stop::kNo;
  std::optional<Error> trouble;
};

struct Progress {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint32_t depth = 0;
  size_t memory_bytes = 0;
  FindingBits findings = 0;  // kinds found so far; with `tracing`, kinds whose trace is still missing
  bool tracing = false;      // this is the second search, for the traces of the findings
  std::chrono::duration<double> elapsed{};
};
using ProgressFn = std::function<void(const Progress&)>;
inline constexpr std::chrono::milliseconds kShowEach{250};  // between two calls of a ProgressFn

// Edges of the code of a target that is instrumented.
struct EdgeCount {
  uint64_t reached = 0;
  uint64_t known = 0;  // how many there are; 0: unknown
};

// Crash states of a search, and what became of them.
struct CrashCounts {
  uint64_t left_out = 0;      // crash states that a bound of the target left out, as far as they are counted
  uint64_t sampled = 0;       // crash states that were sampled from those, and judged
  uint64_t crash_states = 0;  // crash states that were judged; the greatest number means that many or more
  uint64_t recoveries = 0;    // recoveries executed for them; the results of the others were cached
  uint64_t crash_images = 0;  // distinct images, where crash states are built one by one
  uint64_t performed = 0;     // kinds of op that were performed, as bits

  CrashCounts& operator+=(const CrashCounts& more);
  // What came after `before`.
  CrashCounts operator-(const CrashCounts& before) const;
};

// Something that a search leaves out by its settings, and the setting that would try it ("nesting=1"); empty
// if there is none.
struct NotTried {
  std::string what;
  std::string setting;
};

// What a search reached of its target, and what it never tries.
struct TargetCoverage {
  std::optional<EdgeCount> edges;  // reached since the first format
  std::vector<NotTried> not_tried;
};

struct SearchResult : CrashCounts, TargetCoverage {
  static constexpr int kKinds = 64;  // bits of FindingBits
  Verdict verdict = Verdict::kUnknown;
  Stop stopped = Stop::kNo;
  uint64_t states = 0;       // distinct states visited, the initial one included
  uint64_t transitions = 0;  // successors generated
  uint64_t unexpanded = 0;   // states at the depth bound, whose successors were not looked at
  uint32_t depth = 0;        // of the deepest state visited
  bool exhausted = false;    // every reachable state was expanded: a greater depth adds nothing
  FindingBits findings = 0;  // kinds found that are watched
  FindingBits met = 0;       // kinds found, watched or not
  uint32_t marks = 0;        // "sometimes" properties reached
  std::array<uint64_t, kKinds> times_found{};  // by kind
  std::array<uint32_t, kKinds> least_depth{};  // by kind, where found
  Digest visited;                              // equal for equal sets of visited states (exact dedup only)
  double merge_probability = 0;                // that two different states were treated as one
  size_t memory_bytes = 0;                     // visited set and frontier at their largest
  double seconds = 0;                          // a resumed search counts from its first start
  // The first shortest trace to each kind found, sorted by length, then kind. Only from searches that keep
  // paths.
  std::vector<FoundTrace> traces;
  // An error outside of the target: a checkpoint that could not be written (the search went on), or, with
  // Stop::kHarness, the error that ended the search.
  std::optional<Error> trouble;
  uint32_t checkpoints_written = 0;
};

}  // namespace sisyfs
