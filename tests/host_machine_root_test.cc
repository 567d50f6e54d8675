// The kernel of the host as a machine: what it mounts is what is served, and all of it goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "host_for_test.h"

namespace sisyfs::host_machine_root_test {
namespace {

using testing::HasSubstr;

const FileSystem& ext4() { return *file_system("ext4"); }

class HostFileSystemRootTest : public testing::TestWithParam<const char*> {};

TEST_P(HostFileSystemRootTest, KeepsWhatIsSynced) {
  const FileSystem& fs = *file_system(GetParam());
  if (const std::string why = why_not_on_host(fs); !why.empty()) GTEST_SKIP() << why;
  HostWithDisk one(fs);
  ASSERT_TRUE(one.started());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  EXPECT_EQ(one.write("/a", "hello"), 0);
  EXPECT_EQ(one.call(guest::Call::kMkdir, "/d", "", 0755), 0);
  EXPECT_EQ(one.create("/a"), EEXIST);
  one.disk().requests.clear();
  EXPECT_EQ(one.call(guest::Call::kSync), 0);
  EXPECT_THAT(one.disk().requests, HasSubstr("W"));
  if (fs.mount_recovers) {
    EXPECT_THAT(one.disk().requests, HasSubstr("flush"));
  }
  EXPECT_EQ(one.walk(), "// /a 5 /d/ ");
  EXPECT_EQ(one.unmount(), 0);
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.walk(), "// /a 5 /d/ ");
  EXPECT_EQ(one.read("/a"), "hello");
  EXPECT_EQ(one.unmount(true), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, HostFileSystemRootTest,
                         testing::Values("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs-posix", "vfat", "jfs"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

// Pages of the device must not outlive the disk that they were read from.
TEST(HostMachineRootTest, ADiskThatIsReplacedIsReadAnew) {
  if (const std::string why = why_not_on_host(ext4()); !why.empty()) GTEST_SKIP() << why;
  HostWithDisk one(ext4());
  ASSERT_TRUE(one.started());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.unmount(), 0);
  const ToyDisk empty = one.disk();
  for (int i = 0; i < 40; ++i) {
    one.disk() = empty;
    const std::string file = "/file" + std::to_string(i);
    ASSERT_EQ(one.mount(), 0);
    EXPECT_EQ(one.walk(), "// ");
    EXPECT_EQ(one.create(file), 0);
    EXPECT_EQ(one.call(guest::Call::kSync), 0);
    ASSERT_EQ(one.unmount(), 0);
    ASSERT_EQ(one.mount(), 0);
    EXPECT_EQ(one.walk(), "// " + file + " 0 ");
    ASSERT_EQ(one.unmount(true), 0);
  }
}

// A power cut loses what was not flushed; the journal is replayed.
TEST(HostMachineRootTest, FlushesArrive) {
  if (const std::string why = why_not_on_host(ext4()); !why.empty()) GTEST_SKIP() << why;
  HostWithDisk one(ext4());
  ASSERT_TRUE(one.started());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  EXPECT_EQ(one.call(guest::Call::kFsync, "/a"), 0);
  EXPECT_EQ(one.create("/b"), 0);
  one.disk().cut_power();
  const ToyDisk left = one.disk();
  EXPECT_EQ(one.unmount(true), 0);
  one.disk() = left;
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.walk(), "// /a 0 ");
}

// The kernel notes the size of each new loop device. Its lines about mounts are not always printed.
TEST(HostMachineRootTest, TheReleaseAndTheLogAreThoseOfTheHost) {
  if (const std::string why = why_not_on_host(ext4()); !why.empty()) GTEST_SKIP() << why;
  HostWithDisk one(ext4());
  ASSERT_TRUE(one.started());
  EXPECT_NE(one.host().release(), "");
  if (access("/dev/kmsg", R_OK) != 0) GTEST_SKIP() << "the log of the kernel cannot be read";
  EXPECT_THAT(one.host().take_printed(), HasSubstr(one.host().device() + ": "));
}

// Whether neither of them is there, nor their loop device, at the latest after some seconds.
bool are_gone(const std::vector<pid_t>& processes, const std::string& device) {
  for (int i = 0; i < 1000; ++i) {
    bool there = loop_devices().contains(device);
    for (const pid_t process : processes) there = there || kill(process, 0) == 0;
    if (!there) return true;
    usleep(10'000);
  }
  return false;
}

TEST(HostMachineRootTest, NothingIsLeftOfAMountedDisk) {
  if (const std::string why = why_not_on_host(ext4()); !why.empty()) GTEST_SKIP() << why;
  HostWithDisk one(ext4());
  ASSERT_TRUE(one.started());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  const std::string device = one.host().device();
  EXPECT_TRUE(loop_devices().contains(device));
  const std::vector<pid_t> both = {one.host().agent(), one.host().disk_server()};
  one.stop();
  EXPECT_TRUE(are_gone(both, device));
}

class KilledRootTest : public testing::TestWithParam<bool> {};

TEST_P(KilledRootTest, IsToldAndNothingIsLeft) {
  if (const std::string why = why_not_on_host(ext4()); !why.empty()) GTEST_SKIP() << why;
  const bool agent = GetParam();
  HostWithDisk one(ext4());
  ASSERT_TRUE(one.started());
  ASSERT_EQ(one.mount(), 0);
  const std::string device = one.host().device();
  const std::vector<pid_t> both = {one.host().agent(), one.host().disk_server()};
  kill(agent ? both[0] : both[1], SIGKILL);
  // Without its disk a call fails, or its process is found to be gone.
  const int created = one.create("/a"), synced = one.call(guest::Call::kSync);
  EXPECT_TRUE(created != 0 || synced != 0);
  if (agent) {
    EXPECT_FALSE(one.host().alive());
    EXPECT_THAT(one.host().trouble(), HasSubstr("has ended the process that made the call"));
  }
  one.stop();
  EXPECT_TRUE(are_gone(both, agent ? device : ""));
}

INSTANTIATE_TEST_SUITE_P(Which, KilledRootTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Agent" : "DiskServer"; });

TEST(HostMachineRootTest, ATypeThatTheKernelHasNotIsRefusedByName) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const Status s = HostMachine::possible("nosuchfs");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(s.error().message, HasSubstr("nosuchfs"));
}

}  // namespace
}  // namespace sisyfs::host_machine_root_test
