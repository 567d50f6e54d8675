#include "report/token.h"

#include <gtest/gtest.h>

namespace sisyfs {
namespace {

Replay example() {
  return {.kind = FindingKind::kDoublePointer,
          .setup = {.target = "link", .settings = {"order=naive", "cache=off"}},
          .trace = {Choice{0}, Choice{16}, Choice{16}, Choice{16}, Choice{34}, Choice{7}}};
}

TEST(TokenTest, ComesBackAsItWas) {
  const auto parsed = parse_token(make_token(example()));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, example());
}

TEST(TokenTest, WritesRunsOnce) {
  EXPECT_NE(make_token(example()).find(":0.16x3.34.7:"), std::string::npos) << make_token(example());
}

TEST(TokenTest, EveryTruncationIsNoticed) {
  const std::string token = make_token(example());
  for (size_t length = 0; length < token.size(); ++length) {
    const auto parsed = parse_token(std::string_view(token).substr(0, length));
    ASSERT_FALSE(parsed) << token.substr(0, length);
    EXPECT_EQ(parsed.error().kind, ErrorKind::kBadInput);
  }
}

TEST(TokenTest, ChangedDigitsAreNoticed) {
  std::string token = make_token(example());
  token[token.find("16x3")] = '2';
  EXPECT_FALSE(parse_token(token));
}

TEST(TokenTest, AnotherVersionIsNamed) {
  std::string token = make_token(example());
  token[1] = '9';
  const auto parsed = parse_token(token);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("version s9"), std::string::npos) << parsed.error().message;
}

// Paths of plug-ins hold anything.
TEST(TokenTest, TargetsMayBePathsOfAnyKind) {
  for (const char* path : {"./libmyfs.so", "./a b:c/x.so", "/tmp/100%/lib,1.so", "./%41.so", "./tail%4"}) {
    const Replay replay{FindingKind::kNotAllowed, {path, {"files=1"}}, {Choice{3}}};
    const std::string token = make_token(replay);
    EXPECT_EQ(token.find(' '), std::string::npos) << token;
    const Result<Replay> again = parse_token(token);
    ASSERT_TRUE(again) << token;
    EXPECT_EQ(*again, replay) << token;
  }
}

}  // namespace
}  // namespace sisyfs
