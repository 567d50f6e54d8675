#include "adapters/guest/guest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "adapters/guest/guest_files.h"
#include "adapters/guest/initrd.h"
#include "adapters/guest/kernel_program.h"
#include "adapters/guest/launcher.h"
#include "adapters/guest/open_file.h"

namespace sisyfs {

using guest::Channel;
using guest::Command;
using guest::kBufferBytes;
using guest::Turn;

namespace {

constexpr int kShimFd = 59;

Error cannot_start(const std::string& what) {
  return system_error(fmt::format("cannot start a guest kernel: {}: {}", what, std::strerror(errno)));
}

Result<std::string> file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  if (!(out << file.rdbuf())) return system_error("cannot read " + path);
  return out.str();
}

std::string name_of_module(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The files of these modules and of those that they need, in the order in which they are loaded. A module
// that is not there is built into the kernel, or is missed when it is used.
Result<std::vector<std::string>> module_files(const GuestKernel& kernel) {
  const Result<std::string> text = file_content(kernel.modules + "/modules.dep");
  if (!text) return text.error();
  std::map<std::string, std::pair<std::string, std::vector<std::string>>> all;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    std::istringstream words(line.substr(colon + 1));
    auto& [file, needs] = all[name_of_module(line.substr(0, colon))];
    file = line.substr(0, colon);
    needs.assign(std::istream_iterator<std::string>(words), {});
  }
  std::vector<std::string> out;
  const auto add = [&](const std::string& file) {
    if (std::find(out.begin(), out.end(), file) == out.end()) out.push_back(file);
  };
  for (const std::string& name : kernel.to_load) {
    const auto found = all.find(name);
    if (found == all.end()) continue;
    // depmod lists the needed ones with the deepest last.
    const std::vector<std::string>& needs = found->second.second;
    for (size_t i = needs.size(); i-- > 0;) add(needs[i]);
    add(found->second.first);
  }
  return out;
}

long futex(std::atomic<Turn>& word, int op, Turn value, const timespec* timeout) {
  return syscall(SYS_futex, &word, op, static_cast<uint32_t>(value), timeout, nullptr, 0);
}

}  // namespace

Result<GuestKernel> GuestKernel::find(const std::string& program) {
  GuestKernel kernel;
  kernel.program = program;
  if (Status s = check_kernel_program(program); !s) return s.error();
  kernel.modules = modules_of(program);
  return kernel;
}

Result<std::unique_ptr<Guest>> Guest::boot(const GuestKernel& kernel, const Geometry& disks) {
  Initrd root;
  for (const char* folder : {"dev", "proc", "sys", "mnt", "modules", "tmp"}) root.add_directory(folder);
  root.add_file("init", guest_agent());
  std::vector<std::string> inside;
  if (!kernel.modules.empty()) {
    const Result<std::vector<std::string>> files = module_files(kernel);
    if (!files) return files.error();
    for (const std::string& file : *files) {
      const Result<std::string> content = file_content(kernel.modules + "/" + file);
      if (!content) return content.error();
      inside.push_back("modules/" + std::filesystem::path(file).filename().string());
      root.add_file(inside.back(), std::as_bytes(std::span(*content)));
    }
  }
  std::unique_ptr<Guest> guest(new Guest);
  const std::vector<std::byte> initrd = root.finish();
  if (Status s = guest->start(kernel, disks, initrd); !s) return s.error();
  const auto refused = [&](const std::string& what, const Reply& reply) -> Error {
    return system_error(fmt::format("the guest kernel {}: {}{}", what,
                                    reply.alive ? std::strerror(reply.error) : guest->trouble().c_str(),
                                    "\n" + guest->take_printed()));
  };
  if (!guest->wait()) return refused("does not start", {.alive = false});
  for (const std::string& file : inside) {
    const Reply reply = guest->run({.what = guest::Do::kModule}, {"/" + file, "", ""});
    if (!reply.alive || reply.error != 0) return refused("does not take the module " + file, reply);
  }
  Command make{.what = guest::Do::kDisks, .number = disks.disks};
  make.offset = disks.blocks_per_disk() * disks.block_size;
  make.length = disks.block_size;
  if (disks.is_flash()) make = {.what = guest::Do::kFlash};
  const Reply made = guest->run(make);
  if (made.alive && made.error == ENODEV && disks.is_flash())
    return bad_input(fmt::format(
        "the kernel {} has no flash: it needs CONFIG_MTD_MTDRAM and CONFIG_JFFS2_FS, and for UBIFS "
        "CONFIG_MTD_UBI and CONFIG_UBIFS_FS",
        kernel.program));
  if (!made.alive || made.error != 0)
    return refused(disks.is_flash() ? "has no flash" : "has no disks (nbd)", made);
  const Reply release = guest->run({.what = guest::Do::kRelease});
  if (!release.alive || release.error != 0) return refused("has no release", release);
  guest->release_.assign(reinterpret_cast<const char*>(release.bytes.data()), release.bytes.size());
  return guest;
}

