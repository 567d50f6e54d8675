// LinuxDirectory: applies ops to a directory of this machine, by system calls.
//
//   ScratchDirectory place("/tmp");
//   LinuxDirectory linux(place.path());
//   OpResult answer = linux.apply(op);     // by system calls
//   Tree tree = linux.walk(&wrong);        // the current content, read back by system calls
//
// A process that has made such a directory its root (enter_as_root) passes an empty prefix: then "/", "..",
// and absolute targets of links mean the same as in a Tree.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tree/tree.h"
#include "workload/op.h"

namespace sisyfs {

// Made new, and removed with all that is in it.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::filesystem::path& where) {
    std::string pattern = (where / "sisyfs-linux-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  // Empty if it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Makes a directory the root of this process, with a user namespace of its own where that needs one.
inline bool enter_as_root(const std::string& directory) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (uid != 0) {
    if (::unshare(CLONE_NEWUSER) != 0) return false;
    // Without these, nothing could be made: the maker would have no name.
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  }
  return ::chroot(directory.c_str()) == 0 && ::chdir("/") == 0;
}

class LinuxDirectory {
 public:
  explicit LinuxDirectory(std::string prefix) : prefix_(std::move(prefix)) {
    struct stat s {};
    counts_directories_ = ::stat(real("/").c_str(), &s) == 0 && s.st_nlink == 2;
  }
  LinuxDirectory(const LinuxDirectory&) = delete;
  LinuxDirectory& operator=(const LinuxDirectory&) = delete;
  ~LinuxDirectory() {
    for (const auto& [ino, fd] : handles_) ::close(fd);
    for (const int fd : numbered_)
      if (fd >= 0) ::close(fd);
  }

  // All kinds but those on the whole system.
  OpResult apply(const Op& op) {
    if (kHandleOps.has(op.kind)) return apply_to_handle(op);
    const std::string path = real(op.path), other = real(op.other);
    switch (op.kind) {
      case OpKind::kCreate:
        return with_file(op, O_CREAT | O_EXCL | O_WRONLY, [](int) { return OpResult(); });
      case OpKind::kMkdir:
        return answer(::mkdir(path.c_str(), 0755));
      case OpKind::kUnlink:
        return answer(::unlink(path.c_str()));
      case OpKind::kRmdir:
        return answer(::rmdir(path.c_str()));
      case OpKind::kRename:
        return answer(::rename(path.c_str(), other.c_str()));
      case OpKind::kLink:
        return answer(::link(path.c_str(), other.c_str()));
      case OpKind::kSymlink:
        return answer(::symlink(std::string(op.other.text()).c_str(), path.c_str()));
      case OpKind::kTruncate:
        return answer(::truncate(path.c_str(), static_cast<off_t>(op.offset)));
      case OpKind::kWrite:
        return with_file(op, O_WRONLY, [&](int fd) { return write(op, fd, op.offset); });
      case OpKind::kWriteSync:
        return with_file(op, O_WRONLY | O_SYNC, [&](int fd) { return write(op, fd, op.offset); });
      case OpKind::kAppend:
        return with_file(op, O_WRONLY | O_APPEND, [&](int fd) { return append(op, fd); });
      case OpKind::kRead:
        return with_file(op, O_RDONLY, [&](int fd) { return read(op, fd); });
      case OpKind::kFsync:
        return with_file(op, O_RDONLY, [](int fd) { return answer(::fsync(fd)); });
      case OpKind::kFdatasync:
        return with_file(op, O_RDONLY, [](int fd) { return answer(::fdatasync(fd)); });
      case OpKind::kReaddir:
        return readdir(path);
      case OpKind::kStat: {
        struct stat s {};
        if (::stat(path.c_str(), &s) != 0) return OpResult::of(errno);
        return {0, S_ISDIR(s.st_mode) ? 0 : static_cast<uint64_t>(s.st_size), {}};
      }
      case OpKind::kSetxattr: {
        std::vector<std::byte> value(op.length);
        fill_value(op, value);
        return answer(::setxattr(path.c_str(), name_of(op).c_str(), value.data(), value.size(), 0));
      }
      case OpKind::kGetxattr:
        return get_xattr(path, name_of(op));
      case OpKind::kListxattr: {
        OpResult result;
        int error = 0;
        for (const std::string& name : xattr_names(path, &error)) result.add_name(name);
        return error != 0 ? OpResult::of(error) : result;
      }
      case OpKind::kRemovexattr:
        return answer(::removexattr(path.c_str(), name_of(op).c_str()));
      case OpKind::kChmod:
        return answer(::chmod(path.c_str(), op.length));
      case OpKind::kFallocate:
        return reserve(op, 0);
      case OpKind::kFallocateKeep:
        return reserve(op, FALLOC_FL_KEEP_SIZE);
      case OpKind::kPunchHole:
        return reserve(op, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
      case OpKind::kZeroRange:
        return reserve(op, FALLOC_FL_ZERO_RANGE);
      case OpKind::kExchange:
        return answer(::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE));
      case OpKind::kRenameNew:
        return answer(::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(), RENAME_NOREPLACE));
      case OpKind::kWriteDirect:
        return with_file(op, O_WRONLY | O_DIRECT, [&](int fd) { return write_direct(op, fd); });
      case OpKind::kWriteMapped:
        return with_file(op, O_RDWR, [&](int fd) { return write_mapped(op, fd); });
      case OpKind::kMsync:
        return with_file(op, O_RDWR, [](int fd) { return msync(fd); });
      case OpKind::kOpen:
        return open(path);
      case OpKind::kClose:
        return close(path);
      default:
        return OpResult::of(ENOSYS);
    }
  }

