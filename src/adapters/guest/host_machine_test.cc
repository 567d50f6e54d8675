// What needs no root. The rest is in tests/host_machine_root_test.cc.
#include "adapters/guest/host_machine.h"

#include <gtest/gtest.h>

namespace sisyfs::host_machine_test {
namespace {

TEST(LogOfTheHostTest, LinesOfOtherDisksAreLeftOut) {
  EXPECT_TRUE(is_about("EXT4-fs error (device loop8): ext4_lookup:1857: inode #12", "loop8"));
  EXPECT_TRUE(is_about("Aborting journal on device loop8-8.", "loop8"));
  EXPECT_FALSE(is_about("EXT4-fs error (device loop81): ext4_lookup:1857: inode #12", "loop8"));
  EXPECT_FALSE(is_about("EXT4-fs error (device sda1): ext4_lookup:1857: inode #12", "loop8"));
  EXPECT_FALSE(is_about("XFS (nvme0n1p2): Corruption detected", "loop8"));
  EXPECT_FALSE(is_about("Aborting journal on device sda1-8.", "loop8"));
  EXPECT_FALSE(is_about("EXT4-fs (loop8): mounted filesystem", ""));
}

TEST(LogOfTheHostTest, WhatTheKernelSaysOfItselfCounts) {
  EXPECT_TRUE(is_about("BUG: kernel NULL pointer dereference, address: 0000000000000008", "loop8"));
  EXPECT_TRUE(is_about("WARNING: CPU: 1 PID: 77 at fs/ext4/inode.c:1 f+0x0/0x1", "loop8"));
  EXPECT_TRUE(is_about("INFO: task sisyfs-agent:77 blocked for more than 120 seconds.", "loop8"));
}

}  // namespace
}  // namespace sisyfs::host_machine_test
