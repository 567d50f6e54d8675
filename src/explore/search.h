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
#include <memory>
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
  kMostRecovery,  // best first: the states whose transition made recovery work most
  kRarest,        // best first: the states whose transition reached the marks that were reached least
  kWalk,          // random walks from the initial state, see WalkOptions
};
// How a state is known again. kShape is for systems that know it (judge/disk_system.h): states with isomorphic
// trees and the same last ops are taken for one.
enum class Dedup : uint8_t { kExact, kBitstate, kNone, kShape };

// Why a search ended before its space or its depth bound was exhausted.
enum class Stop : uint8_t {
  kNo,
  kFinding,
  kInterrupted,
  kTime,
  kStates,
  kMemory,
  kBroken,  // the system did not do again what it had done: it is not deterministic
};

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

struct WalkOptions {
  uint64_t walks = 1000;  // how many
  uint32_t length = 100;  // steps of each, unless it comes to a dead end
  uint64_t seed = 1;      // walk i is decided by the seed and i alone
};

// Where and when a search saves what it knows (explore/checkpoint.h). Kept by searches in generations:
// breadth-first over a followable system, and best first.
struct CheckpointOptions {
  std::string path;
  std::chrono::milliseconds interval = std::chrono::minutes(10);  // at least, between two saves
  Digest identity;                                                // of what is searched
  std::string about;  // a text for whoever resumes, such as the command's setup
};

class Checkpoint;

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
  WalkOptions walk;
  std::optional<CheckpointOptions> checkpoint;
  // A search to go on with, which must fit these options (Checkpoint::fits).
  std::shared_ptr<const Checkpoint> resume;
};

struct Progress {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint32_t depth = 0;
  size_t memory_bytes = 0;
  uint32_t findings = 0;
  std::chrono::duration<double> elapsed{};
};
using ProgressFn = std::function<void(const Progress&)>;

struct SearchResult {
  static constexpr int kKinds = 32;
  Verdict verdict = Verdict::kUnknown;
  Stop stopped = Stop::kNo;
  uint64_t states = 0;       // distinct states visited, the initial one included
  uint64_t transitions = 0;  // successors generated
  uint64_t unexpanded = 0;   // states at the depth bound, whose successors were not looked at
  uint32_t depth = 0;        // of the deepest state visited
  bool exhausted = false;    // every reachable state was expanded: a greater depth adds nothing
  uint32_t findings = 0;     // kinds found, as Outcome::findings, watched ones only
  uint32_t marks = 0;        // "sometimes" properties reached
  std::array<uint64_t, kKinds> times_found{};  // by kind
  std::array<uint32_t, kKinds> least_depth{};  // by kind, where found
  Digest visited;                              // equal for equal sets of visited states (exact dedup only)
  double merge_probability = 0;                // that any two states were taken for one
  size_t memory_bytes = 0;                     // visited set and frontier at their largest
  double seconds = 0;                          // of a resumed search: from its first beginning
  // For each kind in `findings` the first shortest trace, by length and then kind. Searches in generations
  // and walks fill it; it is empty after the others, for which find_traces() searches once more.
  std::vector<FoundTrace> traces;
  Trace broken;              // where stopped == kBroken: the way to the state that could not be had again
  uint64_t checkpoints = 0;  // saves that went well
  Status checkpoint_status;  // of the last save
};

}  // namespace sisyfs
