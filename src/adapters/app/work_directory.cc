#include "adapters/app/work_directory.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "adapters/app/keeper_wire.h"

extern char** environ;

namespace sisyfs {

std::string ProgramEnd::text() const {
  if (late) return "no end in time";
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

Result<std::unique_ptr<WorkDirectory>> WorkDirectory::start(const std::string& program,
                                                            const std::string& over) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error(fmt::format("no socket: {}", std::strerror(errno)));
  std::unique_ptr<WorkDirectory> made(new WorkDirectory);
  made->socket_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kKeeperFd);
  std::string words[] = {"sisyfs", "keep-directory", over};
  char* argv[] = {words[0].data(), words[1].data(), over.empty() ? nullptr : words[2].data(), nullptr};
  const int error = posix_spawn(&made->process_, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) return system_error(fmt::format("cannot start {}: {}", program, std::strerror(error)));
  const auto ready = receive_message(made->socket_);
  if (!ready || ready->words.size() != 2)
    return system_error("the process that keeps the work directory has ended");
  if (ready->words[0] != "ready") return system_error(ready->words[1]);
  made->path_ = ready->words[1];
  return made;
}

WorkDirectory::~WorkDirectory() {
  if (fuse_ >= 0) (void)unmount();
  if (socket_ >= 0) close(socket_);
  if (process_ > 0)
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Result<std::vector<std::string>> WorkDirectory::ask(const Words& words, const std::vector<int>& descriptors) {
  const auto lost = [] { return system_error("the process that keeps the work directory has ended"); };
  if (!send_message(socket_, words, descriptors)) return lost();
  std::optional<KeeperMessage> answer;
  do {
    if (server_ != nullptr)
      if (Status s = server_->serve(fuse_, socket_); !s) return s.error();
    answer = receive_message(socket_);
    if (!answer || answer->words.empty()) return lost();
    if (answer->words[0] == "sync" && on_sync) on_sync(static_cast<pid_t>(std::stoi(answer->words.at(1))));
  } while (answer->words[0] == "sync");
  if (answer->words[0] == "failed") return system_error(answer->words.at(1));
  if (!answer->descriptors.empty()) fuse_ = answer->descriptors[0];
  return std::move(answer->words);
}

Status WorkDirectory::mount(FileStore& files, FuseServices* services) {
  if (auto mounted = ask({"mount"}); !mounted) return mounted.error();
  server_ = std::make_unique<FuseServer>(files, services);
  return {};
}

namespace {

WorkDirectory::Words message_of(const char* what, std::chrono::milliseconds patience,
                                const WorkDirectory::Words& command, const WorkDirectory::Words& variables) {
  WorkDirectory::Words words{what, std::to_string(patience.count()), std::to_string(variables.size())};
  words.insert(words.end(), variables.begin(), variables.end());
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

constexpr size_t kMostProgramOutput = size_t{1} << 20;

std::string content_of(int file) {
  std::string out(kMostProgramOutput, '\0');
  const ssize_t count = pread(file, out.data(), out.size(), 0);
  out.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return out;
}

}  // namespace

Result<ProgramEnd> WorkDirectory::run(const Words& command, const Words& variables,
                                      std::chrono::milliseconds patience) {
  const int output = memfd_create("output", MFD_CLOEXEC);
  if (output < 0) return system_error(fmt::format("no memory: {}", std::strerror(errno)));
  auto answer = ask(message_of("run", patience, command, variables), {output, output});
  ProgramEnd end;
  end.output = content_of(output);
  close(output);
  if (!answer) return answer.error();
  end.late = (*answer)[0] == "late";
  end.status = std::stoi(answer->at(1));
  return end;
}

Status WorkDirectory::start(const Words& command, const Words& variables) {
  auto answer = ask(message_of("start", {}, command, variables));
  return answer ? Status() : Status(answer.error());
}

Status WorkDirectory::stop() {
  auto answer = ask({"stop"});
  return answer ? Status() : Status(answer.error());
}

Status WorkDirectory::unmount() {
  auto answer = ask({"unmount"});
  if (server_ != nullptr) refused_.insert(server_->refused().begin(), server_->refused().end());
  server_.reset();
  if (fuse_ >= 0) close(std::exchange(fuse_, -1));
  return answer ? Status() : Status(answer.error());
}

}  // namespace sisyfs
