// The second process of the agent. It has descriptors of its own; memory and root directory are those of the
// first. One of the two works at a time: a system call runs to its end.
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {
namespace {

constexpr size_t kStackBytes = 256 << 10;

std::atomic<uint32_t> turn{0};  // 1: the second process works
void (*work)(void*) = nullptr;
void* argument = nullptr;
bool runs = false;

void futex(int what, uint32_t value) {
  (void)syscall(SYS_futex, reinterpret_cast<uint32_t*>(&turn), what | FUTEX_PRIVATE_FLAG, value, nullptr,
                nullptr, 0);
}

int serve(void*) {
  for (;;) {
    while (turn.load() != 1) futex(FUTEX_WAIT, 0);
    work(argument);
    turn.store(0);
    futex(FUTEX_WAKE, 1);
  }
}

void hand_over(void (*to_do)(void*), void* with) {
  work = to_do;
  argument = with;
  turn.store(1);
  futex(FUTEX_WAKE, 1);
  while (turn.load() != 0) futex(FUTEX_WAIT, 1);
}

// What the first process has open stays its own.
void close_all(void*) { (void)syscall(SYS_close_range, 3u, ~0u, 0u); }

void start() {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED ||
      clone(serve, static_cast<std::byte*>(stack) + kStackBytes, CLONE_VM | CLONE_FS | SIGCHLD, nullptr) < 0)
    give_up("a second process");
  runs = true;
  hand_over(close_all, nullptr);
}

}  // namespace

void in_process(uint32_t process, void (*to_do)(void*), void* with) {
  if (process == 0) return to_do(with);
  if (!runs) start();
  hand_over(to_do, with);
}

}  // namespace sisyfs::guest
