#include "finding/pack.h"

#include <gtest/gtest.h>

#include <random>

namespace sisyfs::pack_test {
namespace {

using std::string_literals::operator""s;

TEST(PackTest, Base64UrlIsThatOfTheStandard) {
  // The examples of RFC 4648, section 10, without their padding.
  for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}}) {
    EXPECT_EQ(base64url(bytes), text);
    EXPECT_EQ(from_base64url(text), bytes);
  }
  EXPECT_EQ(base64url("\xfb\xff\xbf"), "-_-_");
}

TEST(PackTest, WhatIsNotBase64UrlIsRefused) {
  for (const char* text : {"A", "Zg=", "Zg==", "Zh", "Zm9", "Zm+v", "Zm/v", "Z g", "Zm9vA"})
    EXPECT_FALSE(from_base64url(text)) << text;
}

TEST(PackTest, NumbersComeBack) {
  for (const uint64_t number :
       {0ul, 1ul, 127ul, 128ul, 16383ul, 16384ul, 1ul << 32, UINT64_MAX - 1, UINT64_MAX}) {
    std::string bytes;
    append_number(bytes, number);
    bytes += 'x';
    std::string_view rest = bytes;
    EXPECT_EQ(take_number(rest), number);
    EXPECT_EQ(rest, "x");
  }
}

TEST(PackTest, MalformedNumbersAreRefused) {
  for (const std::string& bytes : {""s, "\x80"s, "\x80\x00"s, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s,
                                   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s}) {
    std::string_view rest = bytes;
    EXPECT_FALSE(take_number(rest)) << base64url(bytes);
  }
}

TEST(PackTest, BytesComeBack) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    const size_t letters = 1 + random() % 200;
    for (size_t i = random() % 1000; i > 0; --i) {
      if (random() % 10 == 0)
        bytes += bytes.substr(0, random() % 400);
      else
        bytes += static_cast<char>(random() % letters);
    }
    EXPECT_EQ(unpack(pack(bytes), bytes.size()), bytes);
  }
}

TEST(PackTest, RepeatedBytesTakeNoRoom) {
  const std::string bytes(1'000'000, 'x');
  EXPECT_LE(pack(bytes).size(), 8u);
  EXPECT_EQ(unpack(pack(bytes), bytes.size()), bytes);
}

TEST(PackTest, ALimitIsKept) {
  const std::string bytes(1000, 'x');
  EXPECT_FALSE(unpack(pack(bytes), 999));
  EXPECT_FALSE(
      unpack("\x02"
             "abc",
             2));
  // A copy whose length is the greatest number that there is.
  EXPECT_FALSE(
      unpack("\x00"
             "a"
             "\xff"
             "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
             "\x01"s,
             1 << 20));
}

TEST(PackTest, WhatIsNotPackedIsRefused) {
  EXPECT_EQ(unpack("", 10), "");
  for (const std::string& packed : {"\x00"s,
                                    "\x02"
                                    "ab"s,
                                    "\x80\x01"s,
                                    "\x00"
                                    "a\x80\x02"s,
                                    "\x00"
                                    "a\x80\x00"s,
                                    "\x00"
                                    "a\x80"s,
                                    "\x00"
                                    "a\xff\x00"s})
    EXPECT_FALSE(unpack(packed, 100)) << base64url(packed);
}

TEST(PackTest, RandomBytesNeverDoHarm) {
  std::mt19937_64 random(2);
  size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    for (size_t i = random() % 12; i > 0; --i) bytes += static_cast<char>(random());
    const auto plain = unpack(bytes, 1 << 16);
    if (!plain) continue;
    ++accepted;
    EXPECT_LE(plain->size(), size_t{1} << 16);
    EXPECT_EQ(unpack(pack(*plain), 1 << 16), plain);
  }
  EXPECT_GT(accepted, 100u);
}

}  // namespace
}  // namespace sisyfs::pack_test
