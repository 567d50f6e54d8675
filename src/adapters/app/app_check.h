// AppCheck: searches the states that power cuts leave of the files of an application.
//
//   AppCheck check(plan, recording);
//   if (Status s = check.try_without_power_cut(); !s) ...
//   Result<AppResult> result = check.search(search);
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "adapters/app/app_runner.h"
#include "crash/files/file_runs.h"

namespace sisyfs {

struct AppFinding {
  enum class Kind : uint8_t { kWrong, kLostAck, kDied, kLate, kOtherContents } kind = Kind::kWrong;
  EventId events = 0;  // that have happened when the power goes
  uint64_t acked = 0;  // acknowledgements among them
  std::vector<FileLoss> losses;
  std::string said;
  std::vector<std::string> missing;  // acknowledged lines that are lost
  uint64_t alike = 1;                // states of this kind, with losses of the same things
};

struct AppResult {
  std::vector<AppFinding> findings;
  uint64_t moments = 0;
  StateCount states = 0;  // of all moments
  uint64_t runs = 0;      // of the check, in this search
  uint32_t losses = 0;    // all states with so many were tried; a part of them if it was stopped
  bool exhausted = false;
  bool stopped = false;  // by the time or by the user
};

class AppCheck {
 public:
  // Both are borrowed.
  AppCheck(const AppPlan& plan, const AppRecording& recording);
  ~AppCheck();

  // The check must accept what the run left, twice in the same way.
  Status try_without_power_cut(unsigned threads);
  // Called now and then, from one thread.
  std::function<void(const AppResult&)> progress;
  const std::atomic<bool>* stop = nullptr;

  // Goes on until it has found something, with as few losses as possible, or the bound is reached.
  Result<AppResult> search(const AppSearch& search, const FlushChanges& changes = {});

  // The same by the plain way, as a reference: the check is run once for each state with at most so many
  // losses, and states with equal values are one. `runs` counts them. Refused if there are more than this.
  Result<AppResult> search_eagerly(const AppSearch& search, uint32_t losses, uint64_t most_runs);
  // How many such states there are, at most this.
  uint64_t count_eagerly(const AppSearch& search, uint32_t losses, uint64_t most) const;

  const AppRecording& recording() const { return recording_; }
  uint64_t runs() const { return outcomes_.size(); }

 private:
  struct Moment {
    EventId events = 0;
    uint64_t acked = 0;
    bool before_added = false;  // flushes that are added behind the last of the events have not happened
  };
  class Search;

  // Calls this with each state with at most so many losses, until it answers false: its values, and its
  // losses.
  using OnState =
      std::function<bool(const std::vector<FileRead>& values, const std::vector<FileLoss>& losses)>;
  static bool each_state(const FileStates& states, uint32_t losses, const OnState& on_state);

  std::vector<Moment> moments(const FlushChanges& changes) const;
  // What is broken when the outcome is that of a state at this moment.
  std::optional<AppFinding> judge(const AppOutcome& outcome, const Moment& moment) const;
  // Runs what is missing, on all threads.
  Status run(const FileStates& states, const std::vector<FileRuns::Missing>& missing, unsigned threads,
             const std::function<bool()>& enough);

  const AppPlan& plan_;
  const AppRecording& recording_;
  bool reports_kept_ = false;  // the check says which acknowledged lines are there
  std::set<SlotId> ignored_;   // of files that do not matter
  FileRuns runs_;
  std::vector<AppOutcome> outcomes_;
  std::vector<std::unique_ptr<AppRunner>> runners_;
};

}  // namespace sisyfs
