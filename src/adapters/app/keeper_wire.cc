#include "adapters/app/keeper_wire.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

namespace sisyfs {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20, kMostDescriptors = 4;

}  // namespace

bool send_message(int socket, const std::vector<std::string>& words, const std::vector<int>& descriptors) {
  std::string text;
  for (const std::string& word : words) text.append(word).push_back('\0');
  // The length comes first: a message may be longer than a packet.
  const auto size = static_cast<uint32_t>(text.size());
  iovec parts[] = {{const_cast<uint32_t*>(&size), sizeof size}, {text.data(), text.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size() * sizeof(int));
  }
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof size) return false;
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

std::optional<KeeperMessage> receive_message(int socket) {
  uint32_t size = 0;
  iovec part{&size, sizeof size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = 0;
  do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (count < 0 && errno == EINTR);
  if (count != sizeof size || size > kMostBytes) return std::nullopt;
  KeeperMessage out;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t descriptors = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    out.descriptors.resize(descriptors);
    std::memcpy(out.descriptors.data(), CMSG_DATA(head), descriptors * sizeof(int));
  }
  std::string text(size, '\0');
  for (size_t got = 0; got < text.size();) {
    count = recv(socket, text.data() + got, text.size() - got, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    got += static_cast<size_t>(count);
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\0', at);
    if (end == text.npos) return std::nullopt;
    out.words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace sisyfs
