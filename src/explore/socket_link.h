// SocketLink: a WorkerLink over one end of a pair of connected stream sockets.
//
// A message is preceded by its length, in four bytes. Both ends are the same program on the same computer, so
// numbers are in the byte order of the machine.
//
//   int ends[2];
//   socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
//   SocketLink here(ends[0]);
#pragma once

#include "explore/worker_link.h"

namespace sisyfs {

class SocketLink : public WorkerLink {
 public:
  // Takes the descriptor over. With a limit, sending fails if the other end takes nothing for so long.
  explicit SocketLink(int socket) : socket_(socket) {}
  SocketLink(int socket, std::chrono::milliseconds limit)
      : socket_(socket), send_patience_ms_(static_cast<int>(limit.count())) {}
  ~SocketLink() override;
  SocketLink(const SocketLink&) = delete;
  SocketLink& operator=(const SocketLink&) = delete;

  bool send(std::span<const std::byte> message) override;
  Receipt receive(std::vector<std::byte>& message, std::chrono::milliseconds patience) override;

 private:
  // A longer message is not one of ours.
  static constexpr uint32_t kLongest = uint32_t{1} << 28;
  static constexpr size_t kChunk = size_t{64} << 10;

  bool take(std::vector<std::byte>& message);
  void read_some();

  int socket_;
  int send_patience_ms_ = -1;  // for ever
  bool gone_ = false;
  std::vector<std::byte> arrived_;  // bytes that are not taken yet, from taken_ on
  size_t taken_ = 0;
};

}  // namespace sisyfs
