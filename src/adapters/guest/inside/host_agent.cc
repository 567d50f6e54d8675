// The agent as a process of the host, in a mount namespace of its own. Its disk is a loop device on a FUSE
// file, which another process serves (host_disk.cc). All that it mounts, and the loop device, ends with it.
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

// After <sys/mount.h>, which has the same constants.
#include <linux/fs.h>

#include "adapters/guest/host_wire.h"
#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {
namespace {

constexpr const char* kDiskFile = "/disk";
constexpr const char* kLoopNode = "/loop";

HostChannel* channel = nullptr;
int loop = -1;      // the device
int inflight = -1;  // its file that says how many requests are under way

long futex(void* word, int op, uint32_t value) {
  return syscall(SYS_futex, word, op, value, nullptr, nullptr, 0);
}

// An empty file system in memory, over some folder that every host has. Nobody else sees it.
void enter_own_root() {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    give_up("cannot get a mount namespace");
  std::string root;
  for (const char* folder : {"/tmp", "/mnt", "/run", "/var"})
    if (root.empty() && mount("sisyfs", folder, "tmpfs", 0, "size=1m,mode=0700") == 0) root = folder;
  if (root.empty()) give_up("cannot mount a tmpfs");
  for (const char* folder : {"/proc", "/sys", "/dev"}) {
    const std::string place = root + folder;
    if (mkdir(place.c_str(), 0755) != 0 || mount(folder, place.c_str(), nullptr, MS_BIND, nullptr) != 0)
      give_up("cannot bind a folder");
  }
  const std::string disk = root + kDiskFile, mnt = root + kPlace;
  const int file = open(disk.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0 || mkdir(mnt.c_str(), 0755) != 0) give_up("cannot write to a tmpfs");
  close(file);
  // The root of this FUSE file system is a file.
  const std::string options = "fd=" + std::to_string(kFuseFd) + ",rootmode=100600,user_id=0,group_id=0";
  if (mount("sisyfs", disk.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    give_up("cannot mount a FUSE file");
  // From here on the connection breaks when the one that serves it ends.
  close(kFuseFd);
  if (chroot(root.c_str()) != 0 || chdir("/") != 0) give_up("cannot change the root");
}

std::string queue_file(uint32_t number, const char* name) {
  return "/sys/block/loop" + std::to_string(number) + "/" + name;
}

// A device that nobody else has, which is detached when it is closed for the last time.
int add_loop(const Command& command) {
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) return errno;
  const int number = ioctl(control, LOOP_CTL_ADD, -1);
  const int error = errno;
  close(control);
  if (number < 0) return error;
  channel->loop = static_cast<uint32_t>(number) + 1;
  unsigned major = 0, minor = 0;
  char text[64] = "";
  const int file = open(queue_file(static_cast<uint32_t>(number), "dev").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0 || std::sscanf(text, "%u:%u", &major, &minor) != 2)
    return ENODEV;
  close(file);
  unlink(kLoopNode);
  if (mknod(kLoopNode, S_IFBLK | 0600, makedev(major, minor)) != 0) return errno;
  loop = open(kLoopNode, O_RDWR | O_CLOEXEC);
  const int backing = open(kDiskFile, O_RDWR | O_CLOEXEC);
  if (loop < 0 || backing < 0) return errno;
  loop_config config{};
  config.fd = static_cast<uint32_t>(backing);
  config.block_size = static_cast<uint32_t>(command.length);
  config.info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR;
  std::strncpy(reinterpret_cast<char*>(config.info.lo_file_name), "sisyfs", LO_NAME_SIZE - 1);
  if (ioctl(loop, LOOP_CONFIGURE, &config) != 0) return errno;
  close(backing);
  loop_info64 info{};
  if (ioctl(loop, LOOP_GET_STATUS64, &info) != 0) return errno;
  return (info.lo_flags & LO_FLAGS_DIRECT_IO) != 0 ? 0 : EOPNOTSUPP;
}

}  // namespace

void connect() {
  prctl(PR_SET_NAME, "sisyfs-agent");
  void* const at = mmap(nullptr, sizeof(HostChannel), PROT_READ | PROT_WRITE, MAP_SHARED, kHostChannelFd, 0);
  if (at == MAP_FAILED) _exit(1);
  channel = static_cast<HostChannel*>(at);
  close(kHostChannelFd);
  buffers[kCommands] = channel->commands.data;
  enter_own_root();
}

void ask(uint32_t, size_t bytes) {
  Lane& lane = channel->commands;
  lane.bytes = static_cast<uint32_t>(bytes);
  lane.turn.store(Turn::kHost, std::memory_order_release);
  ++channel->bell;
  futex(&channel->bell, FUTEX_WAKE, INT_MAX);
  while (lane.turn.load(std::memory_order_acquire) == Turn::kHost)
    futex(&lane.turn, FUTEX_WAIT, static_cast<uint32_t>(Turn::kHost));
}

[[noreturn]] void give_up(const char* what) {
  std::snprintf(channel->trouble, sizeof channel->trouble, "%s: %s", what, std::strerror(errno));
  power_off();
}

[[noreturn]] void power_off() { _exit(1); }

void print(const std::string& text) { put("/dev/kmsg", (text + "\n").c_str()); }

// The clock is that of the host.
int set_clock(uint64_t) { return 0; }

int use_flash() { return ENODEV; }
int attach_flash(const std::string&) { return 0; }
int detach_flash() { return 0; }

int load_module(const std::string&) { return ENOSYS; }

int plant(Plant) { return ENOSYS; }
bool is_forgotten(const Command&) { return false; }
void rewind_writeback() {}

// Other file systems of the host are not ours to write back; one of them may wait for this very checker.
void sync_all() {
  const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return;
  syncfs(root);
  close(root);
}

std::string device_name(uint32_t) { return kLoopNode; }

int make_disks(const Command& command) {
  if (command.number != 1) return EOPNOTSUPP;
  int error = EBUSY;
  // Somebody may take a device that was just added.
  for (int tries = 0; tries < 20 && error == EBUSY; ++tries) {
    if (loop >= 0) close(loop);
    error = add_loop(command);
  }
  if (error != 0) return error;
  const uint32_t number = channel->loop - 1;
  // Requests are small and stay apart: the checker decides about each of them.
  put(queue_file(number, "queue/max_sectors_kb").c_str(), "4");
  put(queue_file(number, "queue/nomerges").c_str(), "2");
  put(queue_file(number, "queue/read_ahead_kb").c_str(), "0");
  put(queue_file(number, "queue/scheduler").c_str(), "none");
  put(queue_file(number, "queue/wbt_lat_usec").c_str(), "0");
  inflight = open(queue_file(number, "inflight").c_str(), O_RDONLY | O_CLOEXEC);
  return inflight < 0 ? errno : 0;
}

int flush_disk() { return of(fsync(loop)); }

void forget_pages() {
  if (loop >= 0) ioctl(loop, BLKFLSBUF);
}

void await_disks() {
  if (inflight < 0) return;
  for (;;) {
    char text[64] = "";
    unsigned reads = 0, writes = 0;
    if (pread(inflight, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%u %u", &reads, &writes) != 2 ||
        reads + writes == 0)
      return;
    const timespec slice{0, 20'000};
    nanosleep(&slice, nullptr);
  }
}

void lose_disks() {}

}  // namespace sisyfs::guest
