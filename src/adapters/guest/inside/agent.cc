// The only program of a guest: it mounts, makes system calls and serves the disks, as the checker tells it
// (wire.h).
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {

std::byte* buffers[kBuffers];
int handles[kHandles] = {-1, -1, -1, -1};

namespace {

int line = -1;
bool is_below = false;  // there is a file system below the one that is checked
int outside = -1;       // the root of the agent, while it is in the file system

}  // namespace

void ask(uint32_t buffer, size_t bytes) {
  const Packet packet{Packet::kRequest, buffer, static_cast<uint32_t>(bytes)};
  if (write(line, &packet, sizeof packet) != sizeof packet) _exit(1);
}

[[noreturn]] void give_up(const char* what) {
  dprintf(STDERR_FILENO, "agent: %s: %s\n", what, strerror(errno));
  reboot(RB_POWER_OFF);
  for (;;) pause();
}

int open_own(const char* file, int flags) {
  return openat(outside >= 0 ? outside : AT_FDCWD, outside >= 0 ? file + 1 : file, flags | O_CLOEXEC);
}

void put(const char* file, const char* text) {
  const int fd = open_own(file, O_WRONLY);
  if (fd < 0) return;
  if (write(fd, text, strlen(text)) < 0) dprintf(STDERR_FILENO, "agent: %s: %s\n", file, strerror(errno));
  close(fd);
}

void print(const std::string& text) {
  put("/proc/sys/kernel/printk_devkmsg", "on");  // as many as are wanted
  put("/dev/kmsg", (text + "\n").c_str());       // a line that is not ended is held back
}

int of(long result) { return result < 0 ? errno : 0; }

namespace {

// --- the connection ---------------------------------------------------------------------------------

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

// Tells where the kernel's functions for random numbers are.
void replace_random() {
  std::FILE* const file = std::fopen("/proc/kallsyms", "r");
  if (file == nullptr) return;
  uint64_t address = 0;
  char type = 0, name[256];
  uint32_t left = static_cast<uint32_t>(Replaced::kMost);
  while (left != 0 && std::fscanf(file, "%" SCNx64 " %c %255s%*[^\n]", &address, &type, name) >= 3) {
    for (uint32_t i = 0; i < std::size(kReplacedNames); ++i) {
      if (std::strcmp(name, kReplacedNames[i]) != 0) continue;
      struct {
        Packet head;
        uint64_t address;
      } __attribute__((packed)) packet{{Packet::kReplace, i, 0}, address};
      if (write(line, &packet, sizeof packet) != sizeof packet) give_up("serial line");
      --left;
    }
  }
  std::fclose(file);
}

void seed(uint32_t value) {
  const Packet packet{Packet::kSeed, 0, value};
  if (write(line, &packet, sizeof packet) != sizeof packet) give_up("serial line");
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
  replace_random();
}

// --- mounting ---------------------------------------------------------------------------------------

// From here on paths begin at the root of the file system.
int enter() {
  outside = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return outside < 0 || chroot(kPlace) != 0 || chdir("/") != 0 ? errno : 0;
}
void leave() {
  for (int& handle : handles)
    if (handle >= 0) close(std::exchange(handle, -1));
  if (outside < 0) return;
  if (fchdir(outside) != 0 || chroot(".") != 0) give_up("chroot");
  close(std::exchange(outside, -1));
}

int mount_below(const Command& command, const std::string* texts) {
  mkdir(kBelow, 0755);
  forget_pages();
  const int error =
      of(mount(device_name(0).c_str(), kBelow, texts[0].c_str(), command.number, texts[1].c_str()));
  is_below = error == 0;
  return error;
}

// Unmounts what is mounted there. A worker of the kernel may hold it for a moment.
int unmount_from(const char* place) {
  int error = 0;
  for (int tries = 0; tries < 100; ++tries) {
    error = of(umount2(place, 0));
    if (error != EBUSY) break;
    usleep(10'000);
  }
  return error;
}

int mount_it(const Command& command, const std::string* texts) {
  const std::string& what = texts[2];
  if (!is_below) forget_pages();
  const int error = of(mount(what.empty() ? device_name(0).c_str() : what.c_str(), kPlace, texts[0].c_str(),
                             command.number, texts[1].c_str()));
  if (error == 0) return enter();
  if (std::exchange(is_below, false)) unmount_from(kBelow);
  return error;
}

// Where a file system can be shut down, its unmount has nothing left to write.
void shut_down(const char* root) {
  const int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  constexpr unsigned long kShutdown = _IOR('X', 125, uint32_t);
  uint32_t no_log_flush = 2;
  if (fd >= 0) ioctl(fd, kShutdown, &no_log_flush), close(fd);
}

int unmount(bool dropped) {
  if (dropped && outside >= 0) shut_down("/");
  leave();
  if (dropped && is_below) shut_down(kBelow);
  int error = unmount_from(kPlace);
  if (std::exchange(is_below, false))
    if (const int below = unmount_from(kBelow); error == 0) error = below;
  forget_pages();
  return error;
}

// --------------------------------------------------------------------------------------------------------

int load_module(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error =
      of(syscall(SYS_finit_module, fd, file.ends_with("/nbd.ko") ? "max_part=0 nbds_max=6" : "", 0));
  close(fd);
  unlink(file.c_str());
  return error == EEXIST ? 0 : error;
}

int make_directories(const std::string& list) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (mkdir(list.substr(at, end - at).c_str(), 0755) != 0 && errno != EEXIST) return errno;
    at = end + 1;
  }
  return 0;
}

uint64_t free_memory() {
  char text[4096] = "";
  const int fd = open_own("/proc/meminfo", O_RDONLY);
  if (fd < 0 || read(fd, text, sizeof text - 1) < 0) return 0;
  close(fd);
  const char* const at = std::strstr(text, "MemAvailable:");
  uint64_t kilobytes = 0;
  return at != nullptr && std::sscanf(at, "MemAvailable: %" SCNu64, &kilobytes) == 1 ? kilobytes * 1024 : 0;
}

int carry_out(const Command& command, const std::string* texts, const std::byte* bytes, Answer& answer) {
  switch (command.what) {
    case Do::kModule:
      return load_module(texts[0]);
    case Do::kDisks:
      return make_disks(command);
    case Do::kMountBelow:
      return mount_below(command, texts);
    case Do::kMount:
      return mount_it(command, texts);
    case Do::kFlush:
      if (is_below) sync();
      return flush_disk();
    case Do::kUnmount:
      return unmount(command.number != 0);
    case Do::kCall:
      return call(command, texts, bytes, answer);
    case Do::kWalk: {
      if (command.number == 0) walk();
      const size_t count = std::min<size_t>(walked.size() - told, kBufferBytes - sizeof answer);
      std::memcpy(buffers[kCommands] + sizeof answer, walked.data() + told, count);
      told += count;
      answer.bytes = static_cast<uint32_t>(count);
      answer.more = told < walked.size() ? 1 : 0;
      return 0;
    }
    case Do::kMakeTree:
      return make_directories(texts[0]);
    case Do::kClock: {
      seed(static_cast<uint32_t>(command.offset));
      const timespec now{static_cast<time_t>(command.offset), 0};
      return of(clock_settime(CLOCK_REALTIME, &now));
    }
    case Do::kRelease: {
      utsname names{};
      if (uname(&names) != 0) return errno;
      answer.bytes = static_cast<uint32_t>(strlen(names.release));
      std::memcpy(buffers[kCommands] + sizeof answer, names.release, answer.bytes);
      return 0;
    }
    case Do::kMemory:
      answer.number = free_memory();
      return 0;
    case Do::kMessage:
      print(texts[0]);
      return 0;
    case Do::kPlant:
      return plant(static_cast<Plant>(command.number));
    case Do::kPowerOff:
      reboot(RB_POWER_OFF);
      return 0;
  }
  return ENOSYS;
}

[[noreturn]] void obey() {
  connect();
  umask(0);
  Answer answer{Ask::kCommand, 0, 0, 0, 0};
  std::string texts[3];
  for (;;) {
    std::byte* const buffer = buffers[kCommands];
    std::memcpy(buffer, &answer, sizeof answer);
    ask(kCommands, sizeof answer + answer.bytes);
    Command command;
    std::memcpy(&command, buffer, sizeof command);
    const auto* text = reinterpret_cast<const char*>(buffer + sizeof command);
    for (size_t i = 0; i < std::size(texts); ++i) {
      texts[i].assign(text, command.texts[i]);
      text += command.texts[i];
    }
    // The answer may take the place of the bytes.
    static std::vector<std::byte> bytes;
    bytes.assign(reinterpret_cast<const std::byte*>(text),
                 reinterpret_cast<const std::byte*>(text) + command.bytes);
    answer = {Ask::kCommand, 0, 0, 0, 0};
    answer.error = carry_out(command, texts, bytes.data(), answer);
  }
}

}  // namespace
}  // namespace sisyfs::guest

int main() { sisyfs::guest::obey(); }
