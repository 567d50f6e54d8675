#include "adapters/plugin/fence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>

#include "adapters/plugin/process_guard.h"
#include "adapters/plugin/source_location.h"
#include "base/assert.h"

namespace sisyfs {
namespace {

constexpr int kTick = SIGVTALRM;  // of the timer that ends calls; no other code uses it
constexpr int kReturned = 113;    // exit code of a process that tried a call and came back
constexpr double kTickSeconds = 0.2;
constexpr size_t kSignalStack = size_t{128} << 10;

// The fence whose call this thread is in. A plain pointer: it is read in a signal handler.
thread_local Fence* current = nullptr;
bool (*page_watcher)(void*) = nullptr;
BlackBox* black_box = nullptr;
BlackBox::Slot* own_slot = nullptr;  // in the black box; null: there is none

// Not zero in a process that claimed itself. The kernel clears the page in each child of fork().
volatile uint32_t* claimed = nullptr;

bool is_strange_child() { return claimed != nullptr && *claimed == 0; }

void* code_of(const void* context) {
  const auto* registers = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<void*>(registers->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(registers->uc_mcontext.pc);
#else
  return (void)registers, nullptr;
#endif
}

void* stack_of(const void* context) {
  const auto* registers = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<void*>(registers->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(registers->uc_mcontext.sp);
#else
  return (void)registers, nullptr;
#endif
}

const char* signal_name(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGABRT:
      return "SIGABRT";
    case SIGTRAP:
      return "SIGTRAP";
    default:
      return "a signal";
  }
}

std::string location_text(const void* code) {
  const std::string text = source_location(code);
  return text.empty() ? text : " at " + text;
}

}  // namespace

// The process-wide handlers. Everything here is safe in a signal handler.
struct FenceSignals {
  static constexpr std::array kDeadly = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

  static void install() {
    static std::once_flag once;
    std::call_once(once, [] {
      struct sigaction action {};
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
      action.sa_sigaction = on_death;
      for (const int signal : kDeadly) sigaction(signal, &action, nullptr);
      action.sa_sigaction = on_tick;
      sigaction(kTick, &action, nullptr);
    });
  }

  static void on_death(int signal, siginfo_t* info, void* context) {
    if (StackSamples::gives_up()) return;  // does not come back, if the stack was being followed
    if (signal == SIGSEGV && page_watcher != nullptr && page_watcher(info->si_addr)) return;
    if (is_strange_child()) _exit(0);
    Fence* fence = current;
    if (fence == nullptr || fence->inside_ == 0) {
      // A fault of the checker: as if there were no handler.
      std::signal(signal, SIG_DFL);
      if (info->si_code <= 0) raise(signal);  // it was sent; a real fault comes again
      return;
    }
    fence->signal_ = signal;
    fence->address_ = signal == SIGSEGV || signal == SIGBUS ? info->si_addr : nullptr;
    fence->code_ = code_of(context);
    // An access close to the end of the stack is a stack overflow.
    const intptr_t beyond =
        reinterpret_cast<intptr_t>(info->si_addr) - reinterpret_cast<intptr_t>(stack_of(context));
    if (signal == SIGSEGV && beyond > -65536 && beyond < 4096) fence->said_ = "SIGSEGV: its stack is used up";
    fence->samples_.clear();
    fence->samples_.take(fence->code_);
    fence->jump(kDied);
  }

