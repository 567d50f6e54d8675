// A guest kernel with a disk in memory, for tests that make calls in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/guest/guest.h"
#include "adapters/kernel/file_systems.h"
#include "adapters/kernel/tool.h"

namespace sisyfs {

inline constexpr const char* kPackagedGuest = "/usr/bin/linux.uml";

// Why there can be no guest here; empty: there can be.
inline std::string why_no_guest(const FileSystem* fs = nullptr) {
  if (find_tool(kPackagedGuest).empty()) return "user-mode Linux is not installed (package user-mode-linux)";
  if (fs != nullptr && !fs->mkfs.empty() && find_tool(words_of(fs->mkfs).front()).empty())
    return words_of(fs->mkfs).front() + " is not installed (package " + std::string(fs->package) + ")";
  return {};
}

// A disk with a cache that a power cut empties. It may lie about what is durable.
class ToyDisk : public ServesDisks {
 public:
  bool ignores_flush = false, ignores_fua = false;
  std::string requests;  // all that change it, as text

  explicit ToyDisk(std::span<const std::byte> content)
      : now_(content.begin(), content.end()), durable_(now_) {}
  void cut_power() {
    now_ = durable_;
    cached_.clear();
  }

  int read(uint32_t, uint64_t offset, std::span<std::byte> out) override {
    if (offset > now_.size() || out.size() > now_.size() - offset) return EIO;
    std::memcpy(out.data(), now_.data() + offset, out.size());
    return 0;
  }
  int write(uint32_t, uint64_t offset, std::span<const std::byte> bytes, bool fua) override {
    requests += (fua ? "F" : "W") + std::to_string(offset) + "+" + std::to_string(bytes.size()) + " ";
    if (offset > now_.size() || bytes.size() > now_.size() - offset) return EIO;
    std::memcpy(now_.data() + offset, bytes.data(), bytes.size());
    if (fua && !ignores_fua)
      std::memcpy(durable_.data() + offset, bytes.data(), bytes.size());
    else
      cached_[offset] = bytes.size();
    return 0;
  }
  int flush(uint32_t) override {
    requests += "flush ";
    if (ignores_flush) return 0;
    for (const auto& [offset, length] : cached_)
      std::memcpy(durable_.data() + offset, now_.data() + offset, length);
    cached_.clear();
    return 0;
  }
  int discard(uint32_t, uint64_t offset, uint64_t length, bool) override {
    requests += "D" + std::to_string(offset) + "+" + std::to_string(length) + " ";
    if (offset > now_.size() || length > now_.size() - offset) return EIO;
    std::memset(now_.data() + offset, 0, length);
    cached_[offset] = std::max(cached_[offset], length);
    return 0;
  }

 private:
  std::vector<std::byte> now_, durable_;
  std::map<uint64_t, uint64_t> cached_;
};

// A kernel and a disk with a new file system. Anything that goes wrong is a failure of the test.
class MachineWithDisk {
 public:
  ToyDisk& disk() { return *disk_; }

