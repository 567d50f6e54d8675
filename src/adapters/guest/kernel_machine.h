// KernelMachine: a running kernel with an agent that mounts and makes system calls as it is told: a guest
// (guest.h), or the kernel of the host (host_machine.h).
//
//   machine.attach(&server);  // answers the requests to the disks
//   const KernelMachine::Reply reply = machine.run({.what = guest::Do::kMount}, {"ext4", "", ""});
//   if (!reply.alive) use(machine.take_printed());  // it has died or hangs: only the destructor is left
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/guest/wire.h"

namespace sisyfs {

// Answers the requests of a kernel to its disks.
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

class KernelMachine {
 public:
  // Of a command.
  struct Reply {
    bool alive = true;  // false: the agent has ended, or does not answer; the rest says nothing
    int error = 0;
    uint64_t number = 0;
    std::span<const std::byte> bytes = {};  // until the next command
    bool more = false;
  };
  using Texts = std::array<std::string_view, 3>;

  virtual ~KernelMachine() = default;

  // Who answers; borrowed. Null: reads give zeros, and all else is forgotten.
  void attach(ServesDisks* server) { server_ = server; }

  virtual Reply run(guest::Command command, const Texts& texts = {},
                    std::span<const std::byte> bytes = {}) = 0;
  bool alive() const { return trouble_.empty(); }
  bool has_ended() const { return ended_; }  // not alive: it has ended by itself
  // Not alive, for a reason that says nothing of the kernel.
  bool is_lost() const { return lost_; }
  // Why it is not alive: "the guest kernel has ended", "the guest kernel does nothing any more".
  const std::string& trouble() const { return trouble_; }
  // What the kernel has printed since the last call.
  virtual std::string take_printed() = 0;
  // "6.1.176"
  const std::string& release() const { return release_; }

 protected:
  static void share_core(int cpu);  // -1: any
  // Puts a command with what belongs to it into a buffer; how many bytes.
  static uint32_t put_command(guest::Command command, const Texts& texts, std::span<const std::byte> bytes,
                              std::span<std::byte> buffer);
  static Reply reply_in(std::span<const std::byte> buffer);
  // Answers the requests to disks that are in the buffer, in their order. How many bytes the answers have; 0:
  // there is none, but the answer of a command. Nothing that the kernel says is relied on: what cannot be
  // answered ends the answers.
  uint32_t serve(uint32_t bytes, std::span<std::byte> buffer);

  ServesDisks* server_ = nullptr;
  std::string trouble_, release_;
  bool ended_ = false, lost_ = false;

 private:
  size_t serve_one(const guest::DiskRequest& request, std::span<const std::byte> rest,
                   std::span<std::byte> out);

  std::vector<std::byte> requests_;
};

}  // namespace sisyfs
