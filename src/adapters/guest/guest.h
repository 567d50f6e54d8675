// Guest: a booted kernel (user-mode Linux) with an agent in it that does what it is told.
//
// The guest is a child process that needs no rights. It is started with a clock of its own that stands still
// while the guest works and jumps while it waits, so that the same commands do the same each time
// (inside/shim.cc, docs/design/guests.md). Between two commands, and while a disk request is answered, the
// guest stands still. It writes no file, and it dies with this process.
//
//   Result<std::unique_ptr<Guest>> booted = Guest::boot(kernel, disks);
//   Guest& guest = **booted;
//   guest.attach(&server);                       // answers the requests to the disks
//   const Guest::Reply reply = guest.run({.what = guest::Do::kMount}, {"ext4", "", ""});
//   if (!reply.alive) use(guest.take_printed());  // it has died or hangs: only the destructor is left
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/guest/kernel_machine.h"
#include "base/result.h"
#include "disk/geometry.h"

namespace sisyfs {

// A kernel for guests, and where its parts are.
struct GuestKernel {
  std::string program;               // user-mode Linux
  std::string modules;               // the folder of its modules
  std::vector<std::string> to_load;  // these modules, by name, with those that they need
  uint32_t memory_mib = 128;
  int cpu = -1;  // that it is pinned to; -1: any
  // A guest that works for so long and asks for nothing does not come back. Nothing in it waits for a real
  // clock, so this is a bound on work.
  std::chrono::seconds patience{60};

  // The packaged kernel, or the one with this path.
  static Result<GuestKernel> find(const std::string& program);
};

class Guest : public KernelMachine {
 public:
  // Starts it and waits until the agent is there.
  static Result<std::unique_ptr<Guest>> boot(const GuestKernel& kernel, const Geometry& disks);
  ~Guest() override;
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  Reply run(guest::Command command, const Texts& texts = {}, std::span<const std::byte> bytes = {}) override;
  std::string take_printed() override;
  pid_t process() const { return process_; }

 private:
  Guest() = default;
  Status start(const GuestKernel& kernel, const Geometry& disks, std::span<const std::byte> initrd);
  // Waits until the guest wants something. False if it has ended or does not react.
  bool wait();
  void answer(uint32_t bytes);
  void end();

  pid_t process_ = -1;
  int cpu_ = -1;
  std::chrono::seconds patience_{};
  guest::Channel* channel_ = nullptr;
  int channel_fd_ = -1;
  uint64_t seen_ = 0;  // of what was printed
};

}  // namespace sisyfs
