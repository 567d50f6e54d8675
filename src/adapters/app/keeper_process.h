// Keepers: processes that mount work directories and run programs in them.
//
// They live in namespaces of their own: nobody else sees the mounts, and when the first of them ends, however
// that comes about, all their programs end and the mounts are gone. It ends when the checker does. A keeper
// never looks into the work directory itself, because the checker, which serves it, may be waiting for the
// keeper.
#pragma once

#include <string>

namespace sisyfs {

// What the keeper brings along, in a folder that only its programs see.
struct KeeperPlace {
  std::string home;   // an empty folder, anew for each mount
  std::string tools;  // sisyfs-ack and sisyfs-kept
  std::string work;   // where the work directory is mounted
};

// The life of the first one: each message brings the socket of a work directory, and the folder to mount
// over, or an empty word. Answers an exit code.
int run_keepers();

}  // namespace sisyfs
