#include "adapters/guest/host_machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include "adapters/guest/guest_files.h"
#include "adapters/guest/launcher.h"
#include "adapters/guest/open_file.h"

namespace sisyfs {

using guest::HostChannel;
using guest::kBufferBytes;
using guest::Lane;
using guest::Turn;

namespace {

using Clock = std::chrono::steady_clock;

long futex(void* word, int op, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, word, op, value, timeout, nullptr, 0);
}

Error cannot_use(const std::string& what) {
  return system_error(fmt::format("cannot use the kernel of the host: {}: {}", what, std::strerror(errno)));
}

// /proc/filesystems has a line for each type, with the type as its last word.
bool has_type(const std::string& type) {
  std::ifstream file("/proc/filesystems");
  for (std::string line; std::getline(file, line);)
    if (line.substr(line.find_last_of("\t ") + 1) == type) return true;
  return false;
}

void load_module(const std::string& name) {
  for (const char* program : {"/sbin/modprobe", "/usr/sbin/modprobe"}) {
    if (access(program, X_OK) != 0) continue;
    LaunchOrder order;
    order.program = program;
    order.arguments = {"modprobe", "-q", name};
    order.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    const pid_t child = launch(order);
    while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return;
  }
}

Status can_open(const char* device, const char* module, const char* what) {
  int fd = open(device, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    load_module(module);
    fd = open(device, O_RDWR | O_CLOEXEC);
  }
  if (fd < 0)
    return bad_input(fmt::format(
        "--host needs {}, and {} cannot be opened here ({}): leave out --host to check in a guest", what,
        device, std::strerror(errno)));
  close(fd);
  return {};
}

bool is_gone(pid_t child, int* status) { return waitpid(child, status, WNOHANG) != 0; }

// Waits for a child. False: it is still there.
bool await(pid_t child, std::chrono::seconds patience, int* status) {
  const auto end = Clock::now() + patience;
  for (auto pause = std::chrono::microseconds(100); !is_gone(child, status);) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  }
  return true;
}

}  // namespace

Status HostMachine::possible(const std::string& type) {
  if (geteuid() != 0)
    return bad_input(
        "--host mounts file systems with the running kernel, which needs root: run it as root, or leave out "
        "--host to check in a guest");
  if (Status s = can_open("/dev/fuse", "fuse", "FUSE"); !s) return s;
  if (Status s = can_open("/dev/loop-control", "loop", "loop devices"); !s) return s;
  if (!has_type(type)) load_module("fs-" + type);
  if (has_type(type)) return {};
  utsname names{};
  uname(&names);
  return bad_input(fmt::format(
      "the running kernel, Linux {}, has no file system {}: leave out --host to check that of the guest",
      names.release, type));
}

Result<std::unique_ptr<HostMachine>> HostMachine::start(const HostKernel& kernel, const Geometry& disks) {
  std::unique_ptr<HostMachine> machine(new HostMachine);
  if (Status s = machine->launch_both(kernel, disks); !s) return s.error();
  const auto refused = [&](const std::string& what, int error) -> Error {
    const std::string& trouble = machine->trouble_;
    return system_error(fmt::format("cannot use the kernel of the host: {}: {}", what,
                                    trouble.empty() ? std::strerror(error) : trouble));
  };
  if (!machine->wait()) return refused("its agent does not start", 0);
  guest::Command make{.what = guest::Do::kDisks, .number = disks.disks};
  make.offset = disks.blocks_per_disk() * disks.block_size;
  make.length = disks.block_size;
  if (const Reply made = machine->run(make); !made.alive || made.error != 0)
    return refused("there is no loop device on a FUSE file", made.error);
  const Reply release = machine->run({.what = guest::Do::kRelease});
  if (!release.alive || release.error != 0) return refused("it has no release", release.error);
  machine->release_.assign(reinterpret_cast<const char*>(release.bytes.data()), release.bytes.size());
  return machine;
}

