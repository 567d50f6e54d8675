#include "adapters/app/app_runner.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "adapters/app/app_services.h"
#include "adapters/app/contents.h"
#include "adapters/app/crash_files.h"
#include "base/printable.h"

namespace sisyfs {
namespace {

AppOutcome outcome_of(const char* which, const ProgramEnd& end) {
  AppOutcome out;
  if (end.succeeded()) return out;
  out.what = end.late                  ? AppOutcome::What::kLate
             : WIFSIGNALED(end.status) ? AppOutcome::What::kDied
                                       : AppOutcome::What::kWrong;
  out.said = fmt::format("the {} ends with {}", which, end.text());
  if (!end.output.empty()) out.said += "\n" + end.output;
  return out;
}

}  // namespace

std::string last_words(const std::string& output) {
  constexpr size_t kMost = 400;
  std::string out = output.substr(output.size() - std::min(output.size(), kMost));
  while (!out.empty() && out.back() == '\n') out.pop_back();
  for (size_t at = 0; (at = out.find('\n', at)) != std::string::npos; at += 2) out.replace(at, 1, "; ");
  return printable(out);
}

Result<AppOutcome> AppRunner::run(FilePicks& picks) {
  CrashFiles crash(recording_.files, picks);
  FileStore files(crash, recording_.files.last.next_object());
  if (!plan_.check.empty() || !plan_.recover.empty()) return run_check(files, picks);
  AppOutcome out;
  out.what = AppOutcome::What::kContents;
  out.contents = contents_of(files, plan_.ignored);
  return out;
}

Result<AppOutcome> AppRunner::run_check(FileStore& files, FilePicks& picks) {
  if (directory_ == nullptr) {
    auto started = WorkDirectory::start(*plan_.place, plan_.folder);
    if (!started) return started.error();
    directory_ = *std::move(started);
  }
  AppServices services;
  AppOutcome out;
  services.on_kept = [&](const std::string& line) { out.kept.insert(line); };
  services.acked = [&] {
    std::string lines;
    const uint64_t count = picks.acked();
    for (uint64_t i = 0; i < count; ++i)
      if (recording_.is_line(i)) lines += recording_.ack_text(i) + "\n";
    return lines;
  };
  if (Status s = directory_->mount(files, &services); !s) return s.error();
  const auto step = [&](const char* which, const AppPlan::Command& command) -> Status {
    if (command.empty() || out.what != AppOutcome::What::kRight) return {};
    const auto end = directory_->run(command, plan_.variables, plan_.patience);
    if (!end) return end.error();
    std::set<std::string> kept = std::move(out.kept);
    out = outcome_of(which, *end);
    out.kept = std::move(kept);
    return {};
  };
  if (Status s = step("recovery", plan_.recover); !s) return s.error();
  if (!plan_.start.empty()) {
    const Status ready = await_server(*directory_, plan_);
    if (!ready && ready.error().kind == ErrorKind::kSystem) return ready.error();
    if (!ready) out.what = AppOutcome::What::kWrong, out.said = ready.error().message;
  }
  if (Status s = step("check", plan_.check); !s) return s.error();
  if (Status s = directory_->unmount(); !s) return s.error();
  if (plan_.check.empty() && out.what == AppOutcome::What::kRight) {
    out.what = AppOutcome::What::kContents;
    out.contents = contents_of(files, plan_.ignored);
  }
  return out;
}

}  // namespace sisyfs
