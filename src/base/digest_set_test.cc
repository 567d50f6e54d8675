#include "base/digest_set.h"

#include <gtest/gtest.h>

namespace sisyfs::digest_set_test {
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

}  // namespace
}  // namespace sisyfs::digest_set_test
