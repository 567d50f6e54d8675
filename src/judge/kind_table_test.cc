#include "judge/kind_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sisyfs::kind_table_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KindTableTest, NumbersFollowTheOrderOfTheCatalogue) {
  const KindTable kinds({FindingKind::kNotAllowed, FindingKind::kWrongErrno, FindingKind::kNotAllowed});
  EXPECT_THAT(kinds.kinds(), ElementsAre(FindingKind::kWrongErrno, FindingKind::kNotAllowed));
  EXPECT_EQ(kinds.bit(FindingKind::kWrongErrno), 1u);
  EXPECT_EQ(kinds.bit(FindingKind::kNotAllowed), 2u);
  EXPECT_EQ(kinds.all(), 3u);
  EXPECT_EQ(kinds[1], FindingKind::kNotAllowed);
}

TEST(KindTableTest, AKindThatWasNotDeclaredHasNoBit) {
  const KindTable kinds({FindingKind::kWrongErrno});
  EXPECT_EQ(kinds.bit_or_none(FindingKind::kNotClean), 0u);
  EXPECT_FALSE(kinds.has(~FindingBits{0}, FindingKind::kNotClean));
  EXPECT_TRUE(kinds.has(1, FindingKind::kWrongErrno));
  EXPECT_FALSE(kinds.has(2, FindingKind::kWrongErrno));
  EXPECT_DEATH((void)kinds.bit(FindingKind::kNotClean), "finds what it has declared");
}

TEST(KindTableTest, BitsAndKindsAreTranslatedBothWays) {
  const KindTable kinds({FindingKind::kNotClean, FindingKind::kWrongErrno, FindingKind::kNotUsable});
  for (FindingBits bits = 0; bits < 8; ++bits) EXPECT_EQ(kinds.bits(kinds.in(bits)), bits);
  EXPECT_THAT(kinds.in(5), ElementsAre(FindingKind::kWrongErrno, FindingKind::kNotUsable));
  EXPECT_THAT(kinds.in(8), IsEmpty());
  const FindingKind unknown[] = {FindingKind::kTargetDied};
  EXPECT_EQ(kinds.bits(unknown), 0u);
}

TEST(KindTableTest, TheWholeCatalogueFits) {
  std::vector<FindingKind> all;
  for (const FindingInfo& entry : catalogue()) all.push_back(entry.kind);
  const KindTable kinds(all);
  EXPECT_THAT(kinds.in(kinds.all()), testing::ElementsAreArray(all));
}

// The last of 64 numbers has a bit too; a 65th does not fit. The list may repeat a kind.
TEST(KindTableTest, HasRoomFor64Kinds) {
  std::vector<FindingKind> kinds(64, FindingKind::kWrongErrno);
  kinds.back() = FindingKind::kNotAllowed;
  EXPECT_EQ(KindTable(kinds, ~FindingBits{0}).bit(FindingKind::kNotAllowed), FindingBits{1} << 63);
  kinds.push_back(FindingKind::kNotClean);
  EXPECT_DEATH(KindTable(kinds, ~FindingBits{0}), "at most 64 kinds");
}

TEST(KindTableTest, AKindMayHaveVariants) {
  const KindTable kinds({FindingKind::kNotAllowed, FindingKind::kWrongErrno, FindingKind::kContentError},
                        FindingKind::kWrongErrno, 3);
  EXPECT_EQ(kinds.variants(FindingKind::kWrongErrno), 3u);
  EXPECT_EQ(kinds.variants(FindingKind::kNotAllowed), 1u);
  EXPECT_EQ(kinds.bit(FindingKind::kWrongErrno), 2u);
  EXPECT_EQ(kinds.bit(FindingKind::kWrongErrno, 2), 8u);
  EXPECT_EQ(kinds.bit_or_none(FindingKind::kWrongErrno), 14u);
  EXPECT_EQ(kinds.bit(FindingKind::kNotAllowed), 16u);
  EXPECT_EQ(kinds[3], FindingKind::kWrongErrno);
  EXPECT_THAT(kinds.in(12), ElementsAre(FindingKind::kWrongErrno)) << "each kind once";
  EXPECT_TRUE(kinds.has(8, FindingKind::kWrongErrno));
  const FindingKind wrong_errno[] = {FindingKind::kWrongErrno};
  EXPECT_EQ(kinds.bits(wrong_errno), 14u);
}

TEST(KindTableTest, AModelNumbersByItsListAndOnlyWhatIsPossibleIsFound) {
  const KindTable kinds({FindingKind::kNotAllowed, FindingKind::kWrongErrno}, 2);
  EXPECT_EQ(kinds.bit(FindingKind::kWrongErrno), 2u);
  EXPECT_EQ(kinds.bit_or_none(FindingKind::kNotAllowed), 0u);
  EXPECT_EQ(kinds.all(), 2u);
}

}  // namespace
}  // namespace sisyfs::kind_table_test
