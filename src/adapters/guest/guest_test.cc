// What needs no kernel. The rest is in tests/kernel_guest_test.cc.
#include "adapters/guest/guest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "adapters/guest/guest_files.h"
#include "adapters/guest/kernel_program.h"

namespace sisyfs::guest_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "sisyfs-guest-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string add_program(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    chmod((path_ / name).c_str(), 0755);
    return *this / name;
  }

 private:
  fs::path path_;
};

TEST(GuestKernelTest, APathThatIsNoProgramIsRefused) {
  const Folder folder;
  std::ofstream(folder / "text") << "no program";
  for (const std::string& path : {folder / "gone", folder / "text", std::string("/"), std::string()}) {
    const Result<GuestKernel> kernel = GuestKernel::find(path);
    ASSERT_FALSE(kernel) << path;
    EXPECT_EQ(kernel.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(kernel.error().message, HasSubstr("--kernel takes a user-mode Linux"));
  }
}

TEST(GuestKernelTest, ModulesAreFoundBesideTheProgramOrWhereThePackageHasThem) {
  const Folder folder;
  fs::create_directories(folder / "own/modules/6.12.1");
  fs::create_directories(folder / "lib/uml/modules/6.1.9");
  fs::create_directories(folder / "bin");
  EXPECT_TRUE(modules_of(folder / "own/linux").ends_with("/own/modules/6.12.1"));
  EXPECT_TRUE(modules_of(folder / "bin/linux.uml").ends_with("/lib/uml/modules/6.1.9"));
  EXPECT_EQ(modules_of(folder / "alone/by/itself/linux"), "");
}

TEST(GuestTest, AProgramThatIsNoKernelIsAnError) {
  const Folder folder;
  for (const char* text : {"#!/bin/sh\nexit 3\n", "#!/bin/sh\necho hello\n", "#!/nonexistent\n"}) {
    GuestKernel kernel;
    kernel.program = folder.add_program("linux", text);
    const auto guest = Guest::boot(kernel, {.block_size = 512, .block_count = BlockCount(64)});
    ASSERT_FALSE(guest) << text;
    EXPECT_EQ(guest.error().kind, ErrorKind::kSystem);
    EXPECT_THAT(guest.error().message, HasSubstr("does not start: the guest kernel has ended"));
  }
}

TEST(GuestTest, AProgramThatSaysNothingIsGivenUp) {
  const Folder folder;
  GuestKernel kernel;
  kernel.program = folder.add_program("linux", "#!/bin/sh\nexec /bin/sleep 1000\n");
  kernel.patience = std::chrono::seconds(1);
  const auto guest = Guest::boot(kernel, {.block_size = 512, .block_count = BlockCount(64)});
  ASSERT_FALSE(guest);
  EXPECT_THAT(guest.error().message, HasSubstr("does not start: the guest kernel does not answer"));
}

TEST(GuestTest, AFolderOfModulesWithoutAnIndexIsAnError) {
  const Folder folder;
  GuestKernel kernel;
  kernel.program = folder.add_program("linux", "#!/bin/sh\n");
  kernel.modules = folder / "modules/1";
  const auto guest = Guest::boot(kernel, {.block_size = 512, .block_count = BlockCount(64)});
  ASSERT_FALSE(guest);
  EXPECT_THAT(guest.error().message, HasSubstr("modules/1/modules.dep"));
}

TEST(GuestFilesTest, ThePartsOfAGuestAreInTheProgram) {
  for (const auto bytes : {guest_agent(), guest_shim(), still_time()}) {
    ASSERT_GT(bytes.size(), 1000u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 4), "\177ELF");
  }
}

}  // namespace
}  // namespace sisyfs::guest_test
