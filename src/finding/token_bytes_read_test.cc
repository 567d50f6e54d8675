// How bytes are read as steps, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "finding/random_finding_for_test.h"
#include "finding/token_bytes.h"

namespace sisyfs::token_bytes_read_test {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

std::string why_not(std::string_view bytes) {
  Finding finding;
  const Status read = read_token_bytes(bytes, finding);
  return read ? "" : read.error().message;
}

TEST(ReadTokenBytesTest, WhatWasWrittenIsRead) {
  RandomFindings findings(3);
  for (int i = 0; i < 500; ++i) {
    const Finding finding = findings.next();
    Finding again;
    ASSERT_TRUE(read_token_bytes(token_bytes(finding), again));
    EXPECT_EQ(again.steps, finding.steps);
    EXPECT_EQ(again.others, finding.others);
    EXPECT_EQ(again.surroundings, finding.surroundings);
  }
}

TEST(ReadTokenBytesTest, OtherBytesAreRefusedWithASentence) {
  EXPECT_EQ(why_not("\0\x0f"s), "");
  EXPECT_THAT(why_not("\x04"s), HasSubstr("the header 0x04"));
  EXPECT_THAT(why_not("\0\0"s), HasSubstr("ends in the middle"));
  EXPECT_THAT(why_not("\0\x40"s), HasSubstr("a step of kind 64"));
  EXPECT_NE(why_not(""), "");
}

// Bytes that are cut off give fewer steps, which is right only between two of them, or a refusal.
TEST(ReadTokenBytesTest, BytesThatAreCutOffNeverGiveTheWholeFinding) {
  RandomFindings findings(4);
  unsigned refused = 0;
  for (int i = 0; i < 100; ++i) {
    const Finding finding = findings.next();
    const std::string bytes = token_bytes(finding);
    for (size_t length = 0; length < bytes.size(); ++length) {
      Finding again;
      const Status read = read_token_bytes(std::string_view(bytes).substr(0, length), again);
      refused += !read;
      EXPECT_FALSE(read && again.steps == finding.steps && again.others == finding.others &&
                   again.surroundings == finding.surroundings);
    }
  }
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace sisyfs::token_bytes_read_test
