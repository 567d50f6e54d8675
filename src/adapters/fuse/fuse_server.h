// FuseServer: shows a FileStore to the kernel as a mounted file system (libfuse3).
//
// Requests are served one after the other by the thread that calls serve(). Nothing that the server does not
// know of comes between the kernel and the store: names and data are cached by the kernel once they were
// asked for, nothing is read ahead, and each write arrives before it returns.
//
//   FuseServer server(files, services);
//   Status served = server.serve(fuse_fd, other_fd);
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "adapters/fuse/file_store.h"
#include "base/result.h"

namespace sisyfs {

// Files in the root that are not listed and are no part of the directory. Whoever knows their names can talk
// to the checker.
class FuseServices {
 public:
  virtual ~FuseServices() = default;
  // Number of the service with this name, from 0; or -1.
  virtual int find(const std::string& name) const = 0;
  virtual void write(int service, std::string_view bytes, pid_t thread) = 0;
  virtual std::string read(int service) = 0;
};

class FuseServer {
 public:
  // Both are borrowed. `services` may be null.
  FuseServer(FileStore& files, FuseServices* services);
  ~FuseServer();
  FuseServer(const FuseServer&) = delete;
  FuseServer& operator=(const FuseServer&) = delete;

  // Serves what comes from an opened /dev/fuse, until the other descriptor can be read or is closed.
  Status serve(int fuse, int until);
  // Requests that the server does not know were made, by their numbers in the protocol: what they would have
  // done has not been done, and the caller has got an error.
  const std::set<uint32_t>& refused() const;

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace sisyfs
