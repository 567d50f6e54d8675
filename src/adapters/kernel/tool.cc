#include "adapters/kernel/tool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "adapters/guest/guest_files.h"
#include "adapters/guest/launcher.h"

namespace sisyfs {
namespace {

constexpr size_t kMostOutput = 64 << 10;
constexpr int kImageFd = 3, kStillFd = 59;

// The library for tools, as a file in memory that lives as long as this process.
int still_file() {
  static const int file = [] {
    const int fd = memfd_create("still", MFD_CLOEXEC);
    const auto library = still_time();
    return fd >= 0 && write(fd, library.data(), library.size()) == static_cast<ssize_t>(library.size()) ? fd
                                                                                                        : -1;
  }();
  return file;
}

int milliseconds_until(std::chrono::steady_clock::time_point end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

// Whether a process that has closed its output ends in time.
bool ends_until(pid_t process, std::chrono::steady_clock::time_point end) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) return true;  // then it is waited for
  pollfd polled{fd, POLLIN, 0};
  int ready = 0;
  do ready = poll(&polled, 1, milliseconds_until(end));
  while (ready < 0 && errno == EINTR);
  close(fd);
  return ready > 0;
}

}  // namespace

Result<MemoryFile> MemoryFile::make(uint64_t bytes) {
  const int fd = memfd_create("image", MFD_CLOEXEC);
  void* const at = fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0
                       ? MAP_FAILED
                       : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) return MemoryFile(fd, {static_cast<std::byte*>(at), bytes});
  const int error = errno;
  if (fd >= 0) close(fd);
  return system_error(
      fmt::format("cannot make an image of {} bytes in memory: {}", bytes, std::strerror(error)));
}

MemoryFile::~MemoryFile() {
  if (fd_ < 0) return;
  munmap(bytes_.data(), bytes_.size());
  close(fd_);
}

std::string find_tool(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  for (const char* folder :
       {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/", "/usr/local/sbin/", "/usr/local/bin/"})
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  return {};
}

Result<ToolRun> run_tool(const std::vector<std::string>& words, const MemoryFile& image,
                         std::chrono::milliseconds deadline) {
  LaunchOrder order;
  order.program = find_tool(words.front());
  if (order.program.empty()) return bad_input(fmt::format("the program {} is not installed", words.front()));
  int pipe_ends[2];
  if (still_file() < 0 || pipe2(pipe_ends, O_CLOEXEC) != 0)
    return system_error(fmt::format("cannot run {}: {}", words.front(), std::strerror(errno)));
  order.arguments = words;
  order.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/",
                       fmt::format("LD_PRELOAD=/proc/self/fd/{}", kStillFd)};
  order.descriptors = {{image.fd(), kImageFd},
                       {still_file(), kStillFd},
                       {pipe_ends[1], STDOUT_FILENO},
                       {pipe_ends[1], STDERR_FILENO}};
  const pid_t process = launch(order);
  const int error = errno;
  close(pipe_ends[1]);
  if (process < 0) {
    close(pipe_ends[0]);
    return system_error(fmt::format("cannot run {}: {}", words.front(), std::strerror(error)));
  }
  ToolRun run;
  const auto end = std::chrono::steady_clock::now() + deadline;
  bool late = false;
  for (;;) {
    pollfd polled{pipe_ends[0], POLLIN, 0};
    const int ready = poll(&polled, 1, milliseconds_until(end));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      late = true;
      break;
    }
    char text[4096];
    const ssize_t count = read(pipe_ends[0], text, sizeof text);
    if (count <= 0) break;
    if (run.output.size() < kMostOutput) run.output.append(text, static_cast<size_t>(count));
  }
  if (late || !ends_until(process, end)) {
    late = true;
    kill(-process, SIGKILL);
  }
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (late)
    run.how = fmt::format("was killed after {} ms", deadline.count());
  else if (WIFSIGNALED(status))
    run.how = fmt::format("died of signal {}", WTERMSIG(status));
  else
    run.ended = true, run.exit = WEXITSTATUS(status);
  return run;
}

}  // namespace sisyfs