Status HostMachine::launch_both(const HostKernel& kernel, const Geometry& disks) {
  channel_fd_ = memfd_create("channel", MFD_CLOEXEC);
  if (channel_fd_ < 0 || ftruncate(channel_fd_, sizeof(HostChannel)) != 0) return cannot_use("shared memory");
  void* const at = mmap(nullptr, sizeof(HostChannel), PROT_READ | PROT_WRITE, MAP_SHARED, channel_fd_, 0);
  if (at == MAP_FAILED) return cannot_use("shared memory");
  channel_ = static_cast<HostChannel*>(at);
  channel_->disk_bytes = disks.blocks_per_disk() * disks.block_size;
  log_fd_ = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (log_fd_ >= 0) lseek(log_fd_, 0, SEEK_END);
  const OpenFile agent(memory_file("agent", host_agent())), server(memory_file("disk", host_disk())),
      fuse(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (agent.get() < 0 || server.get() < 0) return cannot_use("memory");
  if (fuse.get() < 0) return cannot_use("/dev/fuse");
  cpu_ = kernel.cpu;
  patience_ = kernel.patience;
  LaunchOrder order;
  order.program = fmt::format("/proc/self/fd/{}", guest::kHostProgramFd);
  order.cpu = kernel.cpu;
  order.environment = {"PATH=/"};
  const auto start = [&](const char* name, int program) {
    order.arguments = {name};
    order.descriptors = {
        {program, guest::kHostProgramFd}, {channel_fd_, guest::kHostChannelFd}, {fuse.get(), guest::kFuseFd}};
    return launch(order);
  };
  disk_server_ = start("sisyfs-disk", server.get());
  if (disk_server_ < 0) return cannot_use("its disk server");
  agent_ = start("sisyfs-agent", agent.get());
  if (agent_ < 0) return cannot_use("its agent");
  return {};
}

HostMachine::~HostMachine() {
  end();
  if (channel_ != nullptr) munmap(channel_, sizeof *channel_);
  if (channel_fd_ >= 0) close(channel_fd_);
  if (log_fd_ >= 0) close(log_fd_);
}

std::string HostMachine::device() const {
  return channel_->loop == 0 ? std::string() : fmt::format("loop{}", channel_->loop - 1);
}

// What is still mounted is unmounted when the agent is gone. What the kernel then writes goes nowhere.
void HostMachine::end() {
  if (agent_ > 0) kill(agent_, SIGKILL);
  if (disk_server_ > 0) kill(disk_server_, SIGHUP);
  constexpr std::chrono::seconds kMostLettingGo{10};
  // An agent in a system call that waits for its disk gets an error once nobody serves that.
  int status = 0;
  if (agent_ > 0 && !await(agent_, kMostLettingGo, &status) && disk_server_ > 0) kill(disk_server_, SIGKILL);
  if (disk_server_ > 0 && !await(disk_server_, kMostLettingGo, &server_status_)) {
    kill(disk_server_, SIGKILL);
    (void)await(disk_server_, kMostLettingGo, &server_status_);
  }
  // Its last act would have been to remove the device.
  if (!WIFEXITED(server_status_)) remove_loop();
  agent_ = disk_server_ = -1;
}

void HostMachine::remove_loop() {
  if (channel_ == nullptr || channel_->loop == 0) return;
  const OpenFile control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  for (int tries = 0; tries < 200; ++tries) {
    if (ioctl(control.get(), LOOP_CTL_REMOVE, channel_->loop - 1) == 0 || errno != EBUSY) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  channel_->loop = 0;
}

void HostMachine::give(Lane& lane, uint32_t bytes) {
  lane.bytes.store(bytes, std::memory_order_relaxed);
  lane.turn.store(Turn::kGuest, std::memory_order_release);
  futex(&lane.turn, FUTEX_WAKE, INT_MAX, nullptr);
}

bool HostMachine::has_ended_child(pid_t& child, const char* what) {
  if (child > 0 && !is_gone(child, child == disk_server_ ? &server_status_ : nullptr)) return false;
  child = -1;
  ended_ = true;
  channel_->trouble[sizeof channel_->trouble - 1] = '\0';
  trouble_ = channel_->trouble[0] != '\0' ? channel_->trouble : what;
  end();
  return true;
}

bool HostMachine::wait() {
  if (!alive()) return false;
  const auto begun = Clock::now();
  for (;;) {
    const uint32_t bell = channel_->bell.load(std::memory_order_acquire);
    if (channel_->unserved) {
      lost_ = true;
      trouble_ = fmt::format("the checker did not answer its disk for {} s", guest::kMostUnserved);
      end();
      return false;
    }
    if (channel_->disk.turn.load(std::memory_order_acquire) == Turn::kHost) {
      const std::span<std::byte> buffer(channel_->disk.data, kBufferBytes);
      give(channel_->disk, serve(channel_->disk.bytes.load(std::memory_order_relaxed), buffer));
      continue;
    }
    if (channel_->commands.turn.load(std::memory_order_acquire) == Turn::kHost) return true;
    const timespec slice{0, 100'000'000};
    if (futex(&channel_->bell, FUTEX_WAIT, bell, &slice) == 0 || errno != ETIMEDOUT) continue;
    if (has_ended_child(agent_, "the kernel of the host has ended the process that made the call") ||
        (lost_ = has_ended_child(disk_server_, "the process that serves the disk has ended")))
      return false;
    if (Clock::now() - begun > patience_) {
      trouble_ = "the kernel of the host does not return from the call";
      end();
      return false;
    }
  }
}

KernelMachine::Reply HostMachine::run(guest::Command command, const Texts& texts,
                                      std::span<const std::byte> bytes) {
  share_core(cpu_);
  if (!wait()) return {.alive = false};
  const std::span<std::byte> buffer(channel_->commands.data, kBufferBytes);
  give(channel_->commands, put_command(command, texts, bytes, buffer));
  if (!wait()) return {.alive = false};
  return reply_in(buffer);
}

// Each read gives one record: "6,339,5140900,-;text", and continuation lines that begin with a blank.
std::string HostMachine::take_printed() {
  std::string out;
  if (log_fd_ < 0) return out;
  const std::string own = device();
  std::array<char, 8192> record;
  for (;;) {
    const ssize_t count = read(log_fd_, record.data(), record.size());
    if (count < 0 && errno == EPIPE) continue;  // some were overwritten before they were read
    if (count <= 0) return out;
    std::string_view text(record.data(), static_cast<size_t>(count));
    unsigned priority = 0;
    for (const char c : text.substr(0, text.find(',')))
      priority = priority * 10 + static_cast<unsigned>(c - '0');
    const size_t begin = text.find(';');
    if (priority / 8 != 0 || begin == text.npos) continue;  // not of the kernel
    text = text.substr(begin + 1);
    text = text.substr(0, text.find('\n'));
    if (is_about(text, own)) out.append(text) += '\n';
  }
}

bool is_about(std::string_view line, std::string_view device) {
  for (size_t at = 0; !device.empty() && (at = line.find(device, at)) != line.npos; at += device.size()) {
    const size_t end = at + device.size();
    if (end == line.size() || line[end] < '0' || line[end] > '9') return true;
  }
  static constexpr std::string_view kOfDisks[] = {
      "EXT2-fs", "EXT3-fs", "EXT4-fs", "JBD2",     "Aborting journal", "XFS",       "BTRFS",
      "F2FS-fs", "FAT-fs",  "NILFS",   "REISERFS", "MINIX-fs",         "minix",     "UDF-fs",
      "hfsplus", "JFS",     "jfs",     "ERROR: (", "Buffer I/O",       "I/O error", "blk_update_request",
      "loop",    "block "};
  return std::none_of(std::begin(kOfDisks), std::end(kOfDisks),
                      [&](std::string_view begin) { return line.starts_with(begin); });
}

}  // namespace sisyfs