  // Each gives 0, an errno, or -1 if the guest is dead.
  int mount(uint32_t flags = 0) {
    if (fs_.rare.below.type.empty())
      return error(machine().run({.what = guest::Do::kMount, .number = flags}, {fs_.type, options(), ""}));
    if (const int failed = error(machine().run({.what = guest::Do::kMountBelow, .number = flags},
                                               {fs_.rare.below.type, fs_.rare.below.mount, ""})))
      return failed;
    const std::string layers = "lowerdir=/below/lower,upperdir=/below/upper,workdir=/below/work," + options();
    return error(machine().run({.what = guest::Do::kMount, .number = flags}, {fs_.type, layers, fs_.type}));
  }
  // The layers of a file system that lies over another one, with a file in the lower one.
  void make_layers() {
    EXPECT_EQ(
        error(machine().run({.what = guest::Do::kMount}, {fs_.rare.below.type, fs_.rare.below.mount, ""})),
        0);
    EXPECT_EQ(error(machine().run({.what = guest::Do::kMakeTree}, {"lower:upper:work", "", ""})), 0);
    EXPECT_EQ(create("/lower/low"), 0);
    EXPECT_EQ(write("/lower/low", "from below"), 0);
    EXPECT_EQ(unmount(), 0);
  }
  int unmount(bool dropped = false) {
    return error(machine().run({.what = guest::Do::kUnmount, .number = dropped ? 1u : 0u}));
  }
  int set_clock(uint64_t seconds) {
    return error(machine().run({.what = guest::Do::kClock, .clock = seconds}));
  }
  int plant(guest::Plant what) {
    return error(machine().run({.what = guest::Do::kPlant, .number = static_cast<uint32_t>(what)}));
  }
  int call(guest::Call call, const std::string& path = "", const std::string& other = "",
           uint32_t flags = 0) {
    return error(
        machine().run({.what = guest::Do::kCall, .number = number(call), .flags = flags}, {path, other, ""}));
  }
  int create(const std::string& path) { return call(guest::Call::kCreate, path, "", 0644); }
  int write(const std::string& path, const std::string& data) {
    guest::Command command{.what = guest::Do::kCall, .number = number(guest::Call::kWrite)};
    command.length = data.size();
    return error(machine().run(command, {path, "", ""}, std::as_bytes(std::span(data))));
  }
  // What is in a file, or "(errno 2)".
  std::string read(const std::string& path) {
    guest::Command command{.what = guest::Do::kCall, .number = number(guest::Call::kRead)};
    command.length = 1 << 16;
    const KernelMachine::Reply reply = machine().run(command, {path, "", ""});
    if (error(reply) != 0) return "(errno " + std::to_string(error(reply)) + ")";
    return {reinterpret_cast<const char*>(reply.bytes.data()), reply.bytes.size()};
  }
  // All names and sizes, "/a 5 /d/ ", or "(errno 5)".
  std::string walk() {
    std::string out;
    for (bool more = true, first = true; more; first = false) {
      const KernelMachine::Reply reply = machine().run({.what = guest::Do::kWalk, .number = first ? 0u : 1u});
      if (error(reply) != 0) return "(errno " + std::to_string(error(reply)) + ")";
      out.append(reinterpret_cast<const char*>(reply.bytes.data()), reply.bytes.size());
      more = reply.more;
    }
    std::string text;
    for (size_t at = 0; at + sizeof(guest::WalkEntry) <= out.size();) {
      guest::WalkEntry entry;
      std::memcpy(&entry, out.data() + at, sizeof entry);
      at += sizeof entry;
      if (entry.error != 0) return "(errno " + std::to_string(entry.error) + ")";
      text += out.substr(at, entry.path_bytes) +
              (S_ISDIR(entry.mode) ? "/ " : " " + std::to_string(entry.size) + " ");
      at += entry.path_bytes + entry.target_bytes + entry.xattr_bytes + entry.size;
    }
    return text;
  }
  uint64_t free_memory() { return machine().run({.what = guest::Do::kMemory}).number; }

 protected:
  explicit MachineWithDisk(const FileSystem& fs) : fs_(fs) { make_disk(); }
  ~MachineWithDisk() = default;
  virtual KernelMachine& machine() = 0;
  Geometry geometry() const {
    return {.block_size = fs_.block, .block_count = BlockCount(fs_.kibibytes * 1024 / fs_.block)};
  }

  const FileSystem& fs_;
  std::unique_ptr<ToyDisk> disk_;

  static uint32_t number(guest::Call call) { return static_cast<uint32_t>(call); }
  static int error(const KernelMachine::Reply& reply) { return reply.alive ? reply.error : -1; }

 private:
  // Without what is a flag of the system call.
  std::string options() const {
    std::string out;
    for (const std::string& word : words_of(fs_.mount, ','))
      if (word != "noatime") out += (out.empty() ? "" : ",") + word;
    return out;
  }
  void make_disk() {
    const Result<MemoryFile> image = MemoryFile::make(fs_.kibibytes * 1024);
    if (!image) {
      ADD_FAILURE() << image.error().message;
      return;
    }
    if (fs_.rare.make != nullptr) {
      fs_.rare.make(image->bytes());
      disk_ = std::make_unique<ToyDisk>(image->bytes());
      return;
    }
    std::vector<std::string> words = words_of(fs_.mkfs);
    words.emplace_back(kToolImage);
    const Result<ToolRun> run = run_tool(words, *image, std::chrono::seconds(60));
    if (!run || !run->ended || run->exit != 0) ADD_FAILURE() << words.front() << " failed";
    disk_ = std::make_unique<ToyDisk>(image->bytes());
  }
};

class GuestWithDisk : public MachineWithDisk {
 public:
  explicit GuestWithDisk(const FileSystem& fs, std::chrono::seconds patience = std::chrono::seconds(60))
      : MachineWithDisk(fs) {
    Result<GuestKernel> kernel = GuestKernel::find(kPackagedGuest);
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      return;
    }
    kernel->to_load = fs.modules;
    kernel->to_load.insert(kernel->to_load.begin(), "nbd");
    kernel->patience = patience;
    auto booted = Guest::boot(*kernel, geometry());
    if (!booted) {
      ADD_FAILURE() << booted.error().message;
      return;
    }
    guest_ = *std::move(booted);
    guest_->attach(disk_.get());
  }
  bool booted() const { return guest_ != nullptr; }
  Guest& guest() { return *guest_; }

 private:
  KernelMachine& machine() override { return *guest_; }

  std::unique_ptr<Guest> guest_;
};

}  // namespace sisyfs
