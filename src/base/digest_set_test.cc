#include "base/digest_set.h"

#include <gtest/gtest.h>

#include "judge/memo.h"

namespace sisyfs {
namespace {

Digest number(uint64_t n) { return digest_of(&n, sizeof n); }

TEST(DigestSetTest, HoldsWhatCameSinceTheLastClear) {
  DigestSet set;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t n = 0; n < 1000; ++n) EXPECT_TRUE(set.insert(number(n))) << round << ' ' << n;
    for (uint64_t n = 0; n < 1000; ++n) EXPECT_FALSE(set.insert(number(n))) << round << ' ' << n;
    set.clear();
  }
}

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
}  // namespace sisyfs
