#include "adapters/guest/launcher.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "adapters/repair/watched_tool.h"

namespace sisyfs {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// In the child, where only system calls are allowed.
[[noreturn]] void become(const LaunchOrder& order, char* const* arguments, char* const* environment,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  setsid();
  personality(ADDR_NO_RANDOMIZE);  // some tools write addresses of their memory to the disk
  const int null = open("/dev/null", O_RDWR);
  for (int stream = 0; stream <= STDERR_FILENO; ++stream) dup2(null, stream);
  int highest = STDERR_FILENO;
  for (const auto& [from, to] : order.descriptors) highest = std::max({highest, from, to});
  // First out of the way of all numbers that are wanted.
  for (size_t i = 0; i < order.descriptors.size(); ++i)
    dup2(order.descriptors[i].first, highest + 1 + static_cast<int>(i));
  for (size_t i = 0; i < order.descriptors.size(); ++i)
    dup2(highest + 1 + static_cast<int>(i), order.descriptors[i].second);
  const auto wanted = [&](int fd) {
    return fd <= STDERR_FILENO || std::any_of(order.descriptors.begin(), order.descriptors.end(),
                                              [&](const auto& pair) { return pair.second == fd; });
  };
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int most = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 4096));
  for (int fd = STDERR_FILENO + 1; fd < most; ++fd)
    if (!wanted(fd)) close(fd);
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  if (order.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(order.cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) signal(number, SIG_DFL);
  if (order.watched >= 0) {
    fcntl(order.watched, F_SETFD, FD_CLOEXEC);
    if (watched_tool_begin(order.watched) != 0) _exit(126);
  }
  execve(order.program.c_str(), arguments, environment);
  _exit(127);
}

// Its thread ends with the process, so it is never destroyed.
class Launcher {
 public:
  Launcher() {
    std::thread([this] { work(); }).detach();
  }
  ~Launcher() = delete;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  pid_t launch(const LaunchOrder& order) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return order_ == nullptr && !answered_; });
    order_ = &order;
    wake_.notify_all();
    done_.wait(lock, [&] { return answered_; });
    answered_ = false;
    const pid_t child = child_;
    const int error = error_;
    lock.unlock();
    done_.notify_all();
    errno = error;
    return child;
  }

 private:
  [[noreturn]] void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return order_ != nullptr; });
      const std::vector<char*> arguments = pointers(order_->arguments),
                               environment = pointers(order_->environment);
      const pid_t parent = getpid();
      child_ = fork();
      if (child_ == 0) become(*order_, arguments.data(), environment.data(), parent);
      error_ = errno;
      order_ = nullptr;
      answered_ = true;
      done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const LaunchOrder* order_ = nullptr;
  bool answered_ = false;
  pid_t child_ = -1;
  int error_ = 0;
};

}  // namespace

pid_t launch(const LaunchOrder& order) {
  static std::mutex mutex;
  static Launcher* launcher = nullptr;
  static pid_t owner = 0;
  {
    const std::lock_guard lock(mutex);
    // A process that was forked has not the threads of its parent.
    if (owner != getpid()) launcher = new Launcher;
    owner = getpid();
  }
  return launcher->launch(order);
}

}  // namespace sisyfs
