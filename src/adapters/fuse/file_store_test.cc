#include "adapters/fuse/file_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "adapters/fuse/file_trees_for_test.h"

namespace sisyfs::file_store_test {
namespace {

using testing::HasSubstr;

FileStore::New wanted(mode_t mode, const std::string& target = "") {
  FileStore::New out;
  out.mode = mode;
  out.target = target;
  return out;
}

// Makes the same calls to a FileStore and to a real directory, and compares what they answer.
class Both {
 public:
  Both() { umask(0); }

  const ScratchFolder real;
  FileStore store;

  // Whether both gave the same answer. Calls that the real file system does not have are not made.
  bool create(const std::string& path, mode_t mode) {
    if (!reach(path)) return true;
    const int fd = open(at(path).c_str(), O_CREAT | O_EXCL | O_WRONLY, mode);
    const int real_error = fd < 0 ? errno : 0;
    if (fd >= 0) close(fd);
    return same("create " + path, real_error, make(path, wanted(S_IFREG | mode)));
  }
  bool mkdir(const std::string& path, mode_t mode) {
    return !reach(path) ||
           same("mkdir " + path, error(::mkdir(at(path).c_str(), mode)), make(path, wanted(S_IFDIR | mode)));
  }
  bool symlink(const std::string& target, const std::string& path) {
    return !reach(path) || same("symlink " + path, error(::symlink(target.c_str(), at(path).c_str())),
                                make(path, wanted(S_IFLNK | 0777, target)));
  }
  bool link(const std::string& path, const std::string& name) {
    const FileId object = find(path);
    if (object == kNoFile || !reach(name)) return true;
    return same("link " + path + " " + name, error(::link(at(path).c_str(), at(name).c_str())),
                store.link({}, object, folder_of(name), name_of(name)));
  }
  bool unlink(const std::string& path) {
    return !reach(path) || same("unlink " + path, error(::unlink(at(path).c_str())),
                                store.unlink({}, folder_of(path), name_of(path)));
  }
  bool rmdir(const std::string& path) {
    return !reach(path) || same("rmdir " + path, error(::rmdir(at(path).c_str())),
                                store.rmdir({}, folder_of(path), name_of(path)));
  }
  bool rename(const std::string& from, const std::string& to, unsigned flags) {
    // The kernel itself refuses to move a folder into itself.
    if (!reach(from) || !reach(to) || (from + "/").starts_with(to + "/") ||
        (to + "/").starts_with(from + "/"))
      return true;
    const int real_error = error(renameat2(AT_FDCWD, at(from).c_str(), AT_FDCWD, at(to).c_str(), flags));
    if (real_error == EINVAL) return true;  // a flag that the real file system does not have
    return same("rename " + from + " " + to + " " + std::to_string(flags), real_error,
                store.rename({}, folder_of(from), name_of(from), folder_of(to), name_of(to), flags));
  }
  bool write(const std::string& path, uint64_t offset, const std::string& bytes) {
    const FileId file = find(path);
    if (file == kNoFile || store.type_of(file) != S_IFREG) return true;
    const int fd = open(at(path).c_str(), O_WRONLY);
    const ssize_t count = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    close(fd);
    return same("write " + path, count == static_cast<ssize_t>(bytes.size()) ? 0 : EIO,
                store.write({}, file, offset, std::as_bytes(std::span(bytes))));
  }
  bool truncate(const std::string& path, uint64_t size) {
    const FileId object = find(path);
    if (object == kNoFile || store.type_of(object) == S_IFLNK) return true;
    return same("truncate " + path, error(::truncate(at(path).c_str(), static_cast<off_t>(size))),
                store.truncate({}, object, size));
  }
  bool fallocate(const std::string& path, int mode, uint64_t offset, uint64_t length) {
    const FileId file = find(path);
    if (file == kNoFile || store.type_of(file) != S_IFREG) return true;
    const int fd = open(at(path).c_str(), O_WRONLY);
    const int real_error =
        error(::fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(length)));
    close(fd);
    if (real_error == EOPNOTSUPP) return true;
    return same("fallocate " + path, real_error, store.fallocate({}, file, mode, offset, length));
  }
  bool chmod(const std::string& path, mode_t mode) {
    const FileId object = find(path);
    if (object == kNoFile || store.type_of(object) == S_IFLNK) return true;
    return same("chmod " + path, error(::chmod(at(path).c_str(), mode)), store.set_mode({}, object, mode));
  }
  bool set_attribute(const std::string& path, const std::string& name, const std::string& value, int flags) {
    const FileId object = find(path);
    if (object == kNoFile || store.type_of(object) == S_IFLNK) return true;
    const int real_error = error(setxattr(at(path).c_str(), name.c_str(), value.data(), value.size(), flags));
    if (real_error == EOPNOTSUPP) return true;
    return same("setxattr " + path, real_error, store.set_attribute({}, object, name, value, flags));
  }
  bool remove_attribute(const std::string& path, const std::string& name) {
    const FileId object = find(path);
    if (object == kNoFile || store.type_of(object) == S_IFLNK) return true;
    const int real_error = error(removexattr(at(path).c_str(), name.c_str()));
    if (real_error == EOPNOTSUPP) return true;
    return same("removexattr " + path, real_error, store.remove_attribute({}, object, name));
  }

  const std::string& last() const { return last_; }

