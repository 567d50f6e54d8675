#include "adapters/kernel/kernel_setup.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "adapters/kernel/tool.h"

namespace sisyfs {

namespace {

// The cores that this process may run on, in turn.
int next_core() {
  static std::atomic<unsigned> count{0};
  static const std::vector<int> cores = [] {
    std::vector<int> all;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return all;
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(static_cast<unsigned>(core), &set)) all.push_back(core);
    return all;
  }();
  return cores.empty() ? -1 : cores[count++ % cores.size()];
}

Status run_mkfs(const std::vector<std::string>& mkfs, const MemoryFile& file) {
  std::vector<std::string> words = mkfs;
  words.emplace_back(kToolImage);
  const Result<ToolRun> run = run_tool(words, file, std::chrono::seconds(60));
  if (!run) return run.error();
  if (run->ended && run->exit == 0) return {};
  return bad_input(fmt::format("{} {}: {}", mkfs.front(),
                               run->ended ? fmt::format("answers {}", run->exit) : run->how, run->output));
}

}  // namespace

Result<Image> KernelSetup::made(const Image& blank) const {
  if (!start.content.empty()) {
    Image image(disk);
    for (uint64_t at = 0; at < start.content.size(); at += disk.block_size)
      image.write(BlockAddress(at / disk.block_size), std::span(start.content).subspan(at, disk.block_size));
    return image;
  }
  const uint64_t bytes = disk.blocks_per_disk() * disk.block_size;
  Result<MemoryFile> file = MemoryFile::make(bytes);
  if (!file) return file.error();
  blank.read(BlockAddress(0), file->bytes());
  if (fs.rare.make != nullptr) {
    fs.rare.make(file->bytes());
  } else if (Status s = run_mkfs(mkfs, *file); !s) {
    return s.error();
  }
  Image image = blank;
  std::vector<std::byte> before(disk.block_size);
  for (uint64_t at = 0; at < bytes; at += disk.block_size) {
    const BlockAddress address(at / disk.block_size);
    const auto now = file->bytes().subspan(at, disk.block_size);
    blank.read(address, before);
    if (std::memcmp(before.data(), now.data(), now.size()) != 0) image.write(address, now);
  }
  return image;
}

Result<Image> KernelSetup::formatted(const Image& blank,
                                     const std::function<Result<Image>(const Image&)>& settle) {
  const std::lock_guard made_once(formatting_);
  {
    const std::lock_guard lock(mutex_);
    if (formatted_ && *blank_ == blank) return *formatted_;
  }
  Result<Image> image = made(blank);
  if (!image) return image;
  Result<Image> settled = settle(*image);
  if (!settled) return settled.error();
  const std::lock_guard lock(mutex_);
  blank_ = blank;
  formatted_ = *settled;
  return settled;
}

bool KernelSetup::is_new(const Image& image) const {
  const std::lock_guard lock(mutex_);
  return formatted_ && *formatted_ == image;
}

std::optional<Image> KernelSetup::new_disk() const {
  const std::lock_guard lock(mutex_);
  return formatted_;
}

Result<std::unique_ptr<KernelMachine>> KernelSetup::boot() {
  if (host) {
    HostKernel pinned = *host;
    pinned.cpu = next_core();
    Result<std::unique_ptr<HostMachine>> started = HostMachine::start(pinned, disk);
    if (!started) return started.error();
    return std::unique_ptr<KernelMachine>(*std::move(started));
  }
  GuestKernel pinned = kernel;
  if (pinned.cpu < 0) pinned.cpu = next_core();
  const auto begun = std::chrono::steady_clock::now();
  Result<std::unique_ptr<Guest>> booted = Guest::boot(pinned, disk);
  const auto took = std::chrono::steady_clock::now() - begun;
  work.boot_us += static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  if (!booted) return booted.error();
  const std::lock_guard lock(mutex_);
  guests_.processes.push_back((*booted)->process());
  guests_.last_core = pinned.cpu;
  return std::unique_ptr<KernelMachine>(*std::move(booted));
}

BootedGuests KernelSetup::guests() const {
  const std::lock_guard lock(mutex_);
  return guests_;
}

void KernelSetup::refuse_start(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!refused_) refused_ = why;
}
std::optional<std::string> KernelSetup::refused_start() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

void KernelSetup::set_trouble(std::string text) {
  const std::lock_guard lock(mutex_);
  if (!trouble_) trouble_ = std::move(text);
}
std::optional<std::string> KernelSetup::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}
void KernelSetup::set_release(const std::string& release) {
  const std::lock_guard lock(mutex_);
  release_ = release;
}
std::string KernelSetup::release() const {
  const std::lock_guard lock(mutex_);
  return release_;
}

}  // namespace sisyfs
