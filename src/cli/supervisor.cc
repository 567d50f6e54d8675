#include "cli/supervisor.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

#include "adapters/plugin/fence.h"
#include "base/printable.h"
#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

// Prints the report that a sanitizer wrote for a process (cli/sanitized.h) and returns its summary; empty if
// none.
std::string report_of(pid_t process) {
  const char* prefix = std::getenv("SISYFS_SANITIZER_LOG");
  if (prefix == nullptr) return {};
  const std::string path = fmt::format("{}.{}", prefix, process);
  std::ifstream report(path);
  std::string summary;
  for (std::string line; std::getline(report, line);) {
    to_stderr(fmt::format("{}\n", printable(line)));
    if (line.starts_with("SUMMARY: ")) summary = line.substr(9);
  }
  std::remove(path.c_str());
  return summary;
}

std::string text_of_death(pid_t process, int status, bool inside) {
  if (std::string report = report_of(process); !report.empty()) return report;
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("it ended the process by {}", strsignal(WTERMSIG(status)))
                              : fmt::format("it ended the process with exit code {}", WEXITSTATUS(status));
  return inside ? how : how + " after the call had returned; it must have written to memory of the checker";
}

std::atomic<pid_t> searching{0};  // the process of the search
std::atomic<bool> told_to_end{false};

// Ctrl-C of a terminal goes to both processes, a signal of `kill` to this one only. The search counts two
// signals in the same moment as one.
void pass_on(int number) {
  told_to_end.store(true);
  if (const pid_t child = searching.load(); child > 0) kill(child, number);
}

// While it lives, SIGINT and SIGTERM are passed on to the search, which then reports what it has found so
// far.
class PassesSignalsOn {
 public:
  explicit PassesSignalsOn(pid_t child) {
    searching.store(child);
    struct sigaction action {};
    action.sa_handler = pass_on;
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~PassesSignalsOn() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    searching.store(0);
  }
  PassesSignalsOn(const PassesSignalsOn&) = delete;
  PassesSignalsOn& operator=(const PassesSignalsOn&) = delete;

  // Keeps the signals waiting, or lets them come.
  static void hold(bool held) {
    sigset_t all;
    sigemptyset(&all);
    for (const int number : kSignals) sigaddset(&all, number);
    sigprocmask(held ? SIG_BLOCK : SIG_UNBLOCK, &all, nullptr);
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM};
  struct sigaction before_[std::size(kSignals)] = {};
};

// In the parent the signals are held, until it knows to whom to pass them on.
pid_t begin(const std::function<int()>& search, BlackBox* box) {
  std::fflush(nullptr);
  PassesSignalsOn::hold(true);
  const pid_t child = fork();
  if (child != 0) return child;
  PassesSignalsOn::hold(false);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Fence::claim_process();
  Fence::set_black_box(box);
  const int code = guarded(search);  // what it printed is not seen by the parent
  std::fflush(nullptr);
  box->inside = false;
  box->call = 0;
  _exit(code);
}

}  // namespace

int supervise(const std::function<int()>& search) {
  void* memory = mmap(nullptr, sizeof(BlackBox), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return search();
  auto* box = new (memory) BlackBox;
  int code = kHarness;
  for (;;) {
    box->call = 0;
    box->inside = false;
    const pid_t child = begin(search, box);
    if (child < 0) {
      PassesSignalsOn::hold(false);
      to_stderr(fmt::format("sisyfs: cannot begin a process: {}\n", std::strerror(errno)));
      break;
    }
    int status = 0;
    {
      const PassesSignalsOn passed_on(child);
      PassesSignalsOn::hold(false);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
    }
    const bool inside = box->inside;
    // A second Ctrl-C ends the search where it is. That is no death by what the target did.
    if (told_to_end && WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) {
      signal(WTERMSIG(status), SIG_DFL);
      raise(WTERMSIG(status));
    }
    if (WIFEXITED(status) && !inside) {
      code = WEXITSTATUS(status);
      break;
    }
    if (!inside && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
      break;  // an assertion of ours, which was already printed
    const std::string text = text_of_death(child, status, inside);
    const uint64_t* end = box->deadly + box->deaths;
    const bool known = std::find(static_cast<const uint64_t*>(box->deadly), end, box->call) != end;
    if (box->call == 0 || known || box->deaths == BlackBox::kMostDeaths) {
      to_stderr(fmt::format("sisyfs: the checker died at an unknown call: {}\n", printable(text)));
      break;
    }
    to_stderr(
        fmt::format("sisyfs: {}; the search starts again and tries that call separately\n", printable(text)));
    box->deadly[box->deaths] = box->call;
    std::strncpy(box->texts[box->deaths], text.c_str(), sizeof box->texts[0] - 1);
    ++box->deaths;
  }
  munmap(memory, sizeof(BlackBox));
  return code;
}

}  // namespace sisyfs::cli