  // Says in `wrong` where something could not be read, or a handle leads to another file than it should: one
  // without a name has no links, and one with a name is that file.
  Tree walk(std::string* wrong) const {
    Tree tree;
    std::map<ino_t, NodeId> files;
    walk_xattrs(real("/"), kRootNode, &tree);
    walk_mode(real("/"), kRootNode, &tree);
    walk(Path("/"), kRootNode, &tree, &files, wrong);
    for (uint32_t i = 0; i < Tree::kHandles; ++i)
      if (numbered_[i] >= 0) walk_handle(i, files, &tree, wrong);
    return tree;
  }

  // From now on walk() reads modes. New files and directories must have got those of kNewModes (umask).
  void read_modes() { modes_count_ = true; }

  std::string real(std::string_view path) const { return prefix_ + std::string(path); }

  // Whether files here may have attributes of users.
  bool has_xattrs() const {
    const std::string root = real("/");
    if (::setxattr(root.c_str(), "user.sisyfs", "", 0, 0) != 0) return false;
    return ::removexattr(root.c_str(), "user.sisyfs") == 0;
  }

 private:
  static OpResult answer(int result) { return OpResult::of(result < 0 ? errno : 0); }

  template <class Use>
  OpResult with_file(const Op& op, int flags, Use use) {
    const int fd = ::open(real(op.path).c_str(), flags, 0644);
    if (fd < 0) return OpResult::of(errno);
    const OpResult result = use(fd);
    ::close(fd);
    return result;
  }
  static OpResult written(ssize_t count) {
    return count < 0 ? OpResult::of(errno) : OpResult{0, static_cast<uint64_t>(count), {}};
  }
  static OpResult write(const Op& op, int fd, uint64_t offset) {
    std::vector<std::byte> bytes(op.length);
    fill_data(op, offset, bytes);
    return written(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)));
  }
  OpResult reserve(const Op& op, int mode) {
    return with_file(op, O_WRONLY, [&](int fd) {
      return answer(
          ::fallocate(fd, mode, static_cast<off_t>(op.offset), static_cast<off_t>(uint64_t{op.length})));
    });
  }
  static OpResult write_direct(const Op& op, int fd) {
    static constexpr size_t kAligned = 4096;
    std::vector<std::byte> room(op.length + kAligned);
    void* at = room.data();
    size_t left = room.size();
    const std::span bytes(static_cast<std::byte*>(std::align(kAligned, op.length, at, left)), op.length);
    fill_data(op, op.offset, bytes);
    return written(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(op.offset)));
  }
  // The size is looked at before: a store behind the page of the end would be a signal.
  static OpResult write_mapped(const Op& op, int fd) {
    struct stat s {};
    if (::fstat(fd, &s) != 0) return OpResult::of(errno);
    if (op.length == 0 || op.offset + op.length > static_cast<uint64_t>(s.st_size))
      return OpResult::of(EINVAL);
    const size_t length = static_cast<size_t>(s.st_size);
    void* at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return OpResult::of(errno);
    fill_data(op, op.offset, std::span(static_cast<std::byte*>(at) + op.offset, op.length));
    return ::munmap(at, length) != 0 ? OpResult::of(errno) : OpResult{0, op.length, {}};
  }
  static OpResult msync(int fd) {
    struct stat s {};
    if (::fstat(fd, &s) != 0) return OpResult::of(errno);
    const size_t length = static_cast<size_t>(s.st_size);
    void* at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return OpResult::of(errno);
    const OpResult result = answer(::msync(at, length, MS_SYNC));
    ::munmap(at, length);
    return result;
  }
  static OpResult append(const Op& op, int fd) {
    struct stat s {};
    if (::fstat(fd, &s) != 0) return OpResult::of(errno);
    std::vector<std::byte> bytes(op.length);
    fill_data(op, static_cast<uint64_t>(s.st_size), bytes);
    return written(::write(fd, bytes.data(), bytes.size()));
  }
  static OpResult read(const Op& op, int fd) {
    std::vector<std::byte> bytes(op.length);
    const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(op.offset));
    if (count < 0) return OpResult::of(errno);
    return OpResult::read(std::span(bytes).first(static_cast<size_t>(count)));
  }
  static std::string name_of(const Op& op) { return std::string(op.other.text()); }
  static OpResult get_xattr(const std::string& path, const std::string& name) {
    std::vector<std::byte> value(Xattrs::kMaxValue);
    const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (size < 0) return OpResult::of(errno);
    return OpResult::read(std::span(value).first(static_cast<size_t>(size)));
  }
  // Those of users: a kernel may have others, for itself.
  static std::vector<std::string> xattr_names(const std::string& path, int* error) {
    std::vector<char> list(Xattrs::kMaxValue);
    const ssize_t size = ::listxattr(path.c_str(), list.data(), list.size());
    *error = size < 0 ? errno : 0;
    std::vector<std::string> names;
    for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(std::strlen(list.data() + at)) + 1)
      if (std::string_view(list.data() + at).starts_with("user.")) names.emplace_back(list.data() + at);
    return names;
  }
  // A file system that has no attributes at all says so, and then there are none.
  void walk_xattrs(const std::string& path, NodeId node, Tree* tree) const {
    int error = 0;
    for (const std::string& name : xattr_names(path, &error)) {
      std::vector<std::byte> value(Xattrs::kMaxValue);
      const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
      if (size >= 0) tree->set_xattr(node, name, std::span(value).first(static_cast<size_t>(size)));
    }
  }
  static bool is_dots(std::string_view name) { return name == "." || name == ".."; }
  static OpResult readdir(const std::string& path) {
    DIR* dir = ::opendir(path.c_str());
    if (dir == nullptr) return OpResult::of(errno);
    OpResult result;
    while (const dirent* entry = ::readdir(dir))
      if (!is_dots(entry->d_name)) result.add_name(entry->d_name);
    ::closedir(dir);
    return result;
  }

  // A file has one handle at most, so its inode tells which.
  OpResult open(const std::string& path) {
    struct stat s {};
    const int fd = ::open(path.c_str(), O_RDWR);
    if (fd < 0 || ::fstat(fd, &s) != 0) return OpResult::of(errno);
    handles_.emplace(s.st_ino, fd);
    return {};
  }
  OpResult close(const std::string& path) {
    struct stat s {};
    const auto handle = ::stat(path.c_str(), &s) == 0 ? handles_.find(s.st_ino) : handles_.end();
    if (handle == handles_.end()) return OpResult::of(EBADF);
    const OpResult result = answer(::close(handle->second));
    handles_.erase(handle);
    return result;
  }

  OpResult apply_to_handle(const Op& op) {
    if (op.kind == OpKind::kOpenHandle) {
      int& fd = numbered_[Tree::handle_in(op.other)];
      if (fd >= 0) return OpResult::of(EBUSY);
      fd = ::open(real(op.path).c_str(), O_RDWR);
      return answer(fd);
    }
    int& fd = numbered_[Tree::handle_in(op.path)];
    switch (op.kind) {
      case OpKind::kCloseHandle:
        return answer(::close(std::exchange(fd, -1)));
      case OpKind::kWriteHandle:
        return write(op, fd, op.offset);
      case OpKind::kAppendHandle: {
        struct stat s {};
        if (::fstat(fd, &s) != 0) return OpResult::of(errno);
        return write(op, fd, static_cast<uint64_t>(s.st_size));
      }
      case OpKind::kTruncateHandle:
        return answer(::ftruncate(fd, static_cast<off_t>(op.offset)));
      case OpKind::kReadHandle:
        return read(op, fd);
      case OpKind::kStatHandle: {
        struct stat s {};
        if (::fstat(fd, &s) != 0) return OpResult::of(errno);
        return {0, static_cast<uint64_t>(s.st_size), {}};
      }
      case OpKind::kFsyncHandle:
        return answer(::fsync(fd));
      case OpKind::kFdatasyncHandle:
        return answer(::fdatasync(fd));
      default:
        return OpResult::of(ENOSYS);
    }
  }

  void walk_handle(uint32_t number, const std::map<ino_t, NodeId>& files, Tree* tree,
                   std::string* wrong) const {
    struct stat s {};
    if (::fstat(numbered_[number], &s) != 0) *wrong = "cannot stat a handle";
    std::string content(static_cast<size_t>(s.st_size), '\0');
    if (::pread(numbered_[number], content.data(), content.size(), 0) != s.st_size)
      *wrong = "cannot read a handle";
    const auto named = files.find(s.st_ino);
    const uint32_t links = named == files.end() ? 0 : tree->node(named->second).links;
    if (s.st_nlink != links) *wrong = "a handle leads to a file with another number of names";
    const NodeId node = tree->make_nameless(number);
    if (!content.empty()) tree->write(node, 0, std::as_bytes(std::span(content)));
  }

  void walk_mode(const std::string& path, NodeId node, Tree* tree) const {
    struct stat s {};
    if (::stat(path.c_str(), &s) == 0 && modes_count_)
      tree->set_mode(node, static_cast<uint16_t>(s.st_mode & kAllModeBits));
  }

  void walk(const Path& here, NodeId to, Tree* tree, std::map<ino_t, NodeId>* files,
            std::string* wrong) const {
    std::vector<std::string> names;
    DIR* dir = ::opendir(real(here).c_str());
    if (dir == nullptr) *wrong = "cannot open " + std::string(here);
    while (const dirent* entry = dir == nullptr ? nullptr : ::readdir(dir))
      if (!is_dots(entry->d_name)) names.emplace_back(entry->d_name);
    if (dir != nullptr) ::closedir(dir);
    for (const std::string& name : names) walk_entry(here.child(name), to, name, tree, files, wrong);
  }

  void walk_entry(const Path& path, NodeId directory, const std::string& name, Tree* tree,
                  std::map<ino_t, NodeId>* files, std::string* wrong) const {
    struct stat s {};
    if (::lstat(real(path).c_str(), &s) != 0) *wrong = "cannot stat " + std::string(path);
    const auto links = static_cast<uint32_t>(s.st_nlink);
    if (S_ISDIR(s.st_mode)) {
      const NodeId node = tree->make(directory, name, FileType::kDirectory);
      walk_xattrs(real(path), node, tree);
      walk_mode(real(path), node, tree);
      walk(path, node, tree, files, wrong);
      if (counts_directories_) tree->set_links(node, links);
      return;
    }
    const auto [known, is_new] = files->emplace(s.st_ino, kNoNode);
    if (!is_new) {
      tree->add_name(known->second, directory, name);
    } else {
      known->second = tree->make(directory, name, S_ISLNK(s.st_mode) ? FileType::kSymlink : FileType::kFile);
      const std::string content = content_of(path, s, wrong);
      if (!content.empty()) tree->write(known->second, 0, std::as_bytes(std::span(content)));
      if (!S_ISLNK(s.st_mode)) {
        walk_xattrs(real(path), known->second, tree);
        walk_mode(real(path), known->second, tree);
      }
    }
    tree->set_links(known->second, links);
  }

  // Bytes of a file, or the target of a link; as many as its size claims.
  std::string content_of(const Path& path, const struct stat& s, std::string* wrong) const {
    std::string content(static_cast<size_t>(s.st_size), '\0');
    ssize_t count = 0;
    if (S_ISLNK(s.st_mode)) {
      count = ::readlink(real(path).c_str(), content.data(), content.size());
    } else {
      const int fd = ::open(real(path).c_str(), O_RDONLY);
      count = ::pread(fd, content.data(), content.size(), 0);
      ::close(fd);
    }
    if (count != s.st_size) *wrong = "cannot read " + std::string(path);
    return content;
  }

  std::string prefix_;
  bool counts_directories_ = false;  // not all file systems do: 2 and one for each directory in it
  std::map<ino_t, int> handles_;
  std::array<int, Tree::kHandles> numbered_{-1, -1, -1, -1};
  bool modes_count_ = false;
};

}  // namespace sisyfs
