#include "adapters/kernel/flash_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace sisyfs::flash_server_test {
namespace {

using testing::ElementsAre;

constexpr uint32_t kPage = 8;

// NOR flash with pages, which keeps account of what it is asked for.
class Pages : public ServesDisks {
 public:
  std::vector<std::byte> content = std::vector<std::byte>(4 * kPage, std::byte{0xff});
  std::vector<std::string> asked;
  bool fails = false;

  int read(uint32_t, uint64_t offset, std::span<std::byte> out) override {
    asked.push_back("read " + std::to_string(offset) + " " + std::to_string(out.size()));
    if (fails) return EIO;
    std::memcpy(out.data(), content.data() + offset, out.size());
    return 0;
  }
  int write(uint32_t, uint64_t offset, std::span<const std::byte> bytes, bool) override {
    asked.push_back("write " + std::to_string(offset) + " " + std::to_string(bytes.size()));
    for (size_t i = 0; i < bytes.size(); ++i) content[offset + i] &= bytes[i];
    return 0;
  }
  int flush(uint32_t) override { return 0; }
  int discard(uint32_t, uint64_t offset, uint64_t length, bool) override {
    asked.push_back("erase " + std::to_string(offset) + " " + std::to_string(length));
    return 0;
  }
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(FlashServerTest, BytesAreReadAndProgrammedAnywhere) {
  Pages pages;
  FlashServer flash(pages, kPage);
  const std::vector<std::byte> text = bytes_of("over two pages");
  ASSERT_EQ(flash.write(0, 5, text, false), 0);
  EXPECT_THAT(pages.asked, ElementsAre("read 0 24", "write 0 24"));
  EXPECT_EQ(pages.content[4], std::byte{0xff}) << "nothing is asked for around it";
  EXPECT_EQ(pages.content[5 + text.size()], std::byte{0xff});
  ASSERT_EQ(flash.write(0, 0, bytes_of("abc"), false), 0);
  std::vector<std::byte> back(text.size());
  ASSERT_EQ(flash.read(0, 5, back), 0);
  EXPECT_EQ(back, text) << "the second program of a page keeps the first";
  back.resize(3);
  ASSERT_EQ(flash.read(0, 0, back), 0);
  EXPECT_EQ(back, bytes_of("abc"));
}

TEST(FlashServerTest, NothingIsAskedForNothing) {
  Pages pages;
  FlashServer flash(pages, kPage);
  EXPECT_EQ(flash.write(0, 3, {}, false), 0);
  EXPECT_EQ(flash.read(0, 3, {}), 0);
  EXPECT_THAT(pages.asked, ElementsAre());
}

TEST(FlashServerTest, WholeUnitsAreErased) {
  Pages pages;
  FlashServer flash(pages, kPage);
  EXPECT_EQ(flash.discard(0, 16, 16, false), 0);
  EXPECT_THAT(pages.asked, ElementsAre("erase 16 16"));
}

TEST(FlashServerTest, APageThatCannotBeReadIsNotProgrammed) {
  Pages pages;
  pages.fails = true;
  FlashServer flash(pages, kPage);
  std::vector<std::byte> out(4);
  EXPECT_EQ(flash.read(0, 2, out), EIO);
  EXPECT_EQ(flash.write(0, 2, out, false), EIO);
  EXPECT_THAT(pages.asked, ElementsAre("read 0 8", "read 0 8"));
}

}  // namespace
}  // namespace sisyfs::flash_server_test
