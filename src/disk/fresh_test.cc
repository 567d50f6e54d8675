#include "disk/fresh.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sisyfs::fresh_test {
namespace {

Geometry disk_of(uint64_t blocks, uint32_t size = 512) {
  return {.block_size = size, .block_count = BlockCount(blocks)};
}

std::vector<std::byte> block_of(const Image& image, uint64_t address) {
  std::vector<std::byte> bytes(image.geometry().block_size);
  image.read(BlockAddress(address), bytes);
  return bytes;
}

std::string text_of(const Image& image, uint64_t address, size_t from, size_t count) {
  const std::vector<std::byte> bytes = block_of(image, address);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()).substr(from, count);
}

TEST(FreshTest, ZerosAreAnEmptyImage) {
  EXPECT_EQ(fresh_image(disk_of(7), FreshContent::kZeros), Image(disk_of(7)));
}

TEST(FreshTest, GarbageNamesItsBlockAndOffset) {
  for (const uint64_t blocks : {1u, 5u, 64u, 300u, 1024u, 5000u}) {
    const Image image = fresh_image(disk_of(blocks), FreshContent::kGarbage);
    for (uint64_t block = 0; block < blocks; ++block)
      ASSERT_EQ(find_garbage(block_of(image, block)), block % 1024) << blocks;
    EXPECT_EQ(text_of(image, 0, 16, 16), "<old 000:000010>");
  }
  EXPECT_EQ(text_of(fresh_image(disk_of(20), FreshContent::kGarbage), 12, 496, 16), "<old 00c:0001f0>");
}

TEST(FreshTest, AWriteChangesItsBlockOnly) {
  for (const uint64_t blocks : {5u, 64u, 300u, 5000u}) {
    const Image fresh = fresh_image(disk_of(blocks), FreshContent::kGarbage);
    Image image = fresh;
    image.write(BlockAddress(blocks - 1), std::vector<std::byte>(512, std::byte{7}));
    std::vector<uint64_t> changed;
    fresh.differences(image, [&](BlockAddress at, const Block*) { changed.push_back(at.value); });
    EXPECT_EQ(changed, std::vector<uint64_t>{blocks - 1});
    EXPECT_NE(image, fresh);
    image.write(BlockAddress(blocks - 1), block_of(fresh, blocks - 1));
    EXPECT_EQ(image, fresh);
    EXPECT_EQ(fresh_image(disk_of(blocks), FreshContent::kGarbage), fresh);
  }
}

// Story: counted references to the shared garbage cost a search on two threads 18 % of its time.
TEST(FreshTest, ThreadsShareGarbageWithoutCountingReferences) {
  const Image fresh = fresh_image(disk_of(300), FreshContent::kGarbage);
  const Block* garbage = fresh.block(BlockAddress(7));
  EXPECT_TRUE(garbage->refs.is_permanent());
  {
    Image written = fresh_image(disk_of(300), FreshContent::kGarbage);
    EXPECT_EQ(written.block(BlockAddress(7)), garbage) << "each call gives the same blocks";
    written.write(BlockAddress(6), std::vector<std::byte>(512, std::byte{7}));
    EXPECT_FALSE(written.block(BlockAddress(6))->refs.is_permanent());
    EXPECT_EQ(written.block(BlockAddress(7)), garbage);
  }
  EXPECT_EQ(fresh.block(BlockAddress(7)), garbage);
  EXPECT_EQ(find_garbage(block_of(fresh, 7)), 7u);
}

TEST(FreshTest, ALargeDiskOfGarbageNeedsNoMoreThanASmallOne) {
  const Image image = fresh_image(disk_of(uint64_t{1} << 40), FreshContent::kGarbage);
  EXPECT_EQ(find_garbage(block_of(image, (uint64_t{1} << 40) - 1)), 1023u);
}

TEST(FreshTest, OtherBytesAreNoGarbage) {
  const auto find = [](std::string_view text) { return find_garbage(std::as_bytes(std::span(text))); };
  for (const char* text : {"", "<old", "<old 00", "<old 0g0:", "new"}) EXPECT_FALSE(find(text)) << text;
  EXPECT_EQ(find("<old <old 01f"), 31u);
}

TEST(FreshTest, RawFlashHasNoGarbage) {
  Geometry flash = disk_of(8);
  flash.erase_blocks = 4;
  EXPECT_EQ(fresh_image(flash, FreshContent::kGarbage), Image(flash));
}

}  // namespace
}  // namespace sisyfs::fresh_test
