#include "machine/memo.h"

#include <gtest/gtest.h>

namespace sisyfs::memo_test {
namespace {

Digest number(uint64_t n) { return digest_of(&n, sizeof n); }

TEST(MemoTest, KnowsTheRightAnswerOrNone) {
  Memo<uint64_t> memo(4);
  unsigned known = 0;
  for (uint64_t n = 0; n < 64; ++n) memo.put(number(n)) = n;
  for (uint64_t n = 0; n < 64; ++n) {
    const uint64_t* answer = memo.find(number(n));
    if (answer == nullptr) continue;
    EXPECT_EQ(*answer, n);
    ++known;
  }
  EXPECT_GT(known, 8u);
  EXPECT_LE(known, 16u) << "it has so many places";
}

}  // namespace
}  // namespace sisyfs::memo_test
