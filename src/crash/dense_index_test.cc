#include "crash/dense_index.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace sisyfs::dense_index_test {
namespace {

TEST(DenseIndexTest, NumbersKeysInOrderOfFirstAppearance) {
  DenseIndex index;
  EXPECT_EQ(index.find(7), DenseIndex::kNone);
  EXPECT_EQ(index.add(7), 0u);
  EXPECT_EQ(index.add(3), 1u);
  EXPECT_EQ(index.add(7), 0u);
  EXPECT_EQ(index.find(3), 1u);
  EXPECT_EQ(index.size(), 2u);
}

// Regression: clear() overwrote keys with bucket numbers while it still looked up keys. On a disk with so few
// blocks that addresses equal bucket numbers, one key was taken for another and stayed in the table. A later
// look-up then never ended.
TEST(DenseIndexTest, NothingIsLeftAfterClearing) {
  std::mt19937 random(1);
  DenseIndex index;
  for (unsigned round = 0; round < 5000; ++round) {
    std::set<uint64_t> added;
    for (unsigned i = random() % 14; i > 0; --i) {
      const uint64_t key = random() % 32;
      const auto expected = static_cast<uint32_t>(added.size());
      if (!added.insert(key).second) continue;
      ASSERT_EQ(index.add(key), expected) << round;
    }
    index.clear();
    for (uint64_t key = 0; key < 32; ++key) ASSERT_EQ(index.find(key), DenseIndex::kNone) << round;
  }
}

}  // namespace
}  // namespace sisyfs::dense_index_test
