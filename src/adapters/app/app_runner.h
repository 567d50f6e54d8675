// AppRunner: runs the check of an application on states of its files.
//
//   AppRunner runner(plan, recording);
//   Result<AppOutcome> outcome = runner.run(picks);
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "adapters/app/app_plan.h"
#include "adapters/app/app_recording.h"
#include "adapters/app/work_directory.h"
#include "crash/files/file_runs.h"

namespace sisyfs {

// How a check ended. It depends on what was read and on nothing else.
struct AppOutcome {
  enum class What : uint8_t { kRight, kWrong, kDied, kLate, kContents } what = What::kRight;
  std::string said;            // how it ended, and its output
  std::set<std::string> kept;  // acknowledged lines that it reports
  Digest contents;             // without a check: what the directory holds
  friend bool operator==(const AppOutcome&, const AppOutcome&) = default;
};

class AppRunner {
 public:
  // Both are borrowed.
  AppRunner(const AppPlan& plan, const AppRecording& recording) : plan_(plan), recording_(recording) {}

  Result<AppOutcome> run(FilePicks& picks);

 private:
  Result<AppOutcome> run_check(FileStore& files, FilePicks& picks);

  const AppPlan& plan_;
  const AppRecording& recording_;
  std::unique_ptr<WorkDirectory> directory_;
};

// The last lines of an output, as one line that is fit for a message.
std::string last_words(const std::string& output);

// Starts the server of the plan, if it has one, and waits until it is ready.
Status await_server(WorkDirectory& directory, const AppPlan& plan);

}  // namespace sisyfs
