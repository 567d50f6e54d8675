// How steps are written as bytes. token_test.cc has whole tokens, token_bytes_read_test.cc what is refused.
#include "finding/token_bytes.h"

#include <gtest/gtest.h>

namespace sisyfs::token_bytes_test {
namespace {

using std::string_literals::operator""s;

Finding with_ops(const std::vector<std::string>& ops) {
  Finding finding;
  finding.setup.target = "link";
  for (const std::string& op : ops) {
    finding.steps.emplace_back();
    finding.steps.back().id = static_cast<uint32_t>(finding.steps.size());
    finding.steps.back().op = op;
  }
  return finding;
}

// docs/formats/token.md: a header, then a byte for the op and one for each known string.
TEST(TokenBytesTest, APlainStepTakesTwoBytes) {
  EXPECT_EQ(token_bytes(with_ops({})), "\0"s);
  EXPECT_EQ(token_bytes(with_ops({"create /a"})).size(), 3u);
  EXPECT_EQ(token_bytes(with_ops({"sync"})), "\0\x0f"s);
  EXPECT_EQ(token_bytes(with_ops({"sync", "sync"})).substr(0, 2), "\0\x0f"s);
}

TEST(TokenBytesTest, DifferentFindingsHaveDifferentBytes) {
  const std::string one = token_bytes(with_ops({"create /a"}));
  EXPECT_NE(token_bytes(with_ops({"create /b"})), one);
  EXPECT_NE(token_bytes(with_ops({"unlink /a"})), one);
  Finding other = with_ops({"create /a"});
  other.steps[0].id = 2;
  EXPECT_NE(token_bytes(other), one);
  other = with_ops({"create /a"});
  other.steps[0].cuts.emplace_back();
  EXPECT_NE(token_bytes(other), one);
  other = with_ops({"create /a"});
  other.surroundings["kernel"] = "6.1";
  EXPECT_NE(token_bytes(other), one);
}

TEST(TokenBytesTest, TargetAndKindAreNotInTheBytes) {
  Finding other = with_ops({"create /a"});
  other.setup = {"journal", {"files=2"}};
  other.kind = FindingKind::kNotClean;
  EXPECT_EQ(token_bytes(other), token_bytes(with_ops({"create /a"})));
}

}  // namespace
}  // namespace sisyfs::token_bytes_test
