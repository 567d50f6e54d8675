// Team: what the workers of one search share: the stop flag, counters, and a barrier for maintenance.
//
// Nothing here is written for each transition of a fast system. A worker counts for itself and reports its
// counts once for each batch of states. When the visited set must grow, the worker that noticed asks all
// others to pause; the last one to arrive runs the growth, and all continue.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "explore/search.h"

namespace sisyfs {

// One worker's counts. Written by its worker only, read by the thread that shows progress.
struct alignas(128) WorkerCounts {
  std::atomic<uint64_t> states{0};
  std::atomic<uint64_t> transitions{0};
  std::atomic<FindingBits> findings{0};
  std::atomic<uint32_t> depth{0};
};

// One worker's results; merged when the search is over.
struct Tally {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint64_t unexpanded = 0;
  FindingBits findings = 0;
  uint32_t depth = 0;
  uint32_t marks = 0;
  std::array<uint64_t, SearchResult::kKinds> times_found{};
  std::array<uint32_t, SearchResult::kKinds> least_depth{};

  void note(Outcome outcome, uint32_t depth_reached) {
    marks |= outcome.marks;
    if (outcome.findings != 0) note_findings(outcome.findings, depth_reached);
  }
  void note_findings(FindingBits seen, uint32_t depth_reached);
  // What another worker counted, without its states: they may be the same ones.
  void add(const Tally& other);
  void merge_into(SearchResult& result) const;
};

class Team {
 public:
  // `maintenance` runs while all workers are paused.
  Team(const SearchOptions& options, std::function<void()> maintenance);

  const SearchOptions& options() const { return options_; }
  unsigned size() const { return options_.threads; }

  bool stopped() const { return stop_.load(std::memory_order_relaxed) != Stop::kNo; }
  Stop stop_reason() const { return stop_.load(std::memory_order_relaxed); }
  void stop(Stop why);

  // Stops the search if these findings are what it was looking for.
  void heed(FindingBits findings);

  // Maintenance. request_pause() asks for it; a worker calls pause() whenever pause_wanted().
  bool pause_wanted() const { return pause_wanted_.load(std::memory_order_relaxed); }
  void request_pause() { pause_wanted_.store(true, std::memory_order_relaxed); }
  void pause();
  // A worker that waits for work counts as paused between rest() and resume().
  void rest();
  void resume();

  // Publishes a worker's counts, and stops the search at the bound on states.
  void report(unsigned worker, const Tally& tally);
  Progress progress() const;
  uint64_t states() const;

  // Memory of the frontier.
  void use_memory(int64_t bytes) { frontier_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  size_t frontier_bytes() const {
    return static_cast<size_t>(frontier_bytes_.load(std::memory_order_relaxed));
  }

 private:
  void run_maintenance();

  const SearchOptions& options_;
  std::function<void()> maintenance_;
  std::atomic<Stop> stop_{Stop::kNo};
  std::atomic<bool> pause_wanted_{false};
  std::atomic<int64_t> frontier_bytes_{0};
  std::vector<WorkerCounts> counts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned active_;
};

// The threads of a search: either all of them are started or none, because workers wait for each other.
class Crew {
 public:
  Crew() = default;
  ~Crew() { join(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Runs work(0) … work(size - 1), each on a thread of its own. False if there cannot be so many; then none
  // of them has run.
  [[nodiscard]] bool start(unsigned size, std::function<void(unsigned)> work);
  void join() { threads_.clear(); }

 private:
  enum class Sign : uint8_t { kWait, kGo, kGoHome };

  std::function<void(unsigned)> work_;
  std::atomic<Sign> sign_{Sign::kWait};
  std::vector<std::jthread> threads_;
};

}  // namespace sisyfs
