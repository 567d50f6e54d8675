#include "adapters/kernel/hfsplus_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace sisyfs::hfsplus_image_test {
namespace {

constexpr size_t kHeader = 1024, kBlock = 4096;

uint32_t number(const std::vector<std::byte>& disk, size_t at, size_t bytes = 4) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<uint32_t>(disk.at(at + i));
  return value;
}

// The offsets are those of Technical Note TN1150.
TEST(HfsplusImageTest, TheHeaderDescribesTheWholeDisk) {
  for (const size_t mebibytes : {1, 4, 9, 160}) {
    std::vector<std::byte> disk(mebibytes << 20, std::byte{0xaa});
    make_hfsplus(disk);
    EXPECT_EQ(number(disk, kHeader, 2), 0x482bu) << "H+";
    EXPECT_EQ(number(disk, kHeader + 40), kBlock);
    const uint32_t blocks = number(disk, kHeader + 44);
    EXPECT_EQ(blocks, disk.size() / kBlock);
    EXPECT_TRUE(std::equal(disk.begin() + kHeader, disk.begin() + kHeader + 512, disk.end() - 1024));
    // The bits of the allocation file are those of its free blocks, of the used ones, and no more.
    uint32_t used = 0;
    const size_t bitmap = number(disk, kHeader + 112 + 16) * kBlock;
    ASSERT_EQ(bitmap, kBlock);
    for (size_t i = 0; i < number(disk, kHeader + 112 + 20) * kBlock; ++i)
      used += static_cast<uint32_t>(std::popcount(static_cast<uint8_t>(disk.at(bitmap + i))));
    EXPECT_EQ(used, blocks - number(disk, kHeader + 48)) << mebibytes;
  }
}

TEST(HfsplusImageTest, TheTreesLieBehindEachOther) {
  std::vector<std::byte> disk(4 << 20);
  make_hfsplus(disk);
  uint32_t next = 1;
  for (const size_t fork : {112, 192, 272}) {
    EXPECT_EQ(number(disk, kHeader + fork + 16), next);
    next += number(disk, kHeader + fork + 20);
    EXPECT_EQ(number(disk, kHeader + fork + 12), number(disk, kHeader + fork + 20)) << "blocks of the fork";
  }
}

TEST(HfsplusImageTest, WhatIsNotUsedIsLeftAlone) {
  std::vector<std::byte> disk(4 << 20, std::byte{0xaa});
  make_hfsplus(disk);
  EXPECT_GT(std::count(disk.begin(), disk.end(), std::byte{0xaa}), 3 << 20);
}

TEST(HfsplusImageTest, OnlyTheNoteOfTheUnmountIsChanged) {
  std::vector<std::byte> disk(4 << 20);
  make_hfsplus(disk);
  const std::vector<std::byte> clean = disk;
  EXPECT_TRUE(mark_hfsplus_clean(disk));
  EXPECT_EQ(disk, clean);
  disk[kHeader + 6] = std::byte{0x08};  // as a mount leaves it
  EXPECT_TRUE(mark_hfsplus_clean(disk));
  EXPECT_EQ(disk, clean);
  disk[kHeader] = std::byte{0};
  EXPECT_FALSE(mark_hfsplus_clean(disk));
  EXPECT_FALSE(mark_hfsplus_clean({}));
}

}  // namespace
}  // namespace sisyfs::hfsplus_image_test
