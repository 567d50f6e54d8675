// What goes wrong in a guest when a test wants it to.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {
namespace {

constexpr size_t kPiece = 1 << 20;

[[noreturn]] void take_all_memory() {
  for (;;) {
    void* const at = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) std::memset(at, 1, kPiece);
  }
}

// A read that never returns.
int wait_for_nothing() {
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) return errno;
  return of(read(ends[0], &byte, 1));
}

bool forgets = false;  // the next call of the second process is not made

}  // namespace

bool is_forgotten(const Command& command) {
  const bool planted = forgets && command.process == 1;
  forgets = false;
  return planted;
}

int plant(Plant what) {
  switch (what) {
    case Plant::kPanic:
      put("/proc/sysrq-trigger", "c");
      return ENOSYS;
    case Plant::kLoop:
      for (volatile bool goes_on = true; goes_on;) {
      }
      return 0;
    case Plant::kStuck:
      return wait_for_nothing();
    case Plant::kLost:
      lose_disks();
      return 0;
    case Plant::kMemory:
      take_all_memory();
    case Plant::kWarning:
      print("<4>WARNING: CPU: 0 PID: 1 at planted.c:1 planted+0x0/0x1");
      return 0;
    case Plant::kExit:
      _exit(1);
    case Plant::kForgets:
      forgets = true;
      return 0;
  }
  return ENOSYS;
}

}  // namespace sisyfs::guest
