#include "adapters/kernel/jffs2_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sisyfs::jffs2_image_test {
namespace {

// The CRC-32 of Linux's crc32(0, ...): without inversions.
uint32_t crc(const std::byte* bytes, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum ^= static_cast<uint32_t>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320u : 0u);
  }
  return sum;
}

TEST(Jffs2ImageTest, EachUnitIsErasedBehindItsMark) {
  std::vector<std::byte> flash(5 * kJffs2Unit, std::byte{0xaa});
  make_jffs2(flash);
  for (size_t at = 0; at < flash.size(); at += kJffs2Unit) {
    const std::byte* const unit = flash.data() + at;
    uint32_t sum = 0;
    for (int i = 3; i >= 0; --i) sum = sum << 8 | static_cast<uint32_t>(unit[8 + i]);
    EXPECT_EQ(sum, crc(unit, 8)) << at;
    EXPECT_EQ(unit[0], std::byte{0x85});
    EXPECT_EQ(unit[1], std::byte{0x19});
    EXPECT_TRUE(std::all_of(unit + 12, unit + kJffs2Unit, [](std::byte b) { return b == std::byte{0xff}; }))
        << at;
  }
}

}  // namespace
}  // namespace sisyfs::jffs2_image_test
