// Reads back all that is in the file system that is mounted.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {

std::vector<std::byte> walked;
size_t told = 0;

static constexpr uint64_t kLargestFile = 64u << 20;  // that is read

void add(const void* bytes, size_t size) {
  const auto* const from = static_cast<const std::byte*>(bytes);
  walked.insert(walked.end(), from, from + size);
}
void add_text(std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  add(&size, sizeof size);
  add(text.data(), text.size());
}

// What file systems have in their root directory from the beginning.
bool is_hidden(std::string_view name) { return name == "lost+found" || name == ".nilfs"; }

// The names of attributes that users make.
int list_attributes(int fd, const std::string& path, std::vector<std::string>& names) {
  static char list[65536];
  const ssize_t size =
      fd >= 0 ? flistxattr(fd, list, sizeof list) : listxattr(path.c_str(), list, sizeof list);
  if (size < 0) return errno == EOPNOTSUPP ? 0 : errno;
  names.clear();
  for (const char* at = list; at < list + size; at += strlen(at) + 1)
    if (std::string_view(at).starts_with("user.")) names.emplace_back(at);
  return 0;
}

namespace {

// Adds the attributes of a file or directory; how many bytes.
int add_attributes(int fd, uint32_t* bytes) {
  std::vector<std::string> names;
  static std::byte value[65536];
  if (const int error = list_attributes(fd, {}, names)) return error;
  const size_t before = walked.size();
  for (const std::string& name : names) {
    const ssize_t size = fgetxattr(fd, name.c_str(), value, sizeof value);
    if (size < 0) return errno;
    const uint32_t lengths[2] = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(size)};
    add(lengths, sizeof lengths);
    add(name.data(), name.size());
    add(value, static_cast<size_t>(size));
  }
  *bytes = static_cast<uint32_t>(walked.size() - before);
  return 0;
}

int add_data(int fd, uint64_t size) {
  if (size > kLargestFile) return EFBIG;
  const size_t at = walked.size();
  walked.resize(at + size);
  for (uint64_t done = 0; done < size;) {
    const ssize_t count = pread(fd, walked.data() + at + done, size - done, static_cast<off_t>(done));
    if (count <= 0) return count < 0 ? errno : ENODATA;
    done += static_cast<uint64_t>(count);
  }
  return 0;
}

// Adds one entry. What was added of it is taken back where it fails.
int walk_one(const std::string& path, int handle, WalkEntry& entry) {
  struct stat stat {};
  if ((handle >= 0 ? fstat(handle, &stat) : lstat(path.c_str(), &stat)) != 0) return errno;
  entry.mode = stat.st_mode;
  entry.links = static_cast<uint32_t>(stat.st_nlink);
  entry.inode = stat.st_ino;
  if (S_ISLNK(stat.st_mode)) {
    char target[PATH_MAX];
    const ssize_t size = readlink(path.c_str(), target, sizeof target);
    if (size < 0) return errno;
    entry.target_bytes = static_cast<uint32_t>(size);
    add(target, static_cast<size_t>(size));
    return 0;
  }
  if (!S_ISREG(stat.st_mode) && !S_ISDIR(stat.st_mode)) return 0;
  const int fd = handle >= 0 ? handle : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME);
  if (fd < 0) return errno;
  int error = add_attributes(fd, &entry.xattr_bytes);
  if (error == 0 && S_ISREG(stat.st_mode)) {
    entry.size = static_cast<uint64_t>(stat.st_size);
    error = add_data(fd, entry.size);
  }
  if (fd != handle) close(fd);
  return error;
}

bool walk_entry(const std::string& path, int handle, uint32_t* mode) {
  const size_t at = walked.size();
  WalkEntry entry{};
  entry.path_bytes = static_cast<uint32_t>(path.size());
  add(&entry, sizeof entry);
  add(path.data(), path.size());
  entry.error = walk_one(path, handle, entry);
  if (entry.error != 0) {
    entry.target_bytes = entry.xattr_bytes = 0, entry.size = 0;
    walked.resize(at + sizeof entry + path.size());
  }
  std::memcpy(walked.data() + at, &entry, sizeof entry);
  *mode = entry.mode;
  return entry.error == 0;
}

bool fail_at(const std::string& path, int error) {
  WalkEntry entry{};
  entry.error = error;
  entry.path_bytes = static_cast<uint32_t>(path.size());
  add(&entry, sizeof entry);
  add(path.data(), path.size());
  return false;
}

// Directories come before what is in them.
bool walk_directory(const std::string& path, int depth) {
  uint32_t mode = 0;
  if (depth == 0 && !walk_entry(path, -1, &mode)) return false;
  if (depth > 64) return fail_at(path, ELOOP);
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return fail_at(path, errno);
  std::vector<std::string> names;
  int error = 0;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !(depth == 0 && is_hidden(name))) names.emplace_back(name);
    if (names.size() > 100'000) error = ELOOP;
    if (error != 0) break;
  }
  closedir(directory);
  if (error != 0) return fail_at(path, error);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    std::string below = path;
    if (below != "/") below += "/";
    below += name;
    if (!walk_entry(below, -1, &mode)) return false;
    if (S_ISDIR(mode) && !walk_directory(below, depth + 1)) return false;
  }
  return true;
}

}  // namespace

void walk() {
  walked.clear();
  told = 0;
  uint32_t mode = 0;
  if (!walk_directory("/", 0)) return;
  bool goes_on = true;
  for (uint32_t i = 0; i < kHandles && goes_on; ++i)
    if (handles[i] >= 0)
      in_process(owners[i], [&] { goes_on = walk_entry("@" + std::to_string(i + 1), handles[i], &mode); });
}

}  // namespace sisyfs::guest
