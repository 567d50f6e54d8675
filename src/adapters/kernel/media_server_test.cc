#include "adapters/kernel/media_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace sisyfs::media_server_test {
namespace {

constexpr uint32_t kSize = 512;

std::vector<std::byte> filled(int with, size_t blocks = 1) {
  return std::vector<std::byte>(blocks * kSize, static_cast<std::byte>(with));
}

class MediaServerTest : public testing::Test {
 protected:
  MediaServerTest() {
    server_.attach(&media_);
    server_.begin_mount(media_.state().current);
    server_.begin();
  }
  void read(uint64_t block) {
    std::vector<std::byte> out(kSize);
    EXPECT_EQ(server_.read(0, block * kSize, out), 0);
  }

  Media media_{Image({.block_size = kSize, .block_count = BlockCount(16)})};
  MediaServer server_{true};
};

TEST_F(MediaServerTest, RequestsAreWrittenToTheMediaAndListed) {
  EXPECT_EQ(server_.write(0, 2 * kSize, filled(7, 2), true), 0);
  EXPECT_EQ(server_.flush(0), 0);
  EXPECT_EQ(server_.discard(0, 0, kSize, false), 0);
  EXPECT_EQ(server_.discard(0, 3 * kSize, kSize, true), 0);
  std::string text;
  for (const DiskChange& change : server_.requests()) text += to_text(change) + "; ";
  EXPECT_EQ(
      text,
      "write (FUA) of 1024 bytes at 1024; flush; discard of 512 bytes at 0; write of zeros of 512 bytes at "
      "1536; ");
  std::vector<std::byte> out(2 * kSize);
  EXPECT_EQ(server_.read(0, 2 * kSize, out), 0);
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + kSize, filled(7).begin()));
  EXPECT_TRUE(std::equal(out.begin() + kSize, out.end(), filled(0).begin()));
  EXPECT_EQ(server_.serials().size(), 4u);
}

TEST_F(MediaServerTest, PartsOfBlocksAreRefused) {
  std::vector<std::byte> out(100);
  EXPECT_EQ(server_.read(0, 0, out), EIO);
  EXPECT_EQ(server_.write(0, 100, filled(1), false), EIO);
  EXPECT_EQ(server_.discard(0, 0, 100, false), EIO);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(MediaServerTest, OtherBytesAreADifferenceUnlessTheyAreNeverTheSame) {
  EXPECT_EQ(server_.write(0, 0, filled(1), false), 0);
  const std::vector<DiskChange> before = server_.requests();
  server_.begin();
  EXPECT_EQ(server_.write(0, 0, filled(2), false), 0);
  EXPECT_NE(server_.requests(), before);
  EXPECT_EQ(difference(before, server_.requests()),
            "request 1 was 'write of 512 bytes at 0', now it is 'the same with other bytes'");
  EXPECT_EQ(difference(before, {}), "request 1 was 'write of 512 bytes at 0', now it is 'nothing'");
  MediaServer other(false);
  other.attach(&media_);
  other.begin();
  EXPECT_EQ(other.write(0, 0, filled(1), false), 0);
  const std::vector<DiskChange> first = other.requests();
  other.begin();
  EXPECT_EQ(other.write(0, 0, filled(2), false), 0);
  EXPECT_EQ(other.requests(), first);
}

// Two disks that differ where nothing was read are the same to a kernel.
TEST_F(MediaServerTest, WhatWasMetIsWhatWasReadFirst) {
  read(1);
  const Digest one = server_.take_met();
  EXPECT_EQ(media_.write(BlockAddress(9), filled(3)), IoStatus::kOk);
  server_.begin_mount(media_.state().current);
  read(1);
  EXPECT_EQ(server_.take_met(), one);
  read(1);
  EXPECT_EQ(server_.take_met(), Digest());
  read(9);
  EXPECT_NE(server_.take_met(), Digest());
  EXPECT_EQ(server_.write(0, 4 * kSize, filled(5), false), 0);
  read(4);
  EXPECT_EQ(server_.take_met(), Digest()) << "its own bytes";
}

// A block that is decided when it is read differs from the disk that was mounted.
TEST_F(MediaServerTest, ABlockThatIsReadOtherwiseIsToldOnce) {
  EXPECT_EQ(media_.write(BlockAddress(5), filled(8)), IoStatus::kOk);
  read(4);
  EXPECT_TRUE(server_.take_read().empty());
  read(5);
  const auto other = server_.take_read();
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other.front().first.value, 5u);
  read(5);
  EXPECT_TRUE(server_.take_read().empty());
}

}  // namespace
}  // namespace sisyfs::media_server_test
