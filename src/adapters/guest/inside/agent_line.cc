// The agent in a guest: a serial line to the checker, and a kernel that is its own.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {
namespace {

int line = -1;

}  // namespace

void ask(uint32_t buffer, size_t bytes) {
  const Packet packet{Packet::kRequest, buffer, static_cast<uint32_t>(bytes)};
  if (write(line, &packet, sizeof packet) != sizeof packet) _exit(1);
}

[[noreturn]] void give_up(const char* what) {
  dprintf(STDERR_FILENO, "agent: %s: %s\n", what, strerror(errno));
  power_off();
}

[[noreturn]] void power_off() {
  reboot(RB_POWER_OFF);
  for (;;) pause();
}

void print(const std::string& text) {
  put("/proc/sys/kernel/printk_devkmsg", "on");  // as many as are wanted
  put("/dev/kmsg", (text + "\n").c_str());       // a line that is not ended is held back
}

namespace {

void make_buffer(uint32_t number) {
  void* const at = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || mlock(at, kBufferBytes) != 0) give_up("memory");
  std::memset(at, 1, kBufferBytes);
  buffers[number] = static_cast<std::byte*>(at);
  struct {
    Packet head;
    uint32_t frames[kBufferPages];
  } packet{{Packet::kPages, number, kBufferPages}, {}};
  const int map = open("/proc/self/pagemap", O_RDONLY);
  for (uint32_t page = 0; page < kBufferPages; ++page) {
    uint64_t entry = 0;
    const auto address = reinterpret_cast<uintptr_t>(at) + uint64_t{page} * kPageBytes;
    const auto place = static_cast<off_t>(address / kPageBytes * sizeof entry);
    if (pread(map, &entry, sizeof entry, place) != sizeof entry) give_up("pagemap");
    packet.frames[page] = static_cast<uint32_t>(entry & ((uint64_t{1} << 55) - 1));
  }
  close(map);
  if (write(line, &packet, sizeof packet) != sizeof packet) give_up("serial line");
}

}  // namespace

bool tell_functions(Packet::Kind kind, std::span<const char* const> names) {
  std::FILE* const file = std::fopen("/proc/kallsyms", "r");
  if (file == nullptr) return false;
  uint64_t address = 0;
  char type = 0, name[256];
  size_t left = names.size();
  while (left != 0 && std::fscanf(file, "%" SCNx64 " %c %255s%*[^\n]", &address, &type, name) >= 3) {
    for (uint32_t i = 0; i < names.size(); ++i) {
      if (std::strcmp(name, names[i]) != 0) continue;
      struct {
        Packet head;
        uint64_t address;
      } __attribute__((packed)) packet{{kind, i, 0}, address};
      if (write(line, &packet, sizeof packet) != sizeof packet) give_up("serial line");
      --left;
    }
  }
  std::fclose(file);
  return left == 0;
}

void connect() {
  mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/dev", 0755), mkdir(kPlace, 0755);
  mount("proc", "/proc", "proc", 0, nullptr);
  mount("sys", "/sys", "sysfs", 0, nullptr);
  mount("dev", "/dev", "devtmpfs", 0, nullptr);
  // Pages that the checker knows by their number must stay where they are.
  put("/proc/sys/vm/compact_unevictable_allowed", "0");
  // The kernel writes back on its own account after so long, whatever call is made just then. Never: an op
  // does that.
  put("/proc/sys/vm/dirty_writeback_centisecs", "36000000");
  put("/proc/sys/vm/dirty_expire_centisecs", "36000000");
  // The agent runs whenever it can. So which thread is next does not depend on how long each has run before.
  put("/proc/sys/kernel/sched_rt_runtime_us", "-1");
  const sched_param first{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) give_up("SCHED_FIFO");
  line = open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios raw{};
  if (line < 0 || tcgetattr(line, &raw) != 0) give_up("/dev/ttyS0");
  cfmakeraw(&raw);
  tcsetattr(line, TCSANOW, &raw);
  for (uint32_t i = 0; i < kBuffers; ++i) make_buffer(i);
  tell_functions(Packet::kReplace, kReplacedNames);
}

int set_clock(uint64_t seconds) {
  const timespec now{static_cast<time_t>(seconds), 0};
  return of(clock_settime(CLOCK_REALTIME, &now));
}

int load_module(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error =
      of(syscall(SYS_finit_module, fd, file.ends_with("/nbd.ko") ? "max_part=0 nbds_max=6" : "", 0));
  close(fd);
  unlink(file.c_str());
  return error == EEXIST || error == ENOSYS ? 0 : error;  // all of it is built into the kernel
}

// The clock jumps only when all that was begun has ended.
void await_disks() {}

void sync_all() { sync(); }

}  // namespace sisyfs::guest