Status Guest::start(const GuestKernel& kernel, const Geometry& disks, std::span<const std::byte> initrd) {
  channel_fd_ = memfd_create("channel", MFD_CLOEXEC);
  if (channel_fd_ < 0 || ftruncate(channel_fd_, sizeof(Channel)) != 0) return cannot_start("shared memory");
  void* const at = mmap(nullptr, sizeof(Channel), PROT_READ | PROT_WRITE, MAP_SHARED, channel_fd_, 0);
  if (at == MAP_FAILED) return cannot_start("shared memory");
  channel_ = static_cast<Channel*>(at);
  const OpenFile shim(memory_file("shim", guest_shim())), root(memory_file("initrd", initrd)),
      null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (shim.get() < 0 || root.get() < 0 || null.get() < 0) return cannot_start("memory");
  LaunchOrder order;
  order.program = kernel.program;
  order.cpu = cpu_ = kernel.cpu;
  patience_ = kernel.patience;
  order.descriptors = {{channel_fd_, guest::kChannelFd},
                       {null.get(), guest::kLineFd},
                       {null.get(), guest::kConsoleFd},
                       {root.get(), guest::kInitrdFd},
                       {shim.get(), kShimFd}};
  order.arguments = {"linux",
                     fmt::format("mem={}M", kernel.memory_mib),
                     fmt::format("initrd=/proc/self/fd/{}", guest::kInitrdFd),
                     "rdinit=/init",
                     "con=null",
                     fmt::format("con0=null,fd:{}", guest::kConsoleFd),
                     fmt::format("ssl0=null,fd:{}", guest::kLineFd),
                     "ssl=null",
                     "mconsole=notify:/dev/null",
                     "lpj=1000000",
                     "loglevel=5",
                     "panic=-1",
                     "oops=panic"};
  if (disks.is_flash()) {
    order.arguments.push_back(
        fmt::format("mtdram.total_size={}", disks.blocks_per_disk() * disks.block_size / 1024));
    order.arguments.push_back(
        fmt::format("mtdram.erase_size={}", disks.erase_blocks * disks.block_size / 1024));
  }
  order.environment = {fmt::format("LD_PRELOAD=/proc/self/fd/{}", kShimFd), "HOME=/nonexistent", "PATH=/",
                       "TMPDIR=/nonexistent"};
  process_ = launch(order);
  if (process_ < 0) return cannot_start(kernel.program);
  return {};
}

Guest::~Guest() {
  end();
  if (channel_ != nullptr) munmap(channel_, sizeof *channel_);
  if (channel_fd_ >= 0) close(channel_fd_);
}

void Guest::end() {
  if (process_ < 0) return;
  kill(-process_, SIGKILL);  // its session, with the kernel's helpers
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

bool Guest::wait() {
  if (!alive()) return false;
  const auto begun = std::chrono::steady_clock::now();
  while (channel_->turn.load(std::memory_order_acquire) != Turn::kHost) {
    const timespec slice{0, 100'000'000};
    futex(channel_->turn, FUTEX_WAIT, Turn::kGuest, &slice);
    if (channel_->turn.load(std::memory_order_acquire) == Turn::kHost) break;
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      ended_ = true;
      trouble_ = "the guest kernel has ended";
      return false;
    }
    if (std::chrono::steady_clock::now() - begun > patience_) {
      trouble_ = "the guest kernel does not answer";
      end();
      return false;
    }
  }
  if (channel_->trouble.load() == guest::Trouble::kStuck) {
    trouble_ = "the guest kernel waits for something that does not come";
    end();
    return false;
  }
  return true;
}

void Guest::answer(uint32_t bytes) {
  channel_->bytes.store(bytes, std::memory_order_relaxed);
  channel_->turn.store(Turn::kGuest, std::memory_order_release);
  futex(channel_->turn, FUTEX_WAKE, static_cast<Turn>(INT_MAX), nullptr);
}

Guest::Reply Guest::run(Command command, const Texts& texts, std::span<const std::byte> bytes) {
  share_core(cpu_);
  if (!wait()) return {.alive = false};
  const std::span<std::byte> buffer(channel_->data, kBufferBytes);
  answer(put_command(command, texts, bytes, buffer));
  for (;;) {
    if (!wait()) return {.alive = false};
    const uint32_t size = serve(channel_->bytes.load(std::memory_order_relaxed), buffer);
    if (size == 0) return reply_in(buffer);
    answer(size);
  }
}

std::string Guest::take_printed() {
  const uint64_t end = channel_->printed.load(std::memory_order_acquire);
  seen_ = std::max(seen_, end - std::min<uint64_t>(end, Channel::kConsoleBytes));
  std::string out;
  for (; seen_ < end; ++seen_) out += channel_->console[seen_ % Channel::kConsoleBytes];
  return out;
}

}  // namespace sisyfs
