// System calls on the file system that is mounted.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {
namespace {

class File {
 public:
  File(const Command& command, const std::string& path, int flags) {
    if (command.handle == kNoHandle)
      fd_ = own_ = open(path.c_str(), flags | O_CLOEXEC);
    else if (command.handle < kHandles)
      fd_ = handles[command.handle];
    if (fd_ < 0) error_ = command.handle == kNoHandle ? errno : EBADF;
  }
  ~File() {
    if (own_ >= 0) close(own_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  int error() const { return error_; }

 private:
  int fd_ = -1, own_ = -1, error_ = 0;
};

int write_file(const Command& command, const std::string& path, const std::byte* bytes, uint64_t* count) {
  const bool appends = static_cast<Call>(command.number) == Call::kAppend;
  const File file(command, path, O_WRONLY | (appends ? O_APPEND : 0) | static_cast<int>(command.flags));
  if (file.error() != 0) return file.error();
  struct stat stat {};
  if (appends && fstat(file.fd(), &stat) != 0) return errno;
  void* aligned = nullptr;
  if ((command.flags & O_DIRECT) != 0) {
    if (posix_memalign(&aligned, 4096, command.length) != 0) return ENOMEM;
    std::memcpy(aligned, bytes, command.length);
  }
  const ssize_t done = pwrite(file.fd(), aligned != nullptr ? aligned : bytes, command.length,
                              appends ? stat.st_size : static_cast<off_t>(command.offset));
  const int error = of(done);
  std::free(aligned);
  *count = done < 0 ? 0 : static_cast<uint64_t>(done);
  return error;
}

int write_mapped(const Command& command, const std::string& path, const std::byte* bytes, uint64_t* count) {
  const File file(command, path, O_RDWR);
  struct stat stat {};
  if (file.error() != 0 || fstat(file.fd(), &stat) != 0) return file.error() != 0 ? file.error() : errno;
  const uint64_t end = command.offset + command.length;
  if (!S_ISREG(stat.st_mode) || end > static_cast<uint64_t>(stat.st_size)) return EINVAL;
  void* const at = mmap(nullptr, end, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (at == MAP_FAILED) return errno;
  std::memcpy(static_cast<std::byte*>(at) + command.offset, bytes, command.length);
  munmap(at, end);
  *count = command.length;
  return 0;
}

int sync_mapped(const Command& command, const std::string& path) {
  const File file(command, path, O_RDWR);
  struct stat stat {};
  if (file.error() != 0 || fstat(file.fd(), &stat) != 0) return file.error() != 0 ? file.error() : errno;
  if (stat.st_size == 0) return EINVAL;
  void* const at =
      mmap(nullptr, static_cast<size_t>(stat.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (at == MAP_FAILED) return errno;
  const int error = of(msync(at, static_cast<size_t>(stat.st_size), MS_SYNC));
  munmap(at, static_cast<size_t>(stat.st_size));
  return error;
}

int sync_file(const Command& command, const std::string& path) {
  // A file is opened for writing, as its writer would; a directory cannot be.
  File file(command, path, O_RDONLY);
  if (file.error() != 0) return file.error();
  return of(static_cast<Call>(command.number) == Call::kFsync ? fsync(file.fd()) : fdatasync(file.fd()));
}

int list_names(const std::string& path) {
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return errno;
  int error = 0;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !(path == "/" && is_hidden(name))) add_text(name);
  }
  closedir(directory);
  return error;
}

}  // namespace

int call(const Command& command, const std::string* texts, const std::byte* bytes, Answer& answer) {
  const std::string &path = texts[0], &other = texts[1];
  const char* const name = path.c_str();
  const int flags = static_cast<int>(command.flags);
  std::byte* const out = buffers[kCommands] + sizeof(Answer);
  constexpr size_t kRoom = kBufferBytes - sizeof(Answer);
  switch (static_cast<Call>(command.number)) {
    case Call::kCreate: {
      const int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, command.flags);
      if (fd < 0) return errno;
      return of(close(fd));
    }
    case Call::kMkdir:
      return of(mkdir(name, command.flags));
    case Call::kUnlink:
      return of(unlink(name));
    case Call::kRmdir:
      return of(rmdir(name));
    case Call::kRename:
      return of(command.flags == 0 ? rename(name, other.c_str())
                                   : renameat2(AT_FDCWD, name, AT_FDCWD, other.c_str(), command.flags));
    case Call::kLink:
      return of(link(name, other.c_str()));
    case Call::kSymlink:
      return of(symlink(other.c_str(), name));
    case Call::kWrite:
    case Call::kAppend:
      return write_file(command, path, bytes, &answer.number);
    case Call::kWriteMapped:
      return write_mapped(command, path, bytes, &answer.number);
    case Call::kMsync:
      return sync_mapped(command, path);
    case Call::kTruncate:
      if (command.handle != kNoHandle)
        return of(ftruncate(command.handle < kHandles ? handles[command.handle] : -1,
                            static_cast<off_t>(command.offset)));
      return of(truncate(name, static_cast<off_t>(command.offset)));
    case Call::kFallocate: {
      const File file(command, path, O_WRONLY);
      if (file.error() != 0) return file.error();
      return of(fallocate(file.fd(), flags, static_cast<off_t>(command.offset),
                          static_cast<off_t>(command.length)));
    }
    case Call::kRead: {
      const File file(command, path, O_RDONLY);
      if (file.error() != 0) return file.error();
      const ssize_t count =
          pread(file.fd(), out, std::min<size_t>(command.length, kRoom), static_cast<off_t>(command.offset));
      if (count < 0) return errno;
      answer.number = answer.bytes = static_cast<uint32_t>(count);
      return 0;
    }
    case Call::kReaddir: {
      walked.clear();
      if (const int error = list_names(path)) return error;
      if (walked.size() > kRoom) return E2BIG;
      std::memcpy(out, walked.data(), walked.size());
      answer.bytes = static_cast<uint32_t>(walked.size());
      return 0;
    }
    case Call::kStat: {
      struct stat stat {};
      const bool by_handle = command.handle != kNoHandle;
      if (by_handle && (command.handle >= kHandles || handles[command.handle] < 0)) return EBADF;
      if ((by_handle ? fstat(handles[command.handle], &stat) : ::stat(name, &stat)) != 0) return errno;
      answer.number = S_ISREG(stat.st_mode) ? static_cast<uint64_t>(stat.st_size) : 0;
      return 0;
    }
    case Call::kFsync:
    case Call::kFdatasync:
      return sync_file(command, path);
    case Call::kSync:
      sync_all();
      return 0;
    case Call::kSyncfs: {
      const File file(command, "/", O_RDONLY | O_DIRECTORY);
      return file.error() != 0 ? file.error() : of(syncfs(file.fd()));
    }
    case Call::kSetxattr:
      return of(setxattr(name, other.c_str(), bytes, command.length, 0));
    case Call::kGetxattr: {
      const ssize_t size = getxattr(name, other.c_str(), out, kRoom);
      if (size < 0) return errno;
      answer.number = answer.bytes = static_cast<uint32_t>(size);
      return 0;
    }
    case Call::kListxattr: {
      std::vector<std::string> names;
      if (const int error = list_attributes(-1, path, names)) return error;
      walked.clear();
      for (const std::string& one : names) add_text(one);
      std::memcpy(out, walked.data(), walked.size());
      answer.bytes = static_cast<uint32_t>(walked.size());
      return 0;
    }
    case Call::kRemovexattr:
      return of(removexattr(name, other.c_str()));
    case Call::kChmod:
      return of(chmod(name, command.flags));
    case Call::kOpen: {
      if (command.handle >= kHandles || handles[command.handle] >= 0) return EBUSY;
      const int fd = open(name, O_RDWR | O_CLOEXEC);
      if (fd < 0) return errno;
      handles[command.handle] = fd;
      owners[command.handle] = command.process;
      return 0;
    }
    case Call::kClose: {
      if (command.handle >= kHandles || handles[command.handle] < 0) return EBADF;
      return of(close(std::exchange(handles[command.handle], -1)));
    }
  }
  return ENOSYS;
}

}  // namespace sisyfs::guest
