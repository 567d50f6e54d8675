// The tree against the file system that this test runs on: the same random calls go to both, and after
// each the errno and the whole tree must agree.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <random>

#include "tree/tree.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
int errno_of(int result) { return result < 0 ? errno : 0; }

class Linux {
 public:
  Linux() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sisyfs-tree-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data()) ? pattern : "";
    struct stat s {};
    counts_directories_ = ::stat(root_.c_str(), &s) == 0 && s.st_nlink == 2;
  }
  ~Linux() {
    std::error_code ignored;
    if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
  }
  bool usable() const { return !root_.empty(); }

  int create(const std::string& path) {
    return with_file(path, O_CREAT | O_EXCL | O_WRONLY, [](int) { return 0; });
  }
  int mkdir(const std::string& path) { return errno_of(::mkdir(real(path).c_str(), 0755)); }
  int unlink(const std::string& path) { return errno_of(::unlink(real(path).c_str())); }
  int rmdir(const std::string& path) { return errno_of(::rmdir(real(path).c_str())); }
  int rename(const std::string& a, const std::string& b) {
    return errno_of(::rename(real(a).c_str(), real(b).c_str()));
  }
  int link(const std::string& a, const std::string& b) {
    return errno_of(::link(real(a).c_str(), real(b).c_str()));
  }
  int symlink(const std::string& target, const std::string& path) {
    return errno_of(::symlink(target.c_str(), real(path).c_str()));
  }
  int write(const std::string& path, uint64_t offset, const std::string& data) {
    return with_file(path, O_WRONLY, [&](int fd) {
      return errno_of(static_cast<int>(::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset))));
    });
  }
  int truncate(const std::string& path, uint64_t size) {
    return errno_of(::truncate(real(path).c_str(), static_cast<off_t>(size)));
  }
  int read(const std::string& path, uint64_t offset, size_t length, std::string* out) {
    return with_file(path, O_RDONLY, [&](int fd) {
      out->resize(length);
      const ssize_t n = ::pread(fd, out->data(), length, static_cast<off_t>(offset));
      out->resize(n < 0 ? 0 : static_cast<size_t>(n));
      return errno_of(static_cast<int>(n));
    });
  }
  int stat(const std::string& path, FileType* type) {
    struct stat s {};
    const int error = errno_of(::stat(real(path).c_str(), &s));
    *type = type_of(s);
    return error;
  }
  int readdir(const std::string& path) {
    DIR* dir = ::opendir(real(path).c_str());
    if (!dir) return errno;
    ::closedir(dir);
    return 0;
  }

  Tree walk() {
    Tree tree;
    std::map<ino_t, std::string> files;
    walk("", &tree, &files);
    return tree;
  }

 private:
  std::string real(const std::string& path) const { return root_ + path; }
  static FileType type_of(const struct stat& s) {
    return S_ISDIR(s.st_mode)   ? FileType::kDirectory
           : S_ISLNK(s.st_mode) ? FileType::kSymlink
                                : FileType::kFile;
  }

  template <class Use>
  int with_file(const std::string& path, int flags, Use use) {
    const int fd = ::open(real(path).c_str(), flags, 0644);
    if (fd < 0) return errno;
    const int error = use(fd);
    ::close(fd);
    return error;
  }

  void walk(const std::string& prefix, Tree* tree, std::map<ino_t, std::string>* files) {
    for (const auto& entry : std::filesystem::directory_iterator(root_ + prefix)) {
      const std::string path = prefix + "/" + entry.path().filename().string();
      struct stat s {};
      ASSERT_EQ(::lstat(real(path).c_str(), &s), 0);
      const FileType type = type_of(s);
      if (type == FileType::kDirectory) {
        ASSERT_EQ(tree->mkdir(path), 0);
        walk(path, tree, files);
        if (counts_directories_) {
          ASSERT_EQ(tree->set_links(path, static_cast<uint32_t>(s.st_nlink)), 0);
        }
        continue;
      }
      if (const auto [known, is_new] = files->emplace(s.st_ino, path); !is_new) {
        ASSERT_EQ(tree->link(known->second, path), 0);
      } else if (type == FileType::kSymlink) {
        ASSERT_EQ(tree->symlink(std::filesystem::read_symlink(entry.path()).string(), path), 0);
      } else {
        std::string data;
        ASSERT_EQ(read(path, 0, static_cast<size_t>(s.st_size), &data), 0);
        ASSERT_EQ(tree->create(path), 0);
        ASSERT_EQ(tree->write(path, 0, bytes(data)), 0);
      }
      ASSERT_EQ(tree->set_links(path, static_cast<uint32_t>(s.st_nlink)), 0);
    }
  }

  std::string root_;
  bool counts_directories_ = false;
};

