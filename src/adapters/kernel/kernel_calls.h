// Ops as system calls in a guest.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "adapters/guest/guest.h"
#include "workload/op.h"

namespace sisyfs {

class KernelCalls {
 public:
  // With two processes the second one has the handles "@3" and "@4".
  explicit KernelCalls(uint32_t processes = 1) : processes_(processes) {}

  using Run =
      std::function<Guest::Reply(const guest::Command&, const Guest::Texts&, std::span<const std::byte>)>;

  // The answer; EIO if the guest has died.
  OpResult apply(const Op& op, const Run& run);
  // The handles that are open, as bits.
  uint32_t open_handles() const { return open_; }
  void forget() { open_ = 0; }

 private:
  OpResult write(const Op& op, guest::Command& command, const Run& run);

  const uint32_t processes_;
  uint32_t open_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace sisyfs