  static void on_tick(int, siginfo_t*, void* context) {
    Fence* fence = current;
    if (fence == nullptr) return;
    const uint32_t ticks = fence->ticks_ + 1;
    fence->ticks_ = ticks;
    if (StackSamples::is_following()) return;  // the call is being ended
    if (fence->inside_ != 0) fence->samples_.take(code_of(context), true);
    if (ticks * kTickSeconds < fence->limits_.seconds) return;
    if (fence->inside_ == 0) {
      fence->time_is_up_ = 1;
      return;
    }
    fence->said_ = "it does not return";
    fence->jump(kHung);
  }
};

namespace {

// What a thread needs to enter a fence: a stack for its signal handlers, since its own may have overflowed,
// and a timer. The timer counts wall-clock time, because code may also wait forever.
struct ThreadSetup {
  ThreadSetup() : stack(std::make_unique<std::byte[]>(kSignalStack)) {
    FenceSignals::install();
    if (claimed == nullptr) Fence::claim_process();
    StackSamples::prepare();
    stack_t on{.ss_sp = stack.get(), .ss_flags = 0, .ss_size = kSignalStack};
    sigaltstack(&on, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTick;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
    const timespec every{.tv_sec = 0, .tv_nsec = static_cast<long>(kTickSeconds * 1e9)};
    const itimerspec schedule{.it_interval = every, .it_value = every};
    timer_settime(timer, 0, &schedule, nullptr);
    has_timer = true;
  }
  ThreadSetup(const ThreadSetup&) = delete;
  ThreadSetup& operator=(const ThreadSetup&) = delete;
  ~ThreadSetup() {
    if (has_timer) timer_delete(timer);
    const stack_t off{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&off, nullptr);
  }
  std::unique_ptr<std::byte[]> stack;
  timer_t timer{};
  bool has_timer = false;
};

}  // namespace

Fence::Fence(const FenceLimits& limits) : limits_(limits) {}

void Fence::set_page_watcher(bool (*watcher)(void*)) {
  FenceSignals::install();
  page_watcher = watcher;
}

void Fence::set_black_box(BlackBox* box, uint32_t slot) {
  black_box = box;
  own_slot = box == nullptr ? nullptr : &box->slots[slot];
}

void Fence::claim_process() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (claimed == nullptr) {
    constexpr size_t kPage = 4096;
    void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    // A kernel that cannot do this (before Linux 4.14) leaves the page, and every child passes for ours.
    (void)madvise(page, kPage, MADV_WIPEONFORK);
    claimed = static_cast<volatile uint32_t*>(page);
  }
  *claimed = 1;
}

bool Fence::enter() {
  thread_local const ThreadSetup setup;
  SISYFS_ASSERT(inside_ == 0 && current == nullptr, "foreign code is not entered from within");
  fault_ = 0;
  accesses_ = 0;
  ticks_ = 0;
  time_is_up_ = 0;
  said_ = nullptr;
  code_ = nullptr;
  samples_.clear();
  signal_ = 0;
  if (black_box != nullptr && !trying_) {
    static uint64_t tried[BlackBox::kMostDeaths];
    for (uint32_t i = 0; i < black_box->deaths.load(std::memory_order_acquire); ++i) {
      BlackBox::Deadly& deadly = black_box->deadly[i];
      if (deadly.call != call_ || tried[i] >= deadly.trials()) continue;
      ++tried[i];
      if (survives(deadly.text)) continue;
      deadly.confirmed = true;
      return false;
    }
    own_slot->call.store(call_, std::memory_order_relaxed);
    own_slot->seconds.store(static_cast<uint32_t>(std::ceil(limits_.seconds)), std::memory_order_relaxed);
    own_slot->calls.store(own_slot->calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    own_slot->inside.store(true, std::memory_order_relaxed);
  }
  current = this;
  return true;
}

namespace {

// Waits for a child, and ends it after this time. The child's own timer is gone: fork() does not copy it.
bool wait_for(pid_t child, double seconds, int& status) {
  constexpr long kLongestPause = 2'000'000;
  using Clock = std::chrono::steady_clock;
  timespec pause{.tv_sec = 0, .tv_nsec = 50'000};
  for (const Clock::time_point start = Clock::now();;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended != 0) return ended == child;
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) send_signal(child, SIGKILL);
    nanosleep(&pause, nullptr);
    pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestPause);
  }
}

}  // namespace

// Tries the call in a forked process first, and says whether it returned there. In the forked process it
// returns true, and that process ends with the call.
bool Fence::survives(const char* text) {
  const pid_t child = fork();
  if (child == 0) {
    claim_process();
    trying_ = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);  // its message was printed before
    return true;
  }
  int status = 0;
  const bool waited = child > 0 && wait_for(child, limits_.seconds, status);
  if (!waited || (WIFEXITED(status) && WEXITSTATUS(status) == kReturned)) return true;
  fault_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? kHung : kDied;
  said_ = text;
  return false;
}

bool Fence::leave() {
  if (is_strange_child()) _exit(0);
  if (trying_) _exit(kReturned);
  inside_ = 0;
  current = nullptr;
  if (own_slot != nullptr) own_slot->inside.store(false, std::memory_order_relaxed);
  return fault_ == 0;
}

void Fence::jump(uint32_t fault) {
  if (is_strange_child()) _exit(0);
  fault_ = fault;
  inside_ = 0;
  siglongjmp(jump_, 1);
}

void Fence::die_at(uint32_t fault, const char* text, const void* code) {
  if (current != this) return;
  code_ = code;
  std::strncpy(words_, text, sizeof words_ - 1);
  said_ = words_;
  if (fault != kHung || time_is_up_ == 0) samples_.clear();
  samples_.take(nullptr);
  jump(fault);
}

std::string Fence::text() const {
  if (fault_ == 0) return {};
  if (said_ != nullptr) return said_ + location_text(code_);
  std::string text = signal_name(signal_);
  // Small addresses are members of a null pointer. Other addresses differ from run to run and are left out.
  if (address_ != nullptr && reinterpret_cast<uintptr_t>(address_) < 65536)
    text += fmt::format(" on address {:#x}", reinterpret_cast<uintptr_t>(address_));
  else if (signal_ == SIGSEGV && address_ == nullptr)
    text += " on a null pointer";
  return text + location_text(code_);
}

}  // namespace sisyfs
