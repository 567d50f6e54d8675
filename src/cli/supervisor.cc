#include "cli/supervisor.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "adapters/plugin/fence.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "cli/death.h"
#include "cli/own_streams.h"

namespace sisyfs::cli {
namespace {

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
pid_t begin(const std::function<int(const SharedBlackBox&)>& search, const SharedBlackBox& shared) {
  std::fflush(nullptr);
  PassesSignalsOn::hold(true);
  const pid_t child = fork();
  if (child != 0) return child;
  PassesSignalsOn::hold(false);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  guard_and_keep_streams();
  Fence::claim_process();
  Fence::set_black_box(shared.box(), 0);
  const int code = guarded([&] { return search(shared); });  // what it printed is not seen by the parent
  std::fflush(nullptr);
  shared.box()->clear(0);
  _exit(code);
}

volatile sig_atomic_t seconds_passed = 0;

void count_second(int) { seconds_passed = seconds_passed + 1; }

// While it lives, a signal each second interrupts waitpid().
class Seconds {
 public:
  Seconds() {
    struct sigaction action {};
    action.sa_handler = count_second;
    sigaction(SIGALRM, &action, &before_);
    const itimerval each{.it_interval = {1, 0}, .it_value = {1, 0}};
    setitimer(ITIMER_REAL, &each, nullptr);
  }
  ~Seconds() {
    const itimerval off{};
    setitimer(ITIMER_REAL, &off, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Seconds(const Seconds&) = delete;
  Seconds& operator=(const Seconds&) = delete;

 private:
  struct sigaction before_ {};
};

// Waits for the end of the search. A search that is in a call for longer than it should, because the call
// ignores signals or has stopped the process, is killed. Seconds in which this process is stopped do not
// count.
int wait_for(pid_t child, const BlackBox::Slot& slot, bool& stuck) {
  const Seconds passing;
  int status = 0;
  uint64_t calls = 0;
  sig_atomic_t moved = seconds_passed;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (slot.calls != calls || !slot.inside) {
      calls = slot.calls;
      moved = seconds_passed;
    }
    stuck = static_cast<uint32_t>(seconds_passed - moved) > slot.seconds + kGraceSeconds;
    if (stuck) kill(child, SIGKILL);
  }
  return status;
}

// A search that dies between its calls, because a call damaged it, is begun again so often.
constexpr int kMostDeathsOutside = 3;

}  // namespace

static int supervise_search(const std::function<int(const SharedBlackBox&)>& search) {
  const SharedBlackBox shared;
  BlackBox* const box = shared.box();
  if (box == nullptr) return search(shared);
  int deaths_outside = 0;
  for (;;) {
    box->clear(0);
    const pid_t child = begin(search, shared);
    if (child < 0) {
      PassesSignalsOn::hold(false);
      to_stderr(fmt::format("sisyfs: cannot begin a process: {}\n", std::strerror(errno)));
      return kHarness;
    }
    int status = 0;
    bool stuck = false;
    {
      const PassesSignalsOn passed_on(child);
      PassesSignalsOn::hold(false);
      status = wait_for(child, box->slots[0], stuck);
    }
    const bool inside = box->slots[0].inside;
    // A second Ctrl-C ends the search where it is. That is no death by what the target did.
    if (told_to_end && WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) {
      signal(WTERMSIG(status), SIG_DFL);
      raise(WTERMSIG(status));
    }
    // The reader of the output is gone, as with '| head'. No call of the target is to blame.
    if (!inside && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) {
      signal(SIGPIPE, SIG_DFL);
      raise(SIGPIPE);
    }
    if (WIFEXITED(status) && !inside) return WEXITSTATUS(status);
    if (is_own_assertion(status, inside)) {
      to_stderr(fmt::format("sisyfs: the search {}\n", kOwnAssertion));
      return kHarness;
    }
    const std::string text = stuck ? kStuck : text_of_death(child, status, inside);
    const uint64_t call = box->slots[0].call;
    deaths_outside += inside ? 0 : 1;
    if (call == 0 || deaths_outside > kMostDeathsOutside ||
        !box->blame(call, text, !stuck && !is_killed(status))) {
      to_stderr(fmt::format("sisyfs: the checker died at an unknown call: {}\n", printable(text)));
      return kHarness;
    }
    to_stderr(
        fmt::format("sisyfs: {}; the search starts again and tries that call separately\n", printable(text)));
  }
}

int supervise(const std::function<int(const SharedBlackBox&)>& search) {
  const int exit = supervise_search(search);
  remove_reports();
  return exit;
}

}  // namespace sisyfs::cli
