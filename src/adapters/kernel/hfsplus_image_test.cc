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

void put(std::vector<std::byte>& disk, size_t at, uint32_t value, size_t bytes = 4) {
  for (size_t i = 0; i < bytes; ++i) disk.at(at + i) = static_cast<std::byte>(value >> 8 * (bytes - 1 - i));
}

// Story: the kernel writes a new file at once and the number of the next one later. After a power cut between
// the two it gave a number twice.
TEST(HfsplusImageTest, TheNextNumberIsOneThatNoFileHas) {
  std::vector<std::byte> disk(4 << 20);
  make_hfsplus(disk);
  const size_t leaf = number(disk, kHeader + 272 + 16) * kBlock + kBlock;
  put(disk, leaf + 10, 3, 2);  // a third record: a file with this number
  const uint32_t end = number(disk, leaf + kBlock - 6, 2);
  put(disk, leaf + end, 6, 2);
  put(disk, leaf + end + 8, 2, 2);
  put(disk, leaf + end + 8 + 8, 77);
  put(disk, leaf + kBlock - 8, end + 100, 2);
  put(disk, kHeader + 4, 0x800);  // as a mount leaves it
  ASSERT_TRUE(mend_hfsplus(disk));
  EXPECT_EQ(number(disk, kHeader + 64), 78u);
  EXPECT_EQ(number(disk, kHeader + 4), 0x100u);
  // It is not made smaller, and a clean volume is left alone.
  put(disk, kHeader + 4, 0x800);
  put(disk, kHeader + 64, 100);
  ASSERT_TRUE(mend_hfsplus(disk));
  EXPECT_EQ(number(disk, kHeader + 64), 100u);
  put(disk, kHeader + 64, 50);
  ASSERT_TRUE(mend_hfsplus(disk));
  EXPECT_EQ(number(disk, kHeader + 64), 50u);
}

TEST(HfsplusImageTest, ADamagedCatalogHarmsNobody) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::vector<std::byte> disk(1 << 20);
    make_hfsplus(disk);
    const size_t leaf = number(disk, kHeader + 272 + 16) * kBlock + kBlock;
    put(disk, kHeader + 4, 0x800);
    for (uint32_t i = 0; i < 20; ++i) {
      const uint32_t drawn = (seed * 20 + i + 1) * 2654435761u;
      disk[leaf + (i % 2 == 0 ? drawn % 64 : kBlock - 1 - drawn % 16)] = static_cast<std::byte>(drawn >> 24);
      disk[kHeader + 272 + 16 + drawn % 64] ^= static_cast<std::byte>(drawn >> 16);
    }
    EXPECT_TRUE(mend_hfsplus(disk)) << seed;
    EXPECT_EQ(number(disk, kHeader + 4), 0x100u) << seed;
  }
}

TEST(HfsplusImageTest, OnlyTheNoteOfTheUnmountIsChanged) {
  std::vector<std::byte> disk(4 << 20);
  make_hfsplus(disk);
  const std::vector<std::byte> clean = disk;
  EXPECT_TRUE(mend_hfsplus(disk));
  EXPECT_EQ(disk, clean);
  put(disk, kHeader + 4, 0x800);  // as a mount leaves it
  EXPECT_TRUE(mend_hfsplus(disk));
  EXPECT_EQ(disk, clean);
  disk[kHeader] = std::byte{0};
  EXPECT_FALSE(mend_hfsplus(disk));
  EXPECT_FALSE(mend_hfsplus({}));
}

}  // namespace
}  // namespace sisyfs::hfsplus_image_test
