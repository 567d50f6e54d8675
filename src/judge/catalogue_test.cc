#include "judge/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace sisyfs::catalogue_test {
namespace {

TEST(CatalogueTest, EachKindHasACodeAndANameOfItsOwn) {
  std::set<std::string_view> words;
  for (const FindingInfo& entry : catalogue()) {
    EXPECT_TRUE(words.insert(entry.code).second) << entry.code;
    EXPECT_TRUE(words.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.says.empty()) << entry.name;
    EXPECT_EQ(&info(entry.kind), &entry);
  }
  EXPECT_EQ(catalogue().size(), kFindingKinds);
}

TEST(CatalogueTest, KindsAreFoundByCodeAndByName) {
  for (const FindingInfo& entry : catalogue()) {
    for (const std::string_view word : {entry.code, entry.name}) {
      const auto found = find_kind(word);
      ASSERT_TRUE(found) << word;
      EXPECT_EQ(found->kind, entry.kind);
    }
  }
  for (const char* word : {"", "Z9", "m2", "lost", "lost-block "}) EXPECT_FALSE(find_kind(word)) << word;
}

// Tokens and reports hold these.
TEST(CatalogueTest, CodesAndNamesStayAsTheyWereReleased) {
  EXPECT_EQ(info(FindingKind::kLostBlock).code, "M2");
  EXPECT_EQ(info(FindingKind::kLostBlock).name, "lost-block");
  EXPECT_EQ(info(FindingKind::kNotAllowed).code, "R3");
  EXPECT_EQ(info(FindingKind::kWrongErrno).name, "wrong-errno");
}

TEST(CatalogueTest, ListsOfKindsAreWritten) {
  const FindingKind kinds[] = {FindingKind::kWrongErrno, FindingKind::kNotAllowed};
  EXPECT_EQ(names_of(kinds), "wrong-errno, not-allowed");
  EXPECT_EQ(codes_of(kinds), "O1 R3");
  EXPECT_EQ(names_of({}), "");
  EXPECT_EQ(codes_of({}), "");
}

}  // namespace
}  // namespace sisyfs::catalogue_test
