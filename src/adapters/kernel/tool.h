// Runs a tool of the host on an image: one that makes a file system, or checks and repairs it.
//
// The tool works on a file in memory, whose path is kToolImage. Time stands still for it, and its random
// numbers are always the same.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "adapters/repair/watched_tool.h"
#include "base/result.h"

namespace sisyfs {

inline constexpr const char* kToolImage = "/proc/self/fd/3";

struct ToolRun {
  bool ended = false;  // by itself, with an exit code
  int exit = 0;
  std::string how;     // it has not: "was killed after 30 s", "died of signal 11"
  std::string output;  // of both channels, at most 64 KiB of it
};

// A file in memory without a name.
class MemoryFile {
 public:
  static Result<MemoryFile> make(uint64_t bytes);
  MemoryFile(MemoryFile&& other) noexcept : fd_(other.fd_), bytes_(other.bytes_) {
    other.fd_ = -1;
    other.bytes_ = {};
  }
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  int fd() const { return fd_; }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  MemoryFile(int fd, std::span<std::byte> bytes) : fd_(fd), bytes_(bytes) {}
  int fd_;
  std::span<std::byte> bytes_;
};

// The path of a program that is looked for where system programs are; empty if it is not there.
std::string find_tool(const std::string& name);

// Runs words[0]. An error if there is no such program or it cannot be started. What it has started ends with
// it.
Result<ToolRun> run_tool(const std::vector<std::string>& words, const MemoryFile& image,
                         std::chrono::milliseconds deadline);
// The same, while the disk of the image sees its accesses.
Result<ToolRun> run_tool(const std::vector<std::string>& words, watched_image& image,
                         std::chrono::milliseconds deadline);

// Whether tools can be watched on this system: runs a program that does nothing. Otherwise why not, in a
// sentence.
Status can_watch_tools();
inline constexpr const char* kWatchedRepairs =
    "the disk sees each read, write and flush of the repair tool, in its order";

}  // namespace sisyfs
