// WorkDirectory: a directory that we serve, and programs that run in it.
//
//   auto place = WorkPlace::open("/path/of/sisyfs");
//   auto made = WorkDirectory::start(**place, "");
//   (*made)->mount(files, nullptr);
//   const auto ended = (*made)->run({"sh", "-c", "make"}, {}, std::chrono::seconds(10));
//   (*made)->unmount();
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/fuse/file_store.h"
#include "adapters/fuse/fuse_server.h"
#include "base/result.h"

namespace sisyfs {

// How a program ended.
struct ProgramEnd {
  bool late = false;  // it was killed because its time was over
  int status = 0;     // of wait(2)
  std::string output;

  bool succeeded() const { return !late && status == 0; }
  // "exit code 3", "signal 11", "no end within 10 s".
  std::string text() const;
};

// Where work directories are made. They end before it does.
class WorkPlace {
 public:
  // Starts the first keeper (keeper_process.h). `program` is sisyfs itself.
  static Result<std::shared_ptr<WorkPlace>> open(const std::string& program);
  ~WorkPlace();
  WorkPlace(const WorkPlace&) = delete;
  WorkPlace& operator=(const WorkPlace&) = delete;

  // From several threads.
  bool add(const std::string& over, int socket);

 private:
  WorkPlace() = default;
  std::mutex mutex_;
  int socket_ = -1;
  pid_t process_ = -1;
};

class WorkDirectory {
 public:
  using Words = std::vector<std::string>;

  // `over` is the folder to mount over, or empty.
  static Result<std::unique_ptr<WorkDirectory>> start(WorkPlace& place, const std::string& over);
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  // Where programs see it.
  const std::string& path() const { return path_; }

  // Shows these files there. Both are borrowed until unmount().
  Status mount(FileStore& files, FuseServices* services);
  // Runs a program in it and waits. `variables`: NAME=VALUE.
  Result<ProgramEnd> run(const Words& command, const Words& variables, std::chrono::milliseconds patience);
  // Starts a program that goes on until stop() or unmount().
  Status start(const Words& command, const Words& variables);
  // How the program that was started last has ended, if it has.
  Result<std::optional<ProgramEnd>> started_end();
  // Kills all programs.
  Status stop();
  // Kills all programs, and what was served is gone. Calls that were refused are in refused().
  Status unmount();
  const std::set<uint32_t>& refused() const { return refused_; }
  // A program has called sync, or syncfs for this directory: all that was written before has arrived.
  std::function<void(pid_t thread)> on_sync;

 private:
  WorkDirectory() = default;
  // Sends a message and serves the directory until the answer comes.
  Result<std::vector<std::string>> ask(const Words& words, const std::vector<int>& descriptors = {});

  int socket_ = -1;
  int output_ = -1;  // of the program that was started last
  int fuse_ = -1;
  std::string path_;
  std::unique_ptr<FuseServer> server_;
  std::set<uint32_t> refused_;
};

}  // namespace sisyfs