class Calls {
 public:
  explicit Calls(uint64_t seed) : random_(seed) {}

  // One random call on both; says which and with which errno.
  std::string next(Tree& tree, Linux& linux, int* tree_error, int* linux_error) {
    const std::string a = path(), b = path();
    const uint64_t offset = pick(10) == 0 ? 4000 + pick(200) : pick(4);
    const std::string data(pick(4), static_cast<char>('a' + pick(3)));
    auto both = [&](int from_tree, int from_linux, const std::string& what) {
      *tree_error = from_tree;
      *linux_error = from_linux;
      return what;
    };
    switch (pick(16)) {
      case 0:
      case 1:
        return both(tree.create(a), linux.create(a), "create " + a);
      case 2:
      case 3:
        return both(tree.mkdir(a), linux.mkdir(a), "mkdir " + a);
      case 4:
        return both(tree.unlink(a), linux.unlink(a), "unlink " + a);
      case 5:
        return both(tree.rmdir(a), linux.rmdir(a), "rmdir " + a);
      case 6:
      case 7:
      case 8:
        return both(tree.rename(a, b), linux.rename(a, b), "rename " + a + " " + b);
      case 9:
        return both(tree.link(a, b), linux.link(a, b), "link " + a + " " + b);
      case 10: {
        static const char* const kTargets[] = {"a", "b/a", ".", "c", "a/", "./b"};
        const std::string target = kTargets[pick(6)];
        return both(tree.symlink(target, a), linux.symlink(target, a), "symlink " + target + " " + a);
      }
      case 11:
      case 12:
        return both(tree.write(a, offset, bytes(data)), linux.write(a, offset, data), "write " + a);
      case 13:
        return both(tree.truncate(a, offset), linux.truncate(a, offset), "truncate " + a);
      case 14: {
        std::string from_tree(5, '\0'), from_linux;
        size_t count = 0;
        both(tree.read(a, offset, std::as_writable_bytes(std::span(from_tree)), &count),
             linux.read(a, offset, 5, &from_linux), "");
        from_tree.resize(count);
        EXPECT_EQ(from_tree, from_linux) << "read " << a;
        return "read " + a;
      }
      default: {
        Stat stat;
        FileType type{};
        Tree::Children entries;
        both(tree.stat(a, &stat), linux.stat(a, &type), "");
        EXPECT_EQ(tree.readdir(a, &entries), linux.readdir(a)) << "readdir " << a;
        if (*tree_error == 0) {
          EXPECT_EQ(stat.type, type);
        }
        return "stat " + a;
      }
    }
  }

 private:
  uint64_t pick(uint64_t n) { return random_() % n; }
  // Not the root: the real one has a parent, the tree's has not.
  std::string path() {
    std::string out;
    for (uint64_t parts = 1 + pick(3); parts > 0; --parts) out += std::string("/") + "abc"[pick(3)];
    return out;
  }
  std::mt19937_64 random_;
};

TEST(TreeAgainstLinuxTest, RandomCallsAgreeInErrnoAndTree) {
  std::map<int, int> errors;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Linux linux;
    ASSERT_TRUE(linux.usable());
    Tree tree;
    Calls calls(seed);
    for (int call = 0; call < 500; ++call) {
      const Tree before = tree;
      int from_tree = 0, from_linux = 0;
      const std::string what = calls.next(tree, linux, &from_tree, &from_linux);
      ASSERT_EQ(from_tree, from_linux) << what << " (seed " << seed << ", call " << call << ")\n"
                                       << listing(before);
      ASSERT_EQ(first_difference(tree, linux.walk()), "")
          << what << " (seed " << seed << ", call " << call << ")\n"
          << listing(before);
      if (from_tree != 0) {
        ASSERT_EQ(tree, before) << what;
      }
      ++errors[from_tree];
    }
  }
  for (int error : {0, ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, EINVAL, EPERM, ELOOP}) {
    EXPECT_GT(errors[error], 0) << "the calls never met errno " << error;
  }
}

}  // namespace
}  // namespace sisyfs
