// What the checker and the keeper of a work directory say to each other: messages of words, with descriptors.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sisyfs {

// The end of the first keeper's socket.
inline constexpr int kKeeperFd = 3;

struct KeeperMessage {
  std::vector<std::string> words;
  std::vector<int> descriptors;  // of the receiver, who closes them
};

// Whether it was sent: it is not if the other side has ended.
bool send_message(int socket, const std::vector<std::string>& words,
                  const std::vector<int>& descriptors = {});
// Nothing: the other side has ended.
std::optional<KeeperMessage> receive_message(int socket);

}  // namespace sisyfs
