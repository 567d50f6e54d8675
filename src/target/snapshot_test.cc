#include "target/snapshot.h"

#include <gtest/gtest.h>

#include <string>

namespace sisyfs::snapshot_test {
namespace {

struct Small {
  uint64_t words[16] = {};
};
struct Large {
  uint64_t words[17] = {};
};
static_assert(sizeof(Small) == Snapshot::kInlineSize && sizeof(Large) > Snapshot::kInlineSize);

TEST(SnapshotTest, GivesBackWhatWasSaved) {
  Small small;
  small.words[15] = 7;
  Snapshot saved(small);
  small.words[15] = 8;
  const Snapshot copy = saved;
  saved = Snapshot();
  EXPECT_TRUE(saved.empty());
  EXPECT_EQ(copy.as<Small>().words[15], 7u);
}

TEST(SnapshotTest, LargeMemoryIsSharedByCopies) {
  Large large;
  large.words[16] = 7;
  const Snapshot saved(large);
  const Snapshot copy = saved;
  EXPECT_EQ(copy.as<Large>().words[16], 7u);
  EXPECT_EQ(&copy.as<Large>(), &saved.as<Large>());
}

TEST(SnapshotTest, SmallMemoryLiesInTheSnapshot) {
  const Snapshot saved{Small()};
  const Snapshot copy = saved;
  const auto* begin = reinterpret_cast<const std::byte*>(&copy);
  const auto* at = reinterpret_cast<const std::byte*>(&copy.as<Small>());
  EXPECT_TRUE(at >= begin && at < begin + sizeof copy);
  EXPECT_NE(&copy.as<Small>(), &saved.as<Small>());
}

TEST(SnapshotTest, DigestTellsMemoriesApart) {
  Small a, b;
  EXPECT_EQ(Snapshot(a).digest(), Snapshot(b).digest());
  b.words[0] = 1;
  EXPECT_NE(Snapshot(a).digest(), Snapshot(b).digest());
  Large c, d;
  d.words[16] = 1;
  EXPECT_NE(Snapshot(c).digest(), Snapshot(d).digest());
}

TEST(SnapshotTest, AnythingThatCanBeCopiedGoesIn) {
  const std::string text(1000, 'x');
  const Snapshot saved(text, digest_of(text.data(), text.size()));
  EXPECT_EQ(Snapshot(saved).as<std::string>(), text);
}

TEST(SnapshotDeathTest, OtherTypeIsOurBug) {
  const Snapshot saved{Small()};
  EXPECT_DEATH((void)saved.as<Large>(), "loaded by the target that saved it");
  EXPECT_DEATH((void)Snapshot().as<Small>(), "loaded by the target that saved it");
}

}  // namespace
}  // namespace sisyfs::snapshot_test
