// --set start=IMAGE: searches of file systems of the kernel that begin on a disk image of the user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "adapters/kernel/tool.h"
#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::user_image_guest_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A small workload, so that each search takes seconds.
const char* const kQuick =
    " --progress off --set xattrs=off --set links=off --set mapped=off --set direct=off "
    "--set exchange=off --set modes=off --set commit=off --set truncates=zero --set offsets=start ";

class UserImageGuestTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
    if (find_tool("debugfs").empty()) GTEST_SKIP() << "debugfs is not installed (package e2fsprogs)";
  }

  // An image of this type with what these commands of debugfs make.
  std::string make(const std::string& type, const std::string& commands) const {
    const std::string path = folder_.file(type + ".img");
    std::ofstream(path).close();
    std::filesystem::resize_file(path, 4 << 20);
    const std::string journal = type == "ext4" ? " -J size=1" : "";
    const Answer made = run_line("/sbin/mkfs." + type + " -q -F -b 1024 -N 64" + journal + " " + path);
    EXPECT_EQ(made.code, 0) << made.text;
    const std::string script = folder_.write("commands", commands);
    const Answer filled = run_line("/sbin/debugfs -w -f " + script + " " + path);
    EXPECT_EQ(filled.code, 0) << filled.text;
    return path;
  }
  // Commands that make this file, which holds 1 KiB.
  std::string file(const std::string& name) const {
    return "write " + folder_.write("content", std::string(1024, 'k')) + " " + name + "\n";
  }
  static std::string token_in(const std::string& text) {
    const size_t at = text.find("./sisyfs replay ") + 16;
    return text.substr(at, text.find('\n', at) - at);
  }

  TemporaryDirectory folder_;
};

TEST_F(UserImageGuestTest, WhatTheImageHoldsIsKept) {
  const std::string image =
      make("ext4", file("keep") + "mkdir more\n" + file("more/and_more") + "symlink to keep\n");
  const Answer a = run("check ext4 --depth 1 --set start=" + image + kQuick);
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("PASS"));
}

// A file with a name of the workload is one of its files: it is renamed out of its directory.
const char* const kMove = "rename /b/a /a\nfsync /b\n";

TEST_F(UserImageGuestTest, AnExistingFileIsNotLostByARename) {
  const std::string image = make("ext4", "mkdir b\n" + file("b/a"));
  const std::string script = folder_.write("script", kMove);
  const Answer a =
      run("check ext4 --set crash=prefixes --script " + script + " --set start=" + image + kQuick);
  EXPECT_EQ(a.code, 0) << a.text;
}

// The same on a file system that does not promise it, held to that promise.
TEST_F(UserImageGuestTest, AnExistingFileThatIsLostIsFound) {
  const std::string image = make("ext2", "mkdir b\n" + file("b/a"));
  const std::string script = folder_.write("script", kMove);
  const std::string check = "check ext2 --script " + script + " --set start=" + image + kQuick;
  const Answer a = run(check + "--set contract=fsync --set crash=persisted --set disk=4096");
  ASSERT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("/b/a: is gone"));
  const std::string token = token_in(a.text);
  for (int i = 0; i < 3; ++i) {
    const Answer again = run("replay --quiet " + token);
    EXPECT_EQ(again.code, 1) << again.text;
    EXPECT_THAT(again.text, HasSubstr("still happens (on Linux "));
  }
  // Another image below the same path.
  (void)make("ext2", "mkdir b\n" + file("b/a") + file("c"));
  const Answer other = run("replay --quiet " + token);
  EXPECT_EQ(other.code, 2) << other.text;
  EXPECT_THAT(other.text, HasSubstr("is another image than the one of the finding"));
  std::filesystem::remove(image);
  const Answer gone = run("replay --quiet " + token);
  EXPECT_EQ(gone.code, 2) << gone.text;
  EXPECT_THAT(gone.text, HasSubstr("does not exist"));
}

TEST_F(UserImageGuestTest, WhatCannotBeAStartIsRefused) {
  const auto refused = [&](const std::string& settings, const std::string& why) {
    const Answer a = run("check ext4 --depth 1 " + settings + kQuick);
    EXPECT_EQ(a.code, 2) << settings << a.text;
    EXPECT_THAT(a.text, HasSubstr(why)) << settings;
    EXPECT_THAT(a.text, Not(HasSubstr("assertion"))) << settings;
  };
  const std::string good = make("ext4", file("keep"));
  refused("--set disk=8192 --set start=" + good, "has 4194304 bytes, and its size is that of the disk");
  refused("--set mkfs=-O+^metadata_csum --set start=" + good, "mkfs= makes a new file system");
  refused("--set first_mount=on --set start=" + good, "first_mount=on begins on a new disk");
  refused("--set start_digest=abc", "start_digest is for a start that is an image");
  refused("--set start=" + folder_.file("none"), "does not exist");
  refused("--set start=" + folder_.file(""), "is not a file");
  refused("--set start=" + folder_.write("text", "no file system"), "cannot be used as ext4");
  std::string zeros = folder_.write("zeros", "");
  std::filesystem::resize_file(zeros, 2 << 20);
  refused("--set start=" + zeros, "cannot be used as ext4: answers EINVAL to mount");
  const std::string dev = make("ext4", "mknod device c 1 3\n");
  refused("--set start=" + dev, "/device cannot be read: ");
  const std::string socket =
      make("ext4", "mkdir d\n" + file("d/pipe") + "set_inode_field d/pipe mode 010644\n");
  refused("--set start=" + socket, "/d/pipe cannot be read: ");
  const std::string name = make("ext4", file(std::string(60, 'n')));
  refused("--set start=" + name, "the tree that is expected cannot hold it");
}

TEST_F(UserImageGuestTest, ADamagedImageIsRefusedOrUsed) {
  const std::string image = make("ext4", file("keep"));
  for (const int64_t at : {1024, 2048, 8192, 16384, 40960}) {
    const std::string damaged = folder_.file("damaged.img");
    std::filesystem::copy_file(image, damaged, std::filesystem::copy_options::overwrite_existing);
    std::fstream(damaged, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(at)
        .write(std::string(512, '\x5a').c_str(), 512);
    const Answer a = run("check ext4 --depth 1 --set crash=none --set start=" + damaged + kQuick);
    EXPECT_TRUE(a.code == 2 || a.code == 0 || a.code == 1) << at << ": " << a.text;
    if (a.code == 2) {
      EXPECT_THAT(a.text, HasSubstr("start=")) << a.text;
    }
  }
}

}  // namespace
}  // namespace sisyfs::user_image_guest_test
