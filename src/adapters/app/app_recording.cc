#include "adapters/app/app_recording.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "adapters/app/app_services.h"
#include "adapters/app/contents.h"
#include "adapters/app/file_recorder.h"
#include "adapters/app/work_directory.h"
#include "base/printable.h"

namespace sisyfs {
namespace {

Error command_failed(const char* which, const ProgramEnd& end) {
  return bad_input(fmt::format("the {} fails without any power cut: {}{}", which, end.text(),
                               end.output.empty() ? "" : "\n" + printable_message(end.output)));
}

}  // namespace

Status await_server(WorkDirectory& directory, const AppPlan& plan) {
  if (plan.start.empty()) return {};
  if (Status s = directory.start(plan.start, plan.variables); !s) return s;
  if (plan.ready.empty()) return {};
  const auto end = std::chrono::steady_clock::now() + plan.patience;
  for (;;) {
    const auto ready = directory.run(plan.ready, plan.variables, plan.patience);
    if (!ready) return ready.error();
    if (ready->succeeded()) return {};
    if (std::chrono::steady_clock::now() > end) return command_failed("start of the server", *ready);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<AppRecording> record_app(const AppPlan& plan) {
  auto started = WorkDirectory::start(plan.program, plan.folder);
  if (!started) return started.error();
  WorkDirectory& directory = **started;
  FileStore files;
  if (!plan.folder.empty())
    if (Status s = files.load(plan.folder, plan.most_bytes); !s) return s.error();
  AppServices services;
  const auto run = [&](const char* which, const AppPlan::Command& command,
                       const std::vector<std::string>& variables) -> Status {
    const auto end = directory.run(command, variables, plan.patience);
    if (!end) return end.error();
    ProgramEnd told = *end;
    told.output = services.output + told.output;
    return end->succeeded() ? Status() : Status(command_failed(which, told));
  };
  if (!plan.setup.empty()) {
    if (Status s = directory.mount(files, &services); !s) return s.error();
    if (Status s = run("setup", plan.setup, plan.variables); !s) return s.error();
    // What the kernel still holds comes with the unmount.
    if (Status s = directory.unmount(); !s) return s.error();
  }
  AppRecording out{{files, {}, {}, {}}, {}, {}, {}};
  FileRecorder recorder(files, out.files.log);
  out.contents.push_back(contents_of(files, plan.ignored));
  const auto acknowledge = [&](FileEventKind kind, const std::string& text, pid_t thread) {
    recorder.acknowledge(kind, text, static_cast<uint32_t>(thread));
    out.files.acks.push_back(static_cast<EventId>(out.files.log.events().size() - 1));
    out.contents.push_back(contents_of(files, plan.ignored));
  };
  services.on_ack = [&](const std::string& line, pid_t thread) {
    acknowledge(FileEventKind::kAck, line, thread);
  };
  std::vector<std::string> variables = plan.variables;
  if (plan.ack) {
    services.on_output = [&](const std::string& line, pid_t thread) {
      if (std::regex_search(line, *plan.ack)) acknowledge(FileEventKind::kAck, line, thread);
    };
    variables.push_back("SISYFS_OUTPUT=" + directory.path() + "/.sisyfs-output");
  }
  directory.on_sync = [&](pid_t thread) {
    FileEvent event;
    event.kind = FileEventKind::kSync;
    event.promise = FilePromise::kEverything;
    event.thread = static_cast<uint32_t>(thread);
    recorder.begin(std::move(event));
  };
  files.observe(&recorder);
  if (Status s = directory.mount(files, &services); !s) return s.error();
  if (Status s = await_server(directory, plan); !s) return s.error();
  if (Status s = run("workload", plan.run, variables); !s) return s.error();
  acknowledge(FileEventKind::kExit, "the command ends", 0);
  files.observe(nullptr);
  directory.on_sync = nullptr;
  if (!plan.stop.empty())
    if (Status s = run("stop of the server", plan.stop, plan.variables); !s) return s.error();
  if (Status s = directory.unmount(); !s) return s.error();
  if (!directory.refused().empty()) out.refused.emplace_back("open with O_TMPFILE");
  out.files.last = files;
  out.names = recorder.names();
  return out;
}

}  // namespace sisyfs
