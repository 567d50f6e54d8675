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

#include "adapters/guest/wire.h"
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

// Answers the requests of a guest to its disks.
class ServesDisks {
 public:
  // Each gives 0 or an errno. Addresses are in bytes.
  virtual int read(uint32_t disk, uint64_t offset, std::span<std::byte> out) = 0;
  virtual int write(uint32_t disk, uint64_t offset, std::span<const std::byte> bytes, bool fua) = 0;
  virtual int flush(uint32_t disk) = 0;
  virtual int discard(uint32_t disk, uint64_t offset, uint64_t length, bool zeroes) = 0;

 protected:
  ~ServesDisks() = default;
};

class Guest {
 public:
  // Of a command.
  struct Reply {
    bool alive = true;  // false: the guest has ended, or does not answer; the rest says nothing
    int error = 0;
    uint64_t number = 0;
    std::span<const std::byte> bytes = {};  // until the next command
    bool more = false;
  };
  using Texts = std::array<std::string_view, 3>;

  // Starts it and waits until the agent is there.
  static Result<std::unique_ptr<Guest>> boot(const GuestKernel& kernel, const Geometry& disks);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  // Who answers; borrowed. Null: reads give zeros, and all else is forgotten.
  void attach(ServesDisks* server) { server_ = server; }

  Reply run(guest::Command command, const Texts& texts = {}, std::span<const std::byte> bytes = {});
  bool alive() const { return trouble_.empty(); }
  bool has_ended() const { return ended_; }  // not alive: it has ended by itself
  // Why it is not alive: "the guest kernel has ended", "the guest kernel does nothing any more".
  const std::string& trouble() const { return trouble_; }
  // What the kernel has printed since the last call.
  std::string take_printed();
  // "6.1.176"
  const std::string& release() const { return release_; }
  pid_t process() const { return process_; }

 private:
  Guest() = default;
  Status start(const GuestKernel& kernel, std::span<const std::byte> initrd);
  // Waits until the guest wants something. False if it has ended or does not react.
  bool wait();
  void answer(uint32_t bytes);
  void share_core() const;
  bool serve();
  size_t serve_one(const guest::DiskRequest& request, std::span<const std::byte> rest,
                   std::span<std::byte> out);
  void end();

  pid_t process_ = -1;
  int cpu_ = -1;
  std::chrono::seconds patience_{};
  guest::Channel* channel_ = nullptr;
  int channel_fd_ = -1;
  ServesDisks* server_ = nullptr;
  std::string trouble_, release_;
  bool ended_ = false;
  uint64_t seen_ = 0;  // of what was printed
  std::vector<std::byte> requests_;
};

}  // namespace sisyfs
