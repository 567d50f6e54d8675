#include "explore/swarm.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sisyfs::swarm_test {
namespace {

// Ops 0 to 9 are of kind 1, op 10 of kind 2, op 11 of kind 40.
uint32_t kind_of(uint32_t op) { return op < 10 ? 1 : op == 10 ? 2 : 40; }

TEST(SwarmTest, AKindWithManyOpsDoesNotCrowdOutTheOthers) {
  std::map<uint32_t, int> kinds;
  std::set<uint32_t> ops;
  WalkRandom random(1, 1);
  const Swarm all;  // performs every kind
  for (int i = 0; i < 3000; ++i) {
    const uint32_t op = all.pick(12, kind_of, random);
    ASSERT_LT(op, 12u);
    ops.insert(op);
    ++kinds[kind_of(op)];
  }
  EXPECT_EQ(ops.size(), 12u);
  for (const auto& [kind, times] : kinds) EXPECT_NEAR(times, 1000, 130) << kind;  // five standard deviations
}

TEST(SwarmTest, EachWalkPerformsItsOwnKinds) {
  std::map<std::set<uint32_t>, int> walks;
  for (uint64_t walk = 0; walk < 800; ++walk) {
    WalkRandom random(7, walk);
    Swarm swarm;
    swarm.begin(random);
    std::set<uint32_t> kinds;
    for (int i = 0; i < 60; ++i) kinds.insert(kind_of(swarm.pick(12, kind_of, random)));
    ++walks[kinds];
  }
  // With none of the three kinds a walk performs all of them.
  EXPECT_EQ(walks.size(), 7u);
  for (const auto& [kinds, times] : walks) EXPECT_NEAR(times, kinds.size() == 3 ? 200 : 100, 62);
}

TEST(SwarmTest, KindsFrom64OnAreDrawnLikeTheOthers) {
  const auto of = [](uint32_t op) { return op == 0 ? 5u : op == 1 ? 64u : 127u; };
  std::map<std::set<uint32_t>, int> walks;
  for (uint64_t walk = 0; walk < 800; ++walk) {
    WalkRandom random(7, walk);
    Swarm swarm;
    swarm.begin(random);
    std::set<uint32_t> kinds;
    for (int i = 0; i < 60; ++i) kinds.insert(of(swarm.pick(3, of, random)));
    ++walks[kinds];
  }
  EXPECT_EQ(walks.size(), 7u);
  for (const auto& [kinds, times] : walks) EXPECT_NEAR(times, kinds.size() == 3 ? 200 : 100, 62);
}

TEST(SwarmTest, TheSameSeedPicksTheSame) {
  const auto picked = [](uint64_t seed) {
    WalkRandom random(seed, 3);
    Swarm swarm;
    swarm.begin(random);
    std::vector<uint32_t> ops;
    for (int i = 0; i < 50; ++i) ops.push_back(swarm.pick(12, kind_of, random));
    return ops;
  };
  EXPECT_EQ(picked(5), picked(5));
  EXPECT_NE(picked(5), picked(6));
}

}  // namespace
}  // namespace sisyfs::swarm_test
