// The agent: a program that mounts and makes system calls as the checker tells it (wire.h). It is the only
// program of a guest (agent_line.cc, agent_disks.cc), or a process of the host (host_agent.cc).
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {

std::byte* buffers[kBuffers];
int handles[kHandles] = {-1, -1, -1, -1};
uint32_t owners[kHandles] = {};

namespace {

bool is_below = false;  // there is a file system below the one that is checked
int outside = -1;       // the root of the agent, while it is in the file system

}  // namespace

int open_own(const char* file, int flags) {
  return openat(outside >= 0 ? outside : AT_FDCWD, outside >= 0 ? file + 1 : file, flags | O_CLOEXEC);
}

void put(const char* file, const char* text) {
  const int fd = open_own(file, O_WRONLY);
  if (fd < 0) return;
  if (write(fd, text, strlen(text)) < 0) dprintf(STDERR_FILENO, "agent: %s: %s\n", file, strerror(errno));
  close(fd);
}

int of(long result) { return result < 0 ? errno : 0; }

namespace {

// --- mounting ---------------------------------------------------------------------------------------

// From here on paths begin at the root of the file system.
int enter() {
  outside = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return outside < 0 || chroot(kPlace) != 0 || chdir("/") != 0 ? errno : 0;
}
void leave() {
  for (uint32_t i = 0; i < kHandles; ++i)
    if (handles[i] >= 0) in_process(owners[i], [&] { close(std::exchange(handles[i], -1)); });
  if (outside < 0) return;
  if (fchdir(outside) != 0 || chroot(".") != 0) give_up("chroot");
  close(std::exchange(outside, -1));
}

int mount_below(const Command& command, const std::string* texts) {
  mkdir(kBelow, 0755);
  rewind_writeback();
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
  if (!is_below) {
    rewind_writeback();
    forget_pages();
  }
  int error = attach_flash(what);
  if (error == 0)
    error = of(mount(what.empty() ? device_name(0).c_str() : what.c_str(), kPlace, texts[0].c_str(),
                     command.number, texts[1].c_str()));
  if (error == 0) return enter();
  if (std::exchange(is_below, false)) unmount_from(kBelow);
  detach_flash();
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
  if (const int detached = detach_flash(); error == 0) error = detached;
  forget_pages();
  return error;
}

// --------------------------------------------------------------------------------------------------------

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
    case Do::kFlash:
      return use_flash();
    case Do::kMountBelow:
      return mount_below(command, texts);
    case Do::kMount:
      return mount_it(command, texts);
    case Do::kFlush:
      if (is_below) sync();
      return flush_disk();
    case Do::kUnmount:
      return unmount(command.number != 0);
    case Do::kCall: {
      if (is_forgotten(command)) return 0;
      int error = 0;
      in_process(command.process, [&] { error = call(command, texts, bytes, answer); });
      return error;
    }
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
    case Do::kClock:
      return 0;
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
      power_off();
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
    if (command.clock != 0 && set_clock(command.clock) != 0) give_up("clock");
    answer.error = carry_out(command, texts, bytes.data(), answer);
    await_disks();
  }
}

}  // namespace
}  // namespace sisyfs::guest

int main() { sisyfs::guest::obey(); }
