#include "adapters/kernel/user_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "adapters/guest/open_file.h"
#include "base/digest.h"

namespace sisyfs {
namespace {

// Copies of it: the file, the disk, and what tools and recoveries work on.
constexpr uint64_t kCopies = 4;

uint64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return kMostImageBytes * kCopies;  // not known
}

}  // namespace

bool is_image_path(std::string_view start) { return start != "new" && start != "aged" && start != "full"; }

std::string why_too_large(uint64_t bytes, uint64_t free_bytes) {
  if (bytes > kMostImageBytes)
    return fmt::format("has {} MiB, and an image has {} MiB at most", bytes >> 20, kMostImageBytes >> 20);
  if (bytes > free_bytes / kCopies)
    return fmt::format("has {} MiB, which is held {} times in memory, and {} MiB are free", bytes >> 20,
                       kCopies, free_bytes >> 20);
  return {};
}

Result<std::vector<std::byte>> read_user_image(const std::string& path) {
  const auto refused = [&](std::string_view why) -> Error {
    return bad_input(fmt::format("start={} {}", path, why));
  };
  // A pipe is not waited for.
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat stat {};
  if (file.get() < 0 && errno == ENOENT)
    return refused("does not exist: the start is new, aged, full, or the path of a disk image");
  if (file.get() < 0 || fstat(file.get(), &stat) != 0)
    return refused(fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(stat.st_mode)) return refused("is not a file: copy the disk into one");
  if (stat.st_size == 0) return refused("is empty");
  const auto size = static_cast<uint64_t>(stat.st_size);
  if (const std::string why = why_too_large(size, free_memory()); !why.empty()) return refused(why);
  std::vector<std::byte> bytes(size);
  for (uint64_t done = 0; done < size;) {
    const ssize_t count = pread(file.get(), bytes.data() + done, size - done, static_cast<off_t>(done));
    if (count <= 0)
      return refused(fmt::format("cannot be read: {}", count < 0 ? std::strerror(errno) : "it shrinks"));
    done += static_cast<uint64_t>(count);
  }
  return bytes;
}

std::string image_digest(std::span<const std::byte> image) {
  const Digest digest = digest_of(image);
  return fmt::format("{:016x}{:016x}", digest.hi, digest.lo);
}

}  // namespace sisyfs
