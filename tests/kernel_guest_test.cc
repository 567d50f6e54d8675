// Guest: a booted kernel does what it is told, the same each time, and its end is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <string>

#include "adapters/kernel/console.h"
#include "adapters/kernel/console_lines_for_test.h"
#include "guest_for_test.h"

namespace sisyfs::kernel_guest_test {
namespace {

using guest::Call;
using guest::Do;
using guest::Plant;
using testing::HasSubstr;

const FileSystem& ext4() { return *file_system("ext4"); }

int error_of(const Guest::Reply& reply) { return reply.alive ? reply.error : -1; }

class KernelGuestTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_guest(&ext4()); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(KernelGuestTest, FilesAreWrittenAndReadBack) {
  GuestWithDisk one(ext4());
  ASSERT_TRUE(one.booted());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  EXPECT_EQ(one.create("/a"), EEXIST);
  EXPECT_EQ(one.write("/a", "some bytes"), 0);
  EXPECT_EQ(one.read("/a"), "some bytes");
  EXPECT_EQ(one.read("/b"), "(errno 2)");
  EXPECT_EQ(one.unmount(), 0);
  EXPECT_EQ(one.mount(), 0);
  EXPECT_EQ(one.read("/a"), "some bytes");
  EXPECT_EQ(complaint_in(one.guest().take_printed()).line, "");
}

TEST_F(KernelGuestTest, APowerCutTakesWhatWasNotSynced) {
  GuestWithDisk one(ext4());
  ASSERT_TRUE(one.booted());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  EXPECT_EQ(one.write("/a", "kept"), 0);
  EXPECT_EQ(one.call(Call::kFsync, "/a"), 0);
  EXPECT_EQ(one.create("/b"), 0);
  one.disk().cut_power();
  // What is written from here on is the past of another disk.
  ToyDisk nowhere(std::vector<std::byte>(ext4().kibibytes * 1024));
  one.guest().attach(&nowhere);
  EXPECT_EQ(one.unmount(true), 0);
  one.guest().attach(&one.disk());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.read("/a"), "kept");
  EXPECT_EQ(one.read("/b"), "(errno 2)");
}

// The same on disks that lie: what the checker says of a file system hangs on the disk that it serves.
TEST_F(KernelGuestTest, ADiskThatDropsFlushesLosesSyncedFiles) {
  for (const bool fua_too : {false, true}) {
    GuestWithDisk one(ext4());
    ASSERT_TRUE(one.booted());
    one.disk().ignores_flush = true;
    one.disk().ignores_fua = fua_too;
    ASSERT_EQ(one.mount(), 0);
    EXPECT_EQ(one.create("/a"), 0);
    EXPECT_EQ(one.write("/a", "kept"), 0);
    EXPECT_EQ(one.call(Call::kFsync, "/a"), 0);
    one.disk().cut_power();
    ToyDisk nowhere(std::vector<std::byte>(ext4().kibibytes * 1024));
    one.guest().attach(&nowhere);
    (void)one.unmount(true);
    one.guest().attach(&one.disk());
    const int error = one.mount();
    EXPECT_TRUE(error != 0 || one.read("/a") != "kept") << fua_too;
  }
}

// Story: ext4 keeps references to blocks of its fast commits after an unmount. They stayed in the kernel's
// cache, and the next mount, of another disk, recovered a file from them.
TEST_F(KernelGuestTest, AMountReadsNothingThatTheDiskHeldBefore) {
  const FileSystem& fs = *file_system("ext4-fast-commit");
  GuestWithDisk one(fs);
  ASSERT_TRUE(one.booted());
  const ToyDisk fresh = one.disk();
  ToyDisk nowhere = fresh;
  const auto drop = [&] {
    one.guest().attach(&nowhere);
    EXPECT_EQ(one.unmount(true), 0);
    one.guest().attach(&one.disk());
  };
  std::map<size_t, ToyDisk> cut;  // by the bytes of the synced file
  for (const size_t bytes : {1000, 16000, 5000}) {
    one.disk() = fresh;
    ASSERT_EQ(one.mount(), 0);
    EXPECT_EQ(one.create("/a"), 0);
    EXPECT_EQ(one.call(Call::kSync), 0);
    EXPECT_EQ(one.write("/a", std::string(bytes, 'x')), 0);
    EXPECT_EQ(one.call(Call::kFsync, "/a"), 0);
    one.disk().cut_power();
    drop();
    cut.emplace(bytes, one.disk());
  }
  for (int round = 0; round < 3; ++round)
    for (const auto& [bytes, disk] : cut) {
      one.disk() = disk;
      ASSERT_EQ(one.mount(), 0);
      EXPECT_EQ(one.read("/a").size(), bytes) << round;
      drop();
    }
}

// One round of calls, from the same disk and at the same time of day.
std::string requests_of_a_round(GuestWithDisk& one, const ToyDisk& fresh) {
  one.disk() = fresh;
  EXPECT_EQ(one.set_clock(1'700'000'000), 0);
  EXPECT_EQ(one.mount(MS_NOATIME), 0);
  EXPECT_EQ(one.call(Call::kMkdir, "/d", "", 0755), 0);
  EXPECT_EQ(one.create("/d/a"), 0);
  EXPECT_EQ(one.write("/d/a", std::string(9000, 'x')), 0);
  EXPECT_EQ(one.call(Call::kFsync, "/d/a"), 0);
  EXPECT_EQ(one.set_clock(1'700'000'060), 0);
  EXPECT_EQ(one.call(Call::kRename, "/d/a", "/b"), 0);
  EXPECT_EQ(one.create("/c"), 0);
  EXPECT_EQ(one.call(Call::kSync), 0);
  EXPECT_EQ(one.call(Call::kTruncate, "/b"), 0);
  EXPECT_EQ(one.unmount(), 0);
  return one.disk().requests;
}

class SameRequestsGuestTest : public testing::TestWithParam<const char*> {};

TEST_P(SameRequestsGuestTest, TheSameCallsMakeTheSameRequests) {
  const FileSystem& fs = *file_system(GetParam());
  if (const std::string why = why_no_guest(&fs); !why.empty()) GTEST_SKIP() << why;
  GuestWithDisk one(fs);
  ASSERT_TRUE(one.booted());
  if (!fs.rare.below.type.empty()) one.make_layers();
  const ToyDisk fresh = one.disk();
  const std::string first = requests_of_a_round(one, fresh);
  EXPECT_THAT(first, HasSubstr("flush"));
  for (int round = 1; round < 50; ++round)
    ASSERT_EQ(requests_of_a_round(one, fresh), first) << "round " << round;
  // The journal below an overlay is checkpointed in an order that depends on what the guest did before.
  if (!fs.rare.below.type.empty()) return;
  GuestWithDisk other(fs);
  ASSERT_TRUE(other.booted());
  EXPECT_EQ(requests_of_a_round(other, fresh), first) << "another guest";
}

std::string name_of(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Not ext2: its last writes, from the cache of the device, come in two orders.
INSTANTIATE_TEST_SUITE_P(FileSystems, SameRequestsGuestTest,
                         testing::Values("ext4", "xfs", "btrfs", "f2fs-posix", "hfsplus", "overlay"),
                         name_of);

// What lies below is left alone: a file is copied up when it is changed, and keeps its name and number.
TEST_F(KernelGuestTest, AnOverlayChangesNothingBelow) {
  const FileSystem& overlay = *file_system("overlay");
  GuestWithDisk one(overlay);
  ASSERT_TRUE(one.booted());
  one.make_layers();
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.read("/low"), "from below");
  EXPECT_EQ(one.write("/low", "FROM"), 0);
  EXPECT_EQ(one.read("/low"), "FROM below");
  EXPECT_EQ(one.call(Call::kFsync, "/low"), 0);
  EXPECT_EQ(one.unmount(), 0);
  ASSERT_EQ(error_of(one.guest().run({.what = Do::kMount},
                                     {overlay.rare.below.type, overlay.rare.below.mount, ""})),
            0);
  EXPECT_EQ(one.read("/lower/low"), "from below");
  EXPECT_EQ(one.read("/upper/low"), "FROM below");
  EXPECT_EQ(one.unmount(), 0);
}

// Story: a mount over a file system that fails left the one below mounted, and the next mount found it busy.
TEST_F(KernelGuestTest, AMountThatFailsLeavesNothingBelow) {
  const FileSystem& overlay = *file_system("overlay");
  GuestWithDisk one(overlay);
  ASSERT_TRUE(one.booted());
  EXPECT_EQ(one.mount(), ENOENT) << "there are no layers yet";
  one.make_layers();
  EXPECT_EQ(one.mount(), 0);
  EXPECT_EQ(one.unmount(), 0);
}

// Its unmount is noted on the disk. Without the note the kernel mounts for reading alone.
TEST_F(KernelGuestTest, HfsplusIsMountedForWritingOnceItIsMarkedClean) {
  const FileSystem& fs = *file_system("hfsplus");
  GuestWithDisk one(fs);
  ASSERT_TRUE(one.booted());
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  EXPECT_EQ(one.call(Call::kSync), 0);
  one.disk().cut_power();
  std::vector<std::byte> left(fs.kibibytes * 1024);
  ASSERT_EQ(one.disk().read(0, 0, left), 0);
  ToyDisk nowhere(left);
  one.guest().attach(&nowhere);
  (void)one.unmount(true);
  ToyDisk dirty(left);
  one.guest().attach(&dirty);
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.read("/a"), "") << "it is there";
  EXPECT_EQ(one.create("/b"), EROFS);
  EXPECT_EQ(one.unmount(), 0);
  EXPECT_TRUE(fs.rare.mend(left));
  ToyDisk mended(left);
  one.guest().attach(&mended);
  ASSERT_EQ(one.mount(), 0);
  EXPECT_EQ(one.read("/a"), "");
  EXPECT_EQ(one.create("/b"), 0);
  EXPECT_EQ(one.unmount(), 0);
}

TEST_F(KernelGuestTest, EachComplaintIsHeardOnTheConsole) {
  GuestWithDisk one(ext4());
  ASSERT_TRUE(one.booted());
  ASSERT_EQ(one.mount(), 0);
  (void)one.guest().take_printed();
  const auto heard = [&](const std::string& line) {
    EXPECT_TRUE(one.guest().run({.what = Do::kMessage}, {"<4>" + line, "", ""}).alive);
    const std::string printed = one.guest().take_printed();
    EXPECT_THAT(printed, HasSubstr(line));
    return complaint_in(printed).what;
  };
  for (const char* line : kKernelLines) EXPECT_EQ(heard(line), Complaint::kKernel) << line;
  for (const char* line : kFileSystemLines) EXPECT_EQ(heard(line), Complaint::kFileSystem) << line;
  for (const char* line : kNormalLines) EXPECT_EQ(heard(line), Complaint::kNone) << line;
}

struct Ending {
  Plant plant;
  bool ended;
  const char* trouble;
  const char* printed;
};

// Story: 'check ext4-nojournal --depth 3' ended after minutes: request 1 of a sync was 'write of 1024 bytes
// at 43008', then 'at 45056'. The kernel keeps for each device where it stopped to write back, also over a
// mount.
TEST_F(KernelGuestTest, WhereAnEarlierMountStoppedToWriteDecidesNothing) {
  for (const char* name : {"ext4-nojournal", "ext2"}) {
    GuestWithDisk one(*file_system(name));
    ASSERT_TRUE(one.booted());
    one.disk().ignores_flush = one.disk().ignores_fua = true;  // a power cut brings back the first content
    const auto requests_of = [&](int directories, bool syncs_often) {
      one.disk().cut_power();
      EXPECT_EQ(one.set_clock(1'700'000'000), 0);
      EXPECT_EQ(one.mount(), 0);
      one.disk().requests.clear();
      for (int i = 0; i < directories; ++i) {
        EXPECT_EQ(one.call(Call::kMkdir, "/d" + std::to_string(i), "", 0755), 0);
        if (syncs_often) {
          EXPECT_EQ(one.call(Call::kSync), 0);
        }
      }
      EXPECT_EQ(one.call(Call::kSync), 0);
      const std::string requests = one.disk().requests;
      EXPECT_EQ(one.unmount(true), 0);
      return requests;
    };
    const std::string first = requests_of(3, false);
    EXPECT_THAT(first, HasSubstr("W"));
    for (int directories = 0; directories < 12; ++directories) {
      (void)requests_of(directories, directories % 2 == 0);
      EXPECT_EQ(requests_of(3, false), first) << name << " after " << directories;
    }
  }
}

TEST_F(KernelGuestTest, AGuestThatFailsIsNoticed) {
  const Ending all[] = {
      {Plant::kPanic, true, "the guest kernel has ended",
       "Kernel panic - not syncing: sysrq triggered crash"},
      {Plant::kLoop, false, "the guest kernel does not answer", ""},
      {Plant::kStuck, false, "the guest kernel waits for something that does not come", ""},
      {Plant::kMemory, true, "the guest kernel has ended", "Out of memory"},
      {Plant::kExit, true, "the guest kernel has ended", "Attempted to kill init"},
  };
  for (const Ending& ending : all) {
    const std::string name = guest::kPlantNames[static_cast<size_t>(ending.plant)];
    GuestWithDisk one(ext4(), std::chrono::seconds(2));
    ASSERT_TRUE(one.booted());
    ASSERT_EQ(one.mount(), 0) << name;
    EXPECT_EQ(one.plant(ending.plant), -1) << name;
    EXPECT_FALSE(one.guest().alive()) << name;
    EXPECT_EQ(one.guest().has_ended(), ending.ended) << name;
    EXPECT_EQ(one.guest().trouble(), ending.trouble) << name;
    EXPECT_THAT(one.guest().take_printed(), HasSubstr(ending.printed)) << name;
    EXPECT_EQ(one.create("/a"), -1) << "and stays dead: " << name;
  }
}

TEST_F(KernelGuestTest, AGuestThatLosesItsDisksEnds) {
  GuestWithDisk one(ext4());
  ASSERT_TRUE(one.booted());
  ASSERT_EQ(one.mount(), 0);
  (void)one.plant(Plant::kLost);
  EXPECT_EQ(one.create("/a") == 0 ? one.call(Call::kSync) : -1, -1);
  EXPECT_TRUE(one.guest().has_ended());
  EXPECT_THAT(one.guest().take_printed(), HasSubstr("agent: the connection to a disk is lost"));
}

TEST_F(KernelGuestTest, ADiskThatFailsAnswersEio) {
  class Failing : public ServesDisks {
   public:
    int read(uint32_t, uint64_t, std::span<std::byte>) override { return EIO; }
    int write(uint32_t, uint64_t, std::span<const std::byte>, bool) override { return EIO; }
    int flush(uint32_t) override { return EIO; }
    int discard(uint32_t, uint64_t, uint64_t, bool) override { return EIO; }
  };
  GuestWithDisk one(ext4());
  ASSERT_TRUE(one.booted());
  ASSERT_EQ(one.mount(), 0);
  Failing failing;
  one.guest().attach(&failing);
  EXPECT_EQ(one.create("/a") == 0 ? one.call(Call::kFsync, "/a") : EIO, EIO);
  EXPECT_TRUE(one.guest().alive());
}

// Kilobytes of a process.
uint64_t resident(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string word; file >> word;)
    if (word == "VmRSS:") {
      uint64_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes;
    }
  return 0;
}

TEST_F(KernelGuestTest, ManyMountsTakeNoMemory) {
  GuestWithDisk one(ext4());
  ASSERT_TRUE(one.booted());
  const auto mounts = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(one.mount(), 0);
      ASSERT_EQ(one.create("/a"), i == 0 && one.disk().requests.empty() ? 0 : EEXIST);
      ASSERT_EQ(one.unmount(), 0);
    }
  };
  ASSERT_EQ(one.mount(), 0);
  ASSERT_EQ(one.create("/a"), 0);
  ASSERT_EQ(one.unmount(), 0);
  mounts(100);
  const uint64_t before = one.free_memory();
  ASSERT_GT(before, 20u << 20) << "it tells";
  mounts(500);
  EXPECT_GT(one.free_memory() + (2u << 20), before) << "2 MiB are 4 KiB for each mount";
  EXPECT_LT(resident(one.guest().process()), 200u << 10) << "its memory is bounded";
}

TEST_F(KernelGuestTest, GuestsWorkSideBySide) {
  GuestWithDisk one(ext4()), two(*file_system("ext2"));
  ASSERT_TRUE(one.booted() && two.booted());
  ASSERT_EQ(one.mount(), 0);
  ASSERT_EQ(two.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  EXPECT_EQ(two.read("/a"), "(errno 2)");
  EXPECT_EQ(two.plant(Plant::kExit), -1);
  EXPECT_EQ(one.read("/a"), "");
}

}  // namespace
}  // namespace sisyfs::kernel_guest_test