 private:
  std::string at(const std::string& path) const { return real.path() + "/" + path; }
  static int error(int result) { return result < 0 ? errno : 0; }
  bool same(const std::string& call, int real_error, int store_error) {
    last_ = call;
    EXPECT_EQ(store_error, real_error) << call;
    return store_error == real_error;
  }
  FileId find(const std::string& path) {
    const size_t slash = path.rfind('/');
    const FileId folder = slash == std::string::npos ? kRootFile : find(path.substr(0, slash));
    if (folder == kNoFile || store.type_of(folder) != S_IFDIR) return kNoFile;
    return store.lookup(folder, name_of(path));
  }
  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  FileId folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? kRootFile : find(path.substr(0, slash));
  }
  // The kernel asks for nothing in what is no folder.
  bool reach(const std::string& path) {
    const FileId folder = folder_of(path);
    return folder != kNoFile && store.type_of(folder) == S_IFDIR;
  }
  int make(const std::string& path, FileStore::New file) {
    FileId made = kNoFile;
    file.uid = geteuid();
    file.gid = getegid();
    return store.create({}, folder_of(path), name_of(path), file, made);
  }

  std::string last_;
};

bool random_call(Both& both, std::mt19937& random) {
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  static const std::vector<std::string> kPaths{"a",   "b",   "d",     "e",   "d/a",
                                               "d/b", "d/f", "d/f/a", "e/a", "e/d"};
  const std::string path = kPaths[below(kPaths.size())], other = kPaths[below(kPaths.size())];
  switch (below(14)) {
    case 0:
      return both.create(path, 0600 + below(2) * 044);
    case 1:
      return both.mkdir(path, 0755);
    case 2:
      return both.symlink(std::string(1 + below(30), 't'), path);
    case 3:
      return both.link(path, other);
    case 4:
      return both.unlink(path);
    case 5:
      return both.rmdir(path);
    case 6:
    case 7: {
      static constexpr unsigned kFlags[] = {0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};
      return both.rename(path, other, kFlags[below(4)]);
    }
    case 8:
    case 9:
      return both.write(path, below(12000), std::string(1 + below(9000), static_cast<char>('a' + below(26))));
    case 10:
      return both.truncate(path, below(2) * below(15000));
    case 11: {
      static constexpr int kModes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                       FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE};
      return both.fallocate(path, kModes[below(5)], below(12000), 1 + below(9000));
    }
    case 12:
      return both.chmod(path, 0700 + below(0100));
    default: {
      static constexpr int kFlags[] = {0, XATTR_CREATE, XATTR_REPLACE};
      const std::string name = below(2) == 0 ? "user.a" : "user.b";
      return below(3) == 0 ? both.remove_attribute(path, name)
                           : both.set_attribute(path, name, std::string(below(20), 'v'), kFlags[below(3)]);
    }
  }
}

TEST(FileStoreTest, AnswersAndHoldsWhatARealDirectoryDoes) {
  size_t calls = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    Both both;
    for (int i = 0; i < 150; ++i) {
      const std::string before = both.last();
      ASSERT_TRUE(random_call(both, random)) << "seed " << seed << ", call " << i;
      if (both.last() == before) continue;
      ++calls;
      ASSERT_EQ(tree_of(both.store), tree_of(both.real.path())) << "seed " << seed << ": " << both.last();
    }
  }
  EXPECT_GT(calls, 1500U);
}

TEST(FileStoreTest, LoadTakesOverWhatAFolderHolds) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    Both both;
    for (int i = 0; i < 100; ++i) random_call(both, random);
    FileStore loaded;
    ASSERT_TRUE(loaded.load(both.real.path(), 1 << 20));
    std::map<std::string, std::string> expected = tree_of(both.real.path());
    for (auto& [path, text] : expected)
      text = text.substr(0, text.find(" attributes"));  // they are not taken over
    std::map<std::string, std::string> taken = tree_of(loaded);
    for (auto& [path, text] : taken) text = text.substr(0, text.find(" attributes"));
    EXPECT_EQ(taken, expected) << seed;
  }
}

TEST(FileStoreTest, LoadLeavesOutWhatIsNoFile) {
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  FileStore store;
  ASSERT_TRUE(store.load(folder.path(), 1 << 20));
  EXPECT_TRUE(store.list(kRootFile).empty());
}

TEST(FileStoreTest, LoadOfTooMuchOrOfNothingIsRefusedWithAWayOut) {
  const ScratchFolder folder;
  const int fd = open((folder.path() + "/a").c_str(), O_CREAT | O_WRONLY, 0600);
  const std::string bytes(3 * kFilePageBytes, 'a');
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(fd);
  FileStore exact, small, none;
  EXPECT_TRUE(exact.load(folder.path(), 3 * kFilePageBytes));
  const Status too_much = small.load(folder.path(), 2 * kFilePageBytes);
  ASSERT_FALSE(too_much);
  EXPECT_THAT(too_much.error().message, HasSubstr("--dir"));
  const Status no_folder = none.load(folder.path() + "/nothing", 1 << 20);
  ASSERT_FALSE(no_folder);
  EXPECT_THAT(no_folder.error().message, HasSubstr("--dir"));
}

TEST(FileStoreTest, NameThatIsTooLongIsRefused) {
  FileStore store;
  FileId made = kNoFile;
  EXPECT_EQ(store.create({}, kRootFile, std::string(255, 'a'), wanted(S_IFREG | 0600), made), 0);
  EXPECT_EQ(store.create({}, kRootFile, std::string(256, 'a'), wanted(S_IFREG | 0600), made), ENAMETOOLONG);
}

}  // namespace
}  // namespace sisyfs::file_store_test
