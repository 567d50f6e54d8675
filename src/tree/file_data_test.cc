#include "tree/file_data.h"

#include <gtest/gtest.h>

#include <random>

namespace sisyfs::file_data_test {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(FileDataTest, HoleAndWrittenZerosAreTheSameData) {
  FileData hole, zeros, other;
  hole.resize(5000);
  zeros.write(0, bytes(std::string(5000, '\0')));
  EXPECT_EQ(hole, zeros);
  other.resize(5001);
  EXPECT_FALSE(hole == other);
}

TEST(FileDataTest, CutBytesDoNotComeBackWhenTheFileGrows) {
  FileData data;
  data.write(0, bytes("abcdef"));
  data.resize(2);
  data.resize(6);
  EXPECT_EQ(data.text(), std::string("ab\0\0\0\0", 6));
}

TEST(FileDataTest, CopiesDoNotSeeEachOthersWrites) {
  FileData a;
  a.write(4090, bytes("0123456789"));
  FileData b = a;
  b.write(4092, bytes("x"));
  EXPECT_EQ(a.text().substr(4090), "0123456789");
  EXPECT_EQ(b.text().substr(4090), "01x3456789");
  EXPECT_EQ(a.first_difference(b), 4092u);
  EXPECT_EQ(a.first_difference(a), a.size());
}

TEST(FileDataTest, FarOffsetsCostNothing) {
  FileData data;
  data.write(uint64_t{1} << 50, bytes("end"));
  std::byte three[3];
  EXPECT_EQ(data.read(uint64_t{1} << 50, three), 3u);
  EXPECT_EQ(three[0], std::byte{'e'});
  EXPECT_EQ(data.read(0, three), 3u);
  EXPECT_EQ(three[0], std::byte{0});
}

// A flat string is the reference. Equal strings must have equal digests, whatever the history.
TEST(FileDataTest, AgreesWithAFlatStringOverRandomChanges) {
  std::mt19937_64 random(7);
  std::vector<std::pair<std::string, Digest>> seen;
  FileData data;
  std::string flat;
  for (int round = 0; round < 3000; ++round) {
    const uint64_t at = random() % 3 == 0 ? random() % 13000 : random() % 4 + 4095;
    if (random() % 4 == 0) {
      data.resize(at);
      flat.resize(at);
    } else if (random() % 4 == 0) {
      const uint64_t length = random() % 9000;
      data.clear(at, length);
      if (at < flat.size()) flat.replace(at, length, std::string(std::min(length, flat.size() - at), '\0'));
    } else {
      const std::string piece(random() % 3 == 0 ? random() % 9000 : random() % 3, "\0ab"[random() % 3]);
      if (!piece.empty() && flat.size() < at + piece.size()) flat.resize(at + piece.size());
      data.write(at, bytes(piece));
      flat.replace(piece.empty() ? 0 : at, piece.size(), piece);
    }
    ASSERT_EQ(data.size(), flat.size());
    ASSERT_EQ(data.text(), flat) << "round " << round;
    FileData fresh;
    fresh.write(0, bytes(flat));
    ASSERT_EQ(fresh.digest(), data.digest()) << "round " << round;
    if (round % 50 == 0) {
      for (const auto& [text, digest] : seen) {
        const bool same_bytes = text.substr(0, text.find_last_not_of('\0') + 1) ==
                                flat.substr(0, flat.find_last_not_of('\0') + 1);
        ASSERT_EQ(digest == data.digest(), same_bytes);
      }
      seen.emplace_back(flat, data.digest());
    }
  }
}

}  // namespace
}  // namespace sisyfs::file_data_test
