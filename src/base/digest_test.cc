#include "base/digest.h"

#include <gtest/gtest.h>

namespace sisyfs::digest_test {
namespace {

TEST(DigestTest, PartsAddAndSubtract) {
  const Digest a = digest_of("a", 1), b = digest_of("b", 1);
  const Digest both = digest_at(0, a) + digest_at(1, b);
  EXPECT_EQ(both - digest_at(1, b), digest_at(0, a));
  EXPECT_NE(both, digest_at(0, b) + digest_at(1, a)) << "the place of a part matters";
}

}  // namespace
}  // namespace sisyfs::digest_test
