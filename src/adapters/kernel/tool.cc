#include "adapters/kernel/tool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <utility>

#include "adapters/guest/guest_files.h"
#include "adapters/guest/launcher.h"

namespace sisyfs {
namespace {

constexpr size_t kMostOutput = 64 << 10;
constexpr int kImageFd = 3, kWatchFd = 58, kStillFd = 59;

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

// What was opened, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// The process of a tool, up to its end.
class ToolProcess {
 public:
  ToolProcess(pid_t process, int output, int listener, watched_image* image)
      : process_(process),
        ended_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))),
        output_(output),
        listener_(listener),
        image_(image) {}

  // Why it could not be watched: a negative errno.
  int serve(std::chrono::milliseconds deadline, ToolRun& run) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    int error = 0;
    bool late = false;
    for (bool running = true; running && error == 0 && !late;) {
      pollfd polled[] = {{output_, POLLIN, 0}, {listener_, POLLIN, 0}, {ended_.get(), POLLIN, 0}};
      const int left = milliseconds_until(end);
      const int ready = poll(polled, std::size(polled), left);
      if (ready < 0 && errno == EINTR) continue;
      late = ready <= 0 || left == 0;
      if (!late && polled[0].revents != 0 && !take_output(run)) output_ = -1;
      if (!late && (polled[1].revents & POLLIN) != 0)
        error = watched_tool_serve(image_, listener_);
      else if (polled[1].revents != 0)
        listener_ = -1;  // nobody is watched any more
      else if (polled[2].revents != 0)
        running = false;
      // Without a descriptor for the process, it has ended when nothing is left of it.
      if (ended_.get() < 0 && output_ < 0 && listener_ < 0) running = false;
    }
    if (output_ >= 0 && take_output(run)) (void)take_output(run);
    finish(late, deadline, run);
    return error;
  }

 private:
  // Whether there may be more.
  bool take_output(ToolRun& run) {
    char text[4096];
    for (;;) {
      const ssize_t count = read(output_, text, sizeof text);
      if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
      if (run.output.size() < kMostOutput) run.output.append(text, static_cast<size_t>(count));
    }
  }

  // It and all that it has started.
  void finish(bool late, std::chrono::milliseconds deadline, ToolRun& run) const {
    if (late || ended_.get() >= 0) kill(process_, SIGKILL), kill(-process_, SIGKILL);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    if (late)
      run.how = fmt::format("was killed after {} ms", deadline.count());
    else if (WIFSIGNALED(status))
      run.how = fmt::format("died of signal {}", WTERMSIG(status));
    else
      run.ended = true, run.exit = WEXITSTATUS(status);
  }

  const pid_t process_;
  const Descriptor ended_;
  int output_, listener_;  // -1: not any more
  watched_image* const image_;
};

std::string refusal(int error) {
  return fmt::format(
      "this system does not let the accesses of a repair tool be seen (seccomp user notification: {}): it "
      "works on a copy of the disk, which is written back by rising address and flushed",
      std::strerror(-error));
}

Result<ToolRun> run(const std::vector<std::string>& words, int image, watched_image* watched,
                    std::chrono::milliseconds deadline) {
  LaunchOrder order;
  order.program = find_tool(words.front());
  if (order.program.empty()) return bad_input(fmt::format("the program {} is not installed", words.front()));
  const auto cannot_run = [&](int error) {
    return system_error(fmt::format("cannot run {}: {}", words.front(), std::strerror(error)));
  };
  int ends[2];
  if (still_file() < 0 || pipe2(ends, O_CLOEXEC) != 0) return cannot_run(errno);
  const Descriptor output(ends[0]);
  Descriptor output_there(ends[1]);
  fcntl(output.get(), F_SETFL, O_NONBLOCK);
  Descriptor socket, socket_there;
  if (watched != nullptr) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return cannot_run(errno);
    socket.reset(ends[0]);
    socket_there.reset(ends[1]);
    order.watched = kWatchFd;
    order.descriptors.emplace_back(socket_there.get(), kWatchFd);
  }
  order.arguments = words;
  order.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/",
                       fmt::format("LD_PRELOAD=/proc/self/fd/{}", kStillFd)};
  order.descriptors.insert(order.descriptors.end(), {{image, kImageFd},
                                                     {still_file(), kStillFd},
                                                     {output_there.get(), STDOUT_FILENO},
                                                     {output_there.get(), STDERR_FILENO}});
  const pid_t process = launch(order);
  if (process < 0) return cannot_run(errno);
  output_there.reset();
  socket_there.reset();
  const Descriptor listener(watched == nullptr ? -1 : watched_tool_listener(socket.get()));
  ToolRun run;
  int error = watched != nullptr && listener.get() < 0 ? listener.get() : 0;
  ToolProcess tool(process, output.get(), listener.get(), watched);
  if (error != 0) kill(process, SIGKILL);
  if (const int refused = tool.serve(deadline, run)) error = refused;
  if (error != 0) return system_error(refusal(error));
  return run;
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
  return run(words, image.fd(), nullptr, deadline);
}

Result<ToolRun> run_tool(const std::vector<std::string>& words, watched_image& image,
                         std::chrono::milliseconds deadline) {
  return run(words, image.fd, &image, deadline);
}

Status can_watch_tools() {
  constexpr uint32_t kBlock = 512;
  const watched_disk nothing{nullptr, [](void*, uint64_t, uint64_t, void*) { return 0; },
                             [](void*, uint64_t, uint64_t, const void*, int) { return 0; },
                             [](void*) { return 0; }};
  watched_image image;
  if (const int error = watched_image_make(&nothing, kBlock, 1, &image))
    return system_error(fmt::format("cannot make an image in memory: {}", std::strerror(-error)));
  const Result<ToolRun> run = run_tool({"true"}, image, std::chrono::seconds(10));
  watched_image_close(&image);
  return run ? Status() : Status(run.error());
}

}  // namespace sisyfs
