// WorkDirectory: a directory that we serve, and programs that run in it.
//
//   auto made = WorkDirectory::start("/path/of/sisyfs", "");
//   (*made)->mount(files, nullptr);
//   const auto ended = (*made)->run({"sh", "-c", "make"}, {}, std::chrono::seconds(10));
//   (*made)->unmount();
#pragma once

#include <chrono>
#include <functional>
#include <memory>
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

class WorkDirectory {
 public:
  using Words = std::vector<std::string>;

  // Starts a keeper (keeper_process.h). `program` is sisyfs itself; `over` is the folder to mount over, or
  // empty.
  static Result<std::unique_ptr<WorkDirectory>> start(const std::string& program, const std::string& over);
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  // Where programs see it.
  const std::string& path() const { return path_; }

  // Shows these files there. Both are borrowed until unmount().
  Status mount(FileStore& files, FuseServices* services);
  // Runs a program in it and waits. `variables`: NAME=VALUE.
  Result<ProgramEnd> run(const Words& command, const Words& variables, std::chrono::milliseconds patience);
  // Starts a program that goes on until stop().
  Status start(const Words& command, const Words& variables);
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
  pid_t process_ = -1;
  int fuse_ = -1;
  std::string path_;
  std::unique_ptr<FuseServer> server_;
  std::set<uint32_t> refused_;
};

}  // namespace sisyfs
