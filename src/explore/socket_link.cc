#include "explore/socket_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sisyfs {

SocketLink::~SocketLink() { close(socket_); }

bool SocketLink::send(std::span<const std::byte> message) {
  const auto length = static_cast<uint32_t>(message.size());
  iovec parts[] = {{const_cast<uint32_t*>(&length), sizeof length},
                   {const_cast<std::byte*>(message.data()), message.size()}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  for (size_t left = sizeof length + message.size(); left != 0;) {
    const ssize_t sent = sendmsg(socket_, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      // Both ends may be sending at once. What arrives is taken, so that neither waits for ever.
      pollfd both{socket_, POLLIN | POLLOUT, 0};
      const int ready = poll(&both, 1, send_patience_ms_);
      if (ready > 0 && (both.revents & POLLIN) != 0) read_some();
      if (ready == 0 || gone_) return false;
      continue;
    }
    if (sent <= 0) return false;
    left -= static_cast<size_t>(sent);
    auto skip = static_cast<size_t>(sent);
    for (iovec& part : parts) {
      const size_t here = std::min(skip, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + here;
      part.iov_len -= here;
      skip -= here;
    }
  }
  return true;
}

// A whole message from what has arrived.
bool SocketLink::take(std::vector<std::byte>& message) {
  uint32_t length = 0;
  const size_t held = arrived_.size() - taken_;
  if (held < sizeof length) return false;
  std::memcpy(&length, arrived_.data() + taken_, sizeof length);
  if (length > kLongest) {
    gone_ = true;
    return false;
  }
  if (held - sizeof length < length) return false;
  const std::byte* begin = arrived_.data() + taken_ + sizeof length;
  message.assign(begin, begin + length);
  taken_ += sizeof length + length;
  if (taken_ == arrived_.size()) {
    arrived_.clear();
    taken_ = 0;
  }
  return true;
}

Receipt SocketLink::receive(std::vector<std::byte>& message, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + patience;
  for (;;) {
    if (take(message)) return Receipt::kMessage;
    if (gone_) return Receipt::kGone;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd readable{socket_, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      if (left <= 0) return Receipt::kNothing;
      continue;
    }
    read_some();
  }
}

void SocketLink::read_some() {
  arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<ptrdiff_t>(std::exchange(taken_, 0)));
  const size_t before = arrived_.size();
  arrived_.resize(before + kChunk);
  const ssize_t got = recv(socket_, arrived_.data() + before, kChunk, 0);
  arrived_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  gone_ = got == 0 || (got < 0 && errno != EINTR);
}

}  // namespace sisyfs
