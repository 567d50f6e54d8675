#include "report/token.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sisyfs {
namespace {

// As docs/formats/token.md defines it.
std::string checksum_for_test(const std::string& body) {
  return fmt::format("{:04x}", digest_of(body.data(), body.size()).lo & 0xFFFF);
}

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

// A sum that wraps around looked small, and the program ended by an exception.
TEST(TokenTest, ATraceThatIsTooLongIsRefusedHoweverItIsCounted) {
  const std::string whole = make_token(example());
  const size_t choices = whole.find("0.16x3"), end = whole.rfind(':');
  for (const char* text :
       {"5.1x18446744073709551615", "0x18446744073709551615", "0x600000.1x600000", "1x0"}) {
    const std::string body = whole.substr(0, choices) + text;
    const auto parsed = parse_token(body + ":" + checksum_for_test(body));
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find("is not a choice"), std::string::npos) << parsed.error().message;
  }
  EXPECT_EQ(whole.substr(end + 1), checksum_for_test(whole.substr(0, end)));
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
