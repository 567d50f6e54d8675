// The kernel of the host with a disk in memory, for tests that make calls in it as root.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "adapters/guest/host_machine.h"
#include "guest_for_test.h"

namespace sisyfs {

// Why this file system cannot be used on the host; empty: it can be.
inline std::string why_not_on_host(const FileSystem& fs) {
  if (const Status s = HostMachine::possible(std::string(fs.type)); !s) return s.error().message;
  if (find_tool(words_of(fs.mkfs).front()).empty())
    return words_of(fs.mkfs).front() + " is not installed (package " + std::string(fs.package) + ")";
  return {};
}

inline std::set<std::string> loop_devices() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block"))
    if (const std::string name = entry.path().filename(); name.starts_with("loop")) out.insert(name);
  return out;
}

class HostWithDisk : public MachineWithDisk {
 public:
  explicit HostWithDisk(const FileSystem& fs) : MachineWithDisk(fs) {
    auto started = HostMachine::start({.patience = std::chrono::seconds(20)}, geometry());
    if (!started) {
      ADD_FAILURE() << started.error().message;
      return;
    }
    host_ = *std::move(started);
    host_->attach(disk_.get());
  }
  bool started() const { return host_ != nullptr; }
  HostMachine& host() { return *host_; }
  void stop() { host_.reset(); }

 private:
  KernelMachine& machine() override { return *host_; }

  std::unique_ptr<HostMachine> host_;
};

}  // namespace sisyfs
