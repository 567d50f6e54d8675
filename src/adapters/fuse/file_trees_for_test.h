// For tests: a directory as a map from paths to descriptions, of a FileStore and of a real folder.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "adapters/fuse/file_store.h"

namespace sisyfs {

// A folder that goes when the test does.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sisyfs-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

using FileTree = std::map<std::string, std::string>;

// Attributes come last.
inline std::string describe(mode_t mode, uint64_t links, const std::string& same_as,
                            const std::string& content,
                            const std::map<std::string, std::string>& attributes) {
  std::string out = fmt::format("mode {:o}, {} links, same as {}, {} bytes: {}", mode, links, same_as,
                                content.size(), content);
  out += " attributes";
  for (const auto& [name, value] : attributes) out += " " + name + "=" + value;
  return out;
}

inline void add_tree(FileStore& files, FileId folder, const std::string& at,
                     std::map<FileId, std::string>& seen, FileTree& out) {
  for (const auto& [name, id] : files.list(folder)) {
    const std::string path = at + name;
    const StoredFile& file = files.stat(id);
    const std::string same_as = seen.emplace(id, path).first->second;
    std::string content;
    if (file.type == S_IFLNK) content = files.target(id);
    if (file.type == S_IFREG) {
      content.resize(file.size + 10);
      content.resize(files.read(id, 0, std::as_writable_bytes(std::span(content))));
    }
    out[path] = describe(file.type | file.mode, file.links, same_as, content, files.attributes(id));
    if (file.is_directory()) add_tree(files, id, path + "/", seen, out);
  }
}
inline FileTree tree_of(FileStore& files) {
  FileTree out;
  std::map<FileId, std::string> seen;
  add_tree(files, kRootFile, "", seen, out);
  return out;
}

inline std::map<std::string, std::string> attributes_of(const std::string& path) {
  std::map<std::string, std::string> out;
  std::string names(4096, '\0');
  const ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  for (ssize_t i = 0; i < size; i += static_cast<ssize_t>(std::string(names.c_str() + i).size()) + 1) {
    const std::string name = names.c_str() + i;
    if (!name.starts_with("user.")) continue;
    std::string value(4096, '\0');
    value.resize(static_cast<size_t>(
        std::max<ssize_t>(0, lgetxattr(path.c_str(), name.c_str(), value.data(), value.size()))));
    out[name] = value;
  }
  return out;
}

// By counting: some file systems do not.
inline uint64_t links_of_folder(const std::filesystem::path& folder) {
  uint64_t links = 2;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    links += entry.is_directory() && !entry.is_symlink() ? 1 : 0;
  return links;
}

inline void add_tree(const std::string& folder, const std::string& at,
                     std::map<std::pair<dev_t, ino_t>, std::string>& seen, FileTree& out) {
  std::map<std::string, std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    entries[entry.path().filename().string()] = entry.path();
  for (const auto& [name, whole] : entries) {
    struct stat info {};
    if (lstat(whole.c_str(), &info) != 0) continue;
    const std::string path = at + name;
    const std::string same_as = seen.emplace(std::pair(info.st_dev, info.st_ino), path).first->second;
    std::string content;
    if (S_ISLNK(info.st_mode)) content = std::filesystem::read_symlink(whole).string();
    if (S_ISREG(info.st_mode)) {
      content.resize(static_cast<size_t>(info.st_size) + 10);
      const int fd = open(whole.c_str(), O_RDONLY);
      content.resize(static_cast<size_t>(std::max<ssize_t>(0, pread(fd, content.data(), content.size(), 0))));
      close(fd);
    }
    out[path] = describe(info.st_mode, S_ISDIR(info.st_mode) ? links_of_folder(whole) : info.st_nlink,
                         same_as, content, attributes_of(whole.string()));
    if (S_ISDIR(info.st_mode)) add_tree(whole.string(), path + "/", seen, out);
  }
}
inline FileTree tree_of(const std::string& folder) {
  FileTree out;
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  add_tree(folder, "", seen, out);
  return out;
}

}  // namespace sisyfs
