#include "adapters/app/keeper_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "adapters/app/keeper_wire.h"
#include "adapters/app/sync_filter.h"

namespace sisyfs {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kAckTool[] = "#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$SISYFS_DIR/.sisyfs-ack\"\n";
constexpr char kKeptTool[] = "#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$SISYFS_DIR/.sisyfs-kept\"\n";

std::string because(const std::string& what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

bool put(const std::string& path, const std::string& text, mode_t mode = 0644) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode);
  if (fd < 0) return false;
  const bool done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return done;
}

// Empty: done.
std::string leave_the_rest() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  constexpr int kOwn = CLONE_NEWNS | CLONE_NEWPID;
  if (uid == 0 && unshare(kOwn) == 0) return {};
  if (unshare(CLONE_NEWUSER | kOwn) != 0)
    return because("private mounts are not possible here (unshare), because user namespaces are not allowed");
  put("/proc/self/setgroups", "deny");
  if (!put("/proc/self/uid_map", fmt::format("{0} {0} 1", uid)) ||
      !put("/proc/self/gid_map", fmt::format("{0} {0} 1", gid)))
    return because("private mounts are not possible here (uid_map)");
  return {};
}

bool is_empty_folder(const char* path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown) && std::filesystem::is_empty(path, unknown) && !unknown;
}

class Keeper {
 public:
  explicit Keeper(std::string work) : given_(std::move(work)) {}

