// The keeper: the process that mounts a work directory and runs programs in it.
//
// It lives in namespaces of its own: nobody else sees the mount, and when the keeper ends, however that comes
// about, its programs end and the mount is gone. It ends when the checker does. It never looks into the work
// directory itself, because the checker, which serves it, may be waiting for the keeper.
#pragma once

#include <string>

namespace sisyfs {

// What the keeper brings along, in a folder that only its programs see.
struct KeeperPlace {
  std::string home;   // an empty folder, anew for each mount
  std::string tools;  // sisyfs-ack and sisyfs-kept
  std::string work;   // where the work directory is mounted
};

// The process's whole life. `work`: the folder to mount over; empty: one of its own. Answers an exit code.
int run_keeper(const std::string& work);

}  // namespace sisyfs
