// Files of a process that have no name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>

namespace sisyfs {

// A descriptor that is closed at the end.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// A file without a name that holds these bytes; -1 with errno.
inline int memory_file(const char* name, std::span<const std::byte> bytes) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  for (size_t done = 0; fd >= 0 && done < bytes.size();) {
    const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0) return close(fd), -1;
    done += static_cast<size_t>(count);
  }
  return fd;
}

}  // namespace sisyfs
