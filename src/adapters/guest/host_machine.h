// HostMachine: the kernel that is running, as a KernelMachine. Needs root.
//
// Two processes belong to it. The agent (inside/host_agent.cc) mounts and makes system calls in a mount
// namespace of its own. Its disk is a loop device on a FUSE file, which the other process serves
// (inside/host_disk.cc) by asking this one. The disk server mounts nothing and can always be ended. All
// mounts and the loop device go with the agent, which dies with this process, however that ends; the disk
// server lives on until the kernel has let go of the disk.
//
//   if (Status s = HostMachine::possible("ext4"); !s) return s.error();
//   Result<std::unique_ptr<HostMachine>> started = HostMachine::start({}, disks);
//   (*started)->attach(&server);
//   (*started)->run({.what = guest::Do::kMount}, {"ext4", "noatime", ""});
//
// The kernel has the clock and the random numbers of the host, so the same calls write other bytes each time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "adapters/guest/host_wire.h"
#include "adapters/guest/kernel_machine.h"
#include "base/result.h"
#include "disk/geometry.h"

namespace sisyfs {

struct HostKernel {
  int cpu = -1;                       // that the two processes and this one share; -1: any
  std::chrono::seconds patience{60};  // an agent that does not answer for so long is given up
};

class HostMachine : public KernelMachine {
 public:
  // Whether a file system of this type can be mounted: bad input that says what is missing, if not. Loads its
  // module.
  static Status possible(const std::string& type);
  // The disk is new each time. One disk is possible.
  static Result<std::unique_ptr<HostMachine>> start(const HostKernel& kernel, const Geometry& disks);
  ~HostMachine() override;
  HostMachine(const HostMachine&) = delete;
  HostMachine& operator=(const HostMachine&) = delete;

  Reply run(guest::Command command, const Texts& texts = {}, std::span<const std::byte> bytes = {}) override;
  // Lines of the kernel's log that are about this disk, or about no disk.
  std::string take_printed() override;

  pid_t agent() const { return agent_; }
  pid_t disk_server() const { return disk_server_; }
  // "loop7"
  std::string device() const;

 private:
  HostMachine() = default;
  Status launch_both(const HostKernel& kernel, const Geometry& disks);
  // Answers requests to the disk until the agent wants something. False if there is no agent any more.
  bool wait();
  bool has_ended_child(pid_t& child, const char* what);
  void give(guest::Lane& lane, uint32_t bytes);
  void end();
  void remove_loop();

  pid_t agent_ = -1, disk_server_ = -1;
  int cpu_ = -1;
  int server_status_ = 0;  // of wait(2)
  std::chrono::seconds patience_{};
  guest::HostChannel* channel_ = nullptr;
  int channel_fd_ = -1, log_fd_ = -1;
};

// Whether a line of the kernel's log may be about this device: it names it, or is not about a disk at all.
bool is_about(std::string_view line, std::string_view device);

}  // namespace sisyfs