  // Empty: done.
  std::string settle() {
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return because("private mounts");
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);  // as it may
    const char* base = nullptr;
    for (const char* one : {"/mnt", "/media", "/srv", "/opt"})
      if (base == nullptr && is_empty_folder(one)) base = one;
    if (base == nullptr) return "no empty folder to mount on: /mnt, /media, /srv and /opt are all in use";
    if (mount("sisyfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64m") != 0)
      return because(std::string("a private folder on ") + base);
    const std::string top = base;
    place_ = {top + "/home", top + "/bin", given_.empty() ? top + "/work" : given_};
    for (const std::string& folder : {place_.home, place_.tools, top + "/work"})
      if (mkdir(folder.c_str(), 0755) != 0) return because(folder);
    if (!put(place_.tools + "/sisyfs-ack", kAckTool, 0755) ||
        !put(place_.tools + "/sisyfs-kept", kKeptTool, 0755))
      return because(place_.tools);
    return {};
  }

  const KeeperPlace& place() const { return place_; }

  void obey() {
    for (;;) {
      if (!wait(-1, std::nullopt)) return;
      const auto message = receive_message(kKeeperFd);
      if (!message) return;
      const std::string& what = message->words.at(0);
      if (what == "mount") mount_work();
      if (what == "unmount") unmount_work();
      if (what == "run") run(*message, true);
      if (what == "start") run(*message, false);
      if (what == "stop") stop_all(), send_message(kKeeperFd, {"done"});
      for (const int fd : message->descriptors) close(fd);
    }
  }

 private:
  void mount_work() {
    clear_home();
    const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    const std::string options =
        fmt::format("fd={},rootmode=40000,user_id={},group_id={},default_permissions,allow_other", fd,
                    geteuid(), getegid());
    if (fd < 0) {
      send_message(kKeeperFd, {"failed", because("/dev/fuse cannot be opened")});
    } else if (mount("sisyfs", place_.work.c_str(), "fuse.sisyfs", MS_NOSUID | MS_NODEV, options.c_str()) !=
               0) {
      send_message(kKeeperFd, {"failed", because("the work directory cannot be mounted")});
    } else {
      send_message(kKeeperFd, {"done"}, {fd});
    }
    if (fd >= 0) close(fd);
  }

  void unmount_work() {
    stop_all();
    umount2(place_.work.c_str(), MNT_DETACH);
    send_message(kKeeperFd, {"done"});
  }

  // Everything else in this namespace.
  void stop_all() {
    kill(-1, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  }

  void clear_home() {
    std::error_code unknown;
    for (const auto& entry : std::filesystem::directory_iterator(place_.home, unknown))
      std::filesystem::remove_all(entry.path(), unknown);
  }

  // Waits for a message of the checker, or for the end of a process, if there is one; the calls that wait for
  // an answer are answered meanwhile. False: the checker is gone, or the time is over.
  bool wait(int process, std::optional<steady_clock::time_point> end) {
    for (;;) {
      std::vector<pollfd> polled{{kKeeperFd, static_cast<short>(process < 0 ? POLLIN : POLLRDHUP), 0},
                                 {process, POLLIN, 0}};
      for (const int listener : listeners_) polled.push_back({listener, POLLIN, 0});
      int left = -1;
      if (end) {
        const auto rest = std::chrono::duration_cast<milliseconds>(*end - steady_clock::now()).count();
        if (rest <= 0) return false;
        left = static_cast<int>(std::min<int64_t>(rest + 1, 1'000'000));
      }
      if (poll(polled.data(), polled.size(), left) <= 0) continue;
      for (size_t i = 2; i < polled.size(); ++i)
        if ((polled[i].revents & POLLIN) != 0)
          answer(polled[i].fd);
        else if (polled[i].revents != 0)
          close(polled[i].fd), std::erase(listeners_, polled[i].fd);
      if (polled[0].revents != 0 && process >= 0) _exit(0);  // the checker is gone
      if (polled[0].revents != 0 || polled[1].revents != 0) return true;
    }
  }

  // A program calls sync or syncfs. All of the work directory is written back, and the checker notes the
  // call.
  void answer(int listener) {
    const auto call = next_sync(listener);
    if (!call) return;
    if (call->descriptor) {
      std::error_code unknown;
      const auto path = std::filesystem::read_symlink(
          fmt::format("/proc/{}/fd/{}", call->thread, *call->descriptor), unknown);
      const std::string& work = place_.work;
      if (unknown || (path.string() != work && !path.string().starts_with(work + "/")))
        return answer_sync(listener, *call, false);
    }
    const pid_t child = fork();
    if (child == 0) {
      const int fd = open(place_.work.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      _exit(fd >= 0 && syncfs(fd) == 0 ? 0 : 1);
    }
    while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    // The checker sees this before anything that the program does next.
    send_message(kKeeperFd, {"sync", std::to_string(call->thread)});
    answer_sync(listener, *call, true);
  }

  // Words: milliseconds, how many variables, the variables, the command.
  void run(const KeeperMessage& message, bool wait_for_end) {
    const auto& words = message.words;
    const milliseconds patience(std::atoll(words.at(1).c_str()));
    const auto variables = static_cast<size_t>(std::atoll(words.at(2).c_str()));
    int line[2] = {-1, -1};
    const bool made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) == 0;
    const pid_t child = made ? fork() : -1;
    if (child == 0) become(words, variables, message.descriptors, line[1]);
    close(line[1]);
    if (child > 0)
      if (auto hello = receive_message(line[0]); hello && !hello->descriptors.empty())
        listeners_.push_back(hello->descriptors[0]);
    close(line[0]);
    if (!wait_for_end || child < 0) {
      send_message(kKeeperFd, {child < 0 ? "failed" : "done", child < 0 ? because("fork") : ""});
      return;
    }
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    const bool in_time = wait(handle, steady_clock::now() + patience);
    if (!in_time) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    close(handle);
    send_message(kKeeperFd, {in_time ? "ended" : "late", std::to_string(status)});
  }

  [[noreturn]] void become(const std::vector<std::string>& words, size_t variables,
                           const std::vector<int>& outputs, int line) {
    setsid();
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    if (outputs.size() == 2) dup2(outputs[0], STDOUT_FILENO), dup2(outputs[1], STDERR_FILENO);
    for (size_t i = 0; i < variables; ++i) putenv(strdup(words.at(3 + i).c_str()));
    const char* const path = std::getenv("PATH");
    setenv("PATH", (place_.tools + ":" + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
    setenv("SISYFS_DIR", place_.work.c_str(), 1);
    setenv("SISYFS_ACKED", (place_.work + "/.sisyfs-acked").c_str(), 1);
    setenv("HOME", place_.home.c_str(), 1);
    setenv("TMPDIR", place_.home.c_str(), 1);
    setenv("PWD", place_.work.c_str(), 1);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    std::vector<char*> argv;
    for (size_t i = 3 + variables; i < words.size(); ++i) argv.push_back(strdup(words[i].c_str()));
    argv.push_back(nullptr);
    if (chdir(place_.work.c_str()) != 0) {
      dprintf(STDERR_FILENO, "sisyfs: %s\n", because(place_.work).c_str());
      _exit(126);
    }
    // Where --ack looks at what is printed, the output is a file that the checker serves.
    const char* const output = std::getenv("SISYFS_OUTPUT");
    if (output != nullptr) {
      const int fd = open(output, O_WRONLY);
      if (fd >= 0) dup2(fd, STDOUT_FILENO), close(fd);
      unsetenv("SISYFS_OUTPUT");
    }
    const int listener = watch_syncs();
    send_message(line, {"hello"}, listener < 0 ? std::vector<int>() : std::vector<int>{listener});
    if (listener >= 0) close(listener);
    execvp(argv[0], argv.data());
    dprintf(STDERR_FILENO, "sisyfs: %s\n", because(argv[0]).c_str());
    _exit(127);
  }

  const std::string given_;
  KeeperPlace place_;
  std::vector<int> listeners_;  // where calls of programs wait (sync_filter.h)
};

}  // namespace

int run_keeper(const std::string& work) {
  prctl(PR_SET_DUMPABLE, 1);  // else its own /proc is not its own
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // the checker decides
  fcntl(kKeeperFd, F_SETFD, FD_CLOEXEC);
  if (const std::string why = leave_the_rest(); !why.empty()) {
    send_message(kKeeperFd, {"failed", why});
    return 1;
  }
  // The first process of the new namespace: with it all others there end.
  const pid_t first = fork();
  if (first != 0) {
    close(kKeeperFd);
    while (waitpid(first, nullptr, 0) < 0 && errno == EINTR) {
    }
    return 0;
  }
  Keeper keeper(work);
  if (const std::string why = keeper.settle(); !why.empty()) {
    send_message(kKeeperFd, {"failed", why});
    return 1;
  }
  send_message(kKeeperFd, {"ready", keeper.place().work});
  keeper.obey();
  return 0;
}

}  // namespace sisyfs
