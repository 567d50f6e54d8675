#include "cli/memory_reserve.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <new>

#include "base/memory_refused.h"
#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

constexpr size_t kReserve = size_t{64} << 20;  // what the workers allocate until they stop, and the report

std::atomic<void*> reserve{nullptr};

void give_up_reserve() {
  memory_refused.store(true, std::memory_order_relaxed);
  void* const held = reserve.exchange(nullptr);
  if (held != nullptr) {
    munmap(held, kReserve);
    return;  // the allocation is tried again
  }
  // Another thread may be about to give it up. There is nothing that could be allocated for a message.
  static std::atomic<int> tries{0};
  if (tries.fetch_add(1) < 100) {
    usleep(1000);
    return;
  }
  constexpr char kSays[] =
      "sisyfs: the system grants no more memory: give a smaller --memory or fewer --threads\n";
  [[maybe_unused]] const ssize_t ignored = write(fileno(stderr), kSays, sizeof kSays - 1);
  _exit(kHarness);
}

}  // namespace

void hold_memory_reserve() {
  // Address space is what a limit counts (ulimit -v). It is never touched.
  void* const held = mmap(nullptr, kReserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  reserve.store(held == MAP_FAILED ? nullptr : held);
  std::set_new_handler(give_up_reserve);
}

}  // namespace sisyfs::cli
