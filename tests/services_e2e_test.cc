// sisyfs services: what file systems of the kernel keep. Guests are booted where user-mode Linux is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace sisyfs::services_e2e_test {
namespace {

using testing::HasSubstr;
using json = nlohmann::json;

bool has_guest() {
  return std::filesystem::exists("/usr/bin/linux.uml") && std::filesystem::exists("/sbin/mkfs.ext4");
}

#define NEEDS_GUEST() \
  if (!has_guest()) GTEST_SKIP() << "user-mode Linux (/usr/bin/linux.uml) or e2fsprogs is not installed"

const char* const kDurable =
    "--only fsync --only fsync_name --only fdatasync --only o_sync --only fsync_directory --only truncate ";

TEST(ServicesTest, Ext4KeepsWhatItClaims) {
  NEEDS_GUEST();
  const Answer a = run(std::string("services ext4 --progress off --json - ") + kDurable);
  ASSERT_EQ(a.code, 0) << a.text;
  const json services = json::parse(a.text)["targets"][0]["services"];
  ASSERT_EQ(services.size(), 6u);
  for (const auto& [name, cell] : services.items()) {
    EXPECT_EQ(cell.value("kept", false), true) << name << ": " << cell;
    EXPECT_GT(cell["crash_states"], 0) << name;
    EXPECT_EQ(cell["bound"], "all") << name;
  }
}

// The planted mistake: without flushes the disk's cache keeps what fsync has promised.
TEST(ServicesTest, WithoutBarriersFsyncIsBrokenAndItsTokenReplays) {
  NEEDS_GUEST();
  const Answer a =
      run("services ext4 --only fsync --progress off --json - --set mount=noatime,noinit_itable,nobarrier");
  ASSERT_EQ(a.code, 0) << a.text;
  const json cell = json::parse(a.text)["targets"][0]["services"]["fsync"];
  ASSERT_EQ(cell.value("broken", false), true) << cell;
  for (int i = 0; i < 3; ++i) {
    const Answer again = run("replay --quiet " + cell["token"].get<std::string>());
    EXPECT_EQ(again.code, 1) << again.text;
    EXPECT_THAT(again.text, HasSubstr("still happens"));
  }
}

// Story: the paper of eXplode (2006) found that a file of ext2 loses what fsync has made durable: it takes
// the indirect block of another file, and e2fsck repairs that block.
TEST(ServicesTest, FsyncOfExt2IsBrokenByAReusedIndirectBlock) {
  NEEDS_GUEST();
  const Answer a = run("services ext2 --only fsync --only fsync_directory --progress off");
  ASSERT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("ext2  broken   kept\n"));
  EXPECT_THAT(a.text, HasSubstr("ext2, fsync: /a: has other bytes from byte 12288 on"));
}

TEST(ServicesTest, WrongArgumentsAreRefused) {
  struct {
    const char *arguments, *says;
  } const cases[] = {
      {"link", "link is no file system of the kernel"},
      {"ext4 --only fsink", "unknown service 'fsink'; services are sync_mount, sync_mount_chmod, sync, "},
      {"ext4 --set contract=atomic", "services sets this itself"},
      {"ext4 --json - --markdown", "give --json a file"},
      {"ext4 --budget soon", "--budget"},
  };
  for (const auto& [arguments, says] : cases) {
    const Answer a = run(std::string("services ") + arguments);
    EXPECT_EQ(a.code, 2) << arguments << '\n' << a.text;
    EXPECT_THAT(a.text, HasSubstr(says)) << arguments;
  }
}

}  // namespace
}  // namespace sisyfs::services_e2e_test
