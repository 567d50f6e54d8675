#include "explore/visited.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sisyfs::visited_test {
namespace {

Digest number(uint64_t n) { return digest_of(&n, sizeof n); }

TEST(VisitedSetTest, AgreesWithAnOrdinarySetWhileItGrows) {
  VisitedSet set(size_t{1} << 30);
  std::unordered_set<uint64_t> reference;
  uint64_t x = 1;
  for (int i = 0; i < 2000000; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const uint64_t key = (x >> 33) % 1500000;
    Seen seen = set.insert(number(key));
    while (seen == Seen::kNoRoom) {
      ASSERT_TRUE(set.grow());
      seen = set.insert(number(key));
    }
    ASSERT_EQ(seen == Seen::kNew, reference.insert(key).second) << "key " << key << " at " << i;
    if (set.crowded(reference.size())) {
      ASSERT_TRUE(set.grow());
    }
  }
  EXPECT_EQ(set.count(), reference.size());
}

TEST(VisitedSetTest, KeepsTheLeastDepthThroughGrowth) {
  VisitedSet set(size_t{1} << 28, true);
  for (uint64_t n = 0; n < 100000; ++n) ASSERT_EQ(set.insert_at(number(n), 50), Seen::kNew);
  ASSERT_TRUE(set.grow());
  EXPECT_EQ(set.count_at(50), 100000u);
  for (uint64_t n = 0; n < 100000; ++n) {
    ASSERT_EQ(set.insert_at(number(n), 50), Seen::kBefore);
    ASSERT_EQ(set.insert_at(number(n), 60), Seen::kBefore);
    ASSERT_EQ(set.insert_at(number(n), 7), Seen::kSooner);
    ASSERT_EQ(set.insert_at(number(n), 8), Seen::kBefore);
  }
  EXPECT_EQ(set.count_at(7), 100000u);
}

TEST(VisitedSetTest, EachStateIsNewToExactlyOneThread) {
  VisitedSet set(size_t{1} << 26);
  std::vector<uint64_t> fresh(4, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < fresh.size(); ++t)
      threads.emplace_back([&, t] {
        for (uint64_t n = 0; n < 200000; ++n) fresh[t] += set.insert(number(n)) == Seen::kNew;
      });
  }
  EXPECT_EQ(fresh[0] + fresh[1] + fresh[2] + fresh[3], 200000u);
}

// A line that was read twice, once for the state and once for room, gave a state to both threads when one of
// them stored it between the other's two reads. It took insertions of the same state at the same moment.
TEST(VisitedSetTest, AStateThatTwoThreadsInsertAtOnceIsNewToOne) {
  constexpr uint64_t kStates = 300000;
  VisitedSet set(size_t{1} << 26);
  struct alignas(128) Place {
    std::atomic<uint64_t> at{0};
    uint64_t fresh = 0;
  };
  std::array<Place, 2> places;
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < places.size(); ++t)
      threads.emplace_back([&, t] {
        for (uint64_t n = 0; n < kStates; ++n) {
          places[t].at.store(n + 1);
          for (int looks = 0; places[1 - t].at.load() <= n;)
            if (++looks % 1024 == 0) std::this_thread::yield();
          places[t].fresh += set.insert(number(n)) == Seen::kNew;
        }
      });
  }
  EXPECT_EQ(places[0].fresh + places[1].fresh, kStates);
  EXPECT_EQ(set.count(), kStates);
}

TEST(VisitedSetTest, DigestDependsOnTheStatesAndNotOnTheirOrderOrTheTable) {
  VisitedSet a(size_t{1} << 26), b(size_t{1} << 26);
  for (uint64_t n = 0; n < 1000; ++n) EXPECT_EQ(a.insert(number(n)), Seen::kNew);
  ASSERT_TRUE(b.grow());
  for (uint64_t n = 1000; n-- > 0;) EXPECT_EQ(b.insert(number(n)), Seen::kNew);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_EQ(b.insert(number(1000)), Seen::kNew);
  EXPECT_NE(a.digest(), b.digest());
}

TEST(VisitedSetTest, RefusesToGrowBeyondItsBound) {
  VisitedSet set(size_t{5} << 20);
  const uint64_t before = set.capacity();
  EXPECT_TRUE(set.grow());
  EXPECT_GT(set.capacity(), before);
  while (set.grow()) EXPECT_LE(set.bytes(), size_t{5} << 20);
  EXPECT_LE(set.bytes(), size_t{5} << 20);
}

}  // namespace
}  // namespace sisyfs::visited_test
