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
  using Run =
      std::function<Guest::Reply(const guest::Command&, const Guest::Texts&, std::span<const std::byte>)>;

  // The answer; EIO if the guest has died.
  OpResult apply(const Op& op, const Run& run);
  // The handles that are open, as bits.
  uint32_t open_handles() const { return open_; }
  void forget() { open_ = 0; }

 private:
  OpResult write(const Op& op, guest::Command& command, const Run& run);

  uint32_t open_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace sisyfs
