#include "machine/recovery.h"

#include <gtest/gtest.h>

namespace sisyfs::recovery_test {
namespace {

// Problem 0 is named and critical, 1 is critical, 2 is named, 3 is neither.
constexpr uint64_t kNamed = 0b0101, kCritical = 0b0011;
CheckRules rules(bool report_repaired) { return {kNamed, kCritical, report_repaired}; }

TEST(CheckRulesTest, ACleanCheckIsSound) {
  EXPECT_TRUE(rules(false).is_sound({}, false));
  EXPECT_TRUE(rules(true).is_sound({}, false));
}

TEST(CheckRulesTest, NamedCriticalProblemsCountEvenIfTheyWereRepaired) {
  EXPECT_EQ(rules(false).counted({.found = 0b1111}, false), 0b0001u);
  EXPECT_EQ(rules(false).counted({.repaired = 0b1111}, false), 0b0001u);
  EXPECT_EQ(rules(false).counted({.left = 0b1111}, false), 0b0001u);
}

TEST(CheckRulesTest, HarmlessOnesCountOnDemand) {
  EXPECT_EQ(rules(true).counted({.found = 0b1111}, false), 0b0101u);
  EXPECT_EQ(rules(true).counted({.repaired = 0b1111}, false), 0b0101u);
  EXPECT_EQ(rules(true).counted({.left = 0b1111}, false), 0b0001u);
}

TEST(CheckRulesTest, WhatTheRepairFindsOnADamagedDiskIsNoFinding) {
  EXPECT_EQ(rules(false).counted({.repaired = 0b0001}, true), 0u);
  EXPECT_TRUE(rules(false).is_sound({.repaired = 0b0001}, true));
  EXPECT_FALSE(rules(false).is_sound({.repaired = 0b0001}, false));
  EXPECT_EQ(rules(false).counted({.left = 0b0001}, true), 0b0001u) << "it was to be repaired";
}

TEST(CheckRulesTest, WhatIsLeftWithoutANameIsUnclean) {
  EXPECT_FALSE(rules(false).is_unclean({.left = 0b0001})) << "it is a finding of its own";
  for (const uint64_t left : {0b0010, 0b0100, 0b1000}) EXPECT_TRUE(rules(false).is_unclean({.left = left}));
  EXPECT_FALSE(rules(false).is_unclean({.found = 0b1111, .repaired = 0b1111}));
  EXPECT_TRUE(rules(false).is_unclean({.failed = true}));
}

}  // namespace
}  // namespace sisyfs::recovery_test
