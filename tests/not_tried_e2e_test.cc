// What a pass says it has not tried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace sisyfs::not_tried_e2e_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(NotTriedE2eTest, APassNamesTheOptionsThatWouldTryMore) {
  const Answer a = check_plugin("ledger", "--depth 2");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text,
              HasSubstr("  not tried power cuts in recovery (--set nesting=1); failing disk accesses "
                        "and allocations (--set failures=1); ops that must fail (--set impossible=on)"));
}

TEST(NotTriedE2eTest, WhatWasTriedIsNotNamed) {
  const Answer a = check_plugin(
      "ledger",
      "--depth 2 --set nesting=1 --set impossible=on --set failures=1 --set fail=memory --set reads=on");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, Not(HasSubstr("not tried")));
}

TEST(NotTriedE2eTest, OpsThatNeverOccurredAreNamed) {
  const Answer a = run("check journal --depth 2 --set dirs=0 --progress off");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("mkdir, rmdir (--set dirs=1); link, symlink (--set links=on)"));
}

TEST(NotTriedE2eTest, TheJsonHasThemToo) {
  const Answer a = check_plugin("ledger", "--depth 1 --json -");
  const auto json = nlohmann::json::parse(a.text, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << a.text;
  ASSERT_FALSE(json["not_tried"].empty());
  EXPECT_EQ(json["not_tried"][0]["what"], "power cuts in recovery");
  EXPECT_EQ(json["not_tried"][0]["setting"], "nesting=1");
}

TEST(NotTriedE2eTest, AFindingSaysNothingAboutTheRest) {
  const Answer a = check_plugin("ledger_no_replay", "--depth 4");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, Not(HasSubstr("not tried")));
}

}  // namespace
}  // namespace sisyfs::not_tried_e2e_test
