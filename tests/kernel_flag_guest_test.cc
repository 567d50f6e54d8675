// --kernel of check, services and replay: a user-mode Linux other than the packaged one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::kernel_flag_guest_test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Without barriers fsync keeps nothing: a finding within seconds.
std::string broken(const TemporaryDirectory& folder) {
  return "check ext4 --progress off --set mount=noatime,noinit_itable,nobarrier --set crash=prefixes "
         "--script " +
         folder.write("script", "create /a\nfsync /a\n") + " ";
}

class KernelFlagGuestTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_guest(file_system("ext4")); !why.empty()) GTEST_SKIP() << why;
  }
  // The packaged kernel in another place, with its modules beside it.
  std::string copied() const {
    const std::string kernel = folder_.file("linux");
    fs::copy_file(kPackagedGuest, kernel, fs::copy_options::overwrite_existing);
    if (!fs::exists(folder_.file("modules")))
      fs::create_symlink("/usr/lib/uml/modules", folder_.file("modules"));
    return kernel;
  }
  static std::string token_in(const std::string& text) {
    const size_t at = text.find("./sisyfs replay ") + 16;
    return text.substr(at, text.find('\n', at) - at);
  }
  TemporaryDirectory folder_;
};

TEST_F(KernelFlagGuestTest, WhatIsNoKernelIsRefusedAtOnce) {
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string command : {"check ext4 --depth 1", "services ext4 --only sync"}) {
    const auto refused = [&](const std::string& path, const char* why) {
      const Answer a = run(command + " --progress off --kernel " + path);
      EXPECT_EQ(a.code, 2) << a.text;
      EXPECT_THAT(a.text, HasSubstr(why)) << path;
    };
    refused("/nonexistent/linux", "does not exist");
    refused("/etc/passwd", "is not executable");
    refused("/tmp", "is not a file");
    refused("/bin/true", "is a program, and no kernel that runs as one");
    refused("/bin/cat", "is a program, and no kernel that runs as one");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60)) << "none is waited for";
  const Answer other = run("check journal --depth 1 --kernel " + std::string(kPackagedGuest));
  EXPECT_EQ(other.code, 2) << other.text;
  EXPECT_THAT(other.text, HasSubstr("--kernel cannot be used with journal"));
}

TEST_F(KernelFlagGuestTest, ATokenIsReplayedOnAnotherKernel) {
  const std::string kernel = copied();
  const Answer found = run(broken(folder_) + "--kernel " + kernel);
  ASSERT_EQ(found.code, 1) << found.text;
  const std::string token = token_in(found.text);
  const Answer again = run("replay --quiet " + token);
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("still happens (on Linux "));
  // The token names this kernel, which is gone now.
  fs::remove(kernel);
  const Answer gone = run("replay --quiet " + token);
  EXPECT_EQ(gone.code, 2) << gone.text;
  EXPECT_THAT(gone.text, HasSubstr(kernel + " does not exist"));
  const Answer packaged = run("replay --quiet --kernel " + std::string(kPackagedGuest) + " " + token);
  EXPECT_EQ(packaged.code, 1) << packaged.text;
  EXPECT_THAT(packaged.text, HasSubstr("still happens (on Linux "));
  const Answer wrong = run("replay --quiet --kernel /bin/true " + token);
  EXPECT_EQ(wrong.code, 2) << wrong.text;
}

TEST_F(KernelFlagGuestTest, ATokenOfAModelTakesNoKernel) {
  const Answer found =
      run("check journal --progress off --set fsck_dir=drop --set start=entry-free --depth 2");
  ASSERT_EQ(found.code, 1) << found.text;
  const Answer a = run("replay --quiet --kernel " + std::string(kPackagedGuest) + " " + token_in(found.text));
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("is no file system of a kernel"));
}

// A kernel that was built for this: scripts/guest_kernel.sh.
TEST_F(KernelFlagGuestTest, AnOwnKernelIsChecked) {
  const char* const own = std::getenv("SISYFS_GUEST_KERNEL");
  if (own == nullptr)
    GTEST_SKIP() << "SISYFS_GUEST_KERNEL names no kernel (scripts/guest_kernel.sh builds one)";
  for (const char* target : {"ext4", "xfs", "hfsplus", "overlay"}) {
    const Answer a =
        run(std::string("check ") + target + " --progress off --set crash=none --depth 1 --kernel " + own);
    EXPECT_EQ(a.code, 0) << target << '\n' << a.text;
  }
  const Answer found = run(broken(folder_));
  ASSERT_EQ(found.code, 1) << found.text;
  const Answer replayed = run("replay --quiet --kernel " + std::string(own) + " " + token_in(found.text));
  EXPECT_EQ(replayed.code, 1) << replayed.text;
}

}  // namespace
}  // namespace sisyfs::kernel_flag_guest_test
