#include "adapters/plugin/black_box.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sisyfs::black_box_test {
namespace {

TEST(BlackBoxTest, AnotherProcessReadsTheLastCall) {
  const SharedBlackBox shared;
  ASSERT_NE(shared.box(), nullptr);
  const pid_t child = fork();
  if (child == 0) {
    shared.box()->slots[3].call = 77;
    shared.box()->slots[3].inside = true;
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(shared.box()->slots[3].call, 77u);
  EXPECT_TRUE(shared.box()->slots[3].inside);
  shared.box()->clear(3);
  EXPECT_EQ(shared.box()->slots[3].call, 0u);
}

TEST(BlackBoxTest, DeadlyCallsAreSeenByAllThatMapIt) {
  const SharedBlackBox shared;
  const SharedBlackBox other(dup(shared.descriptor()));
  ASSERT_NE(other.box(), nullptr);
  EXPECT_TRUE(shared.box()->blame(5, std::string(500, 'x')));
  ASSERT_EQ(other.box()->deaths, 1u);
  EXPECT_EQ(other.box()->deadly[0].call, 5u);
  EXPECT_EQ(std::string(other.box()->deadly[0].text).size(), sizeof(BlackBox::Deadly::text) - 1);
  for (uint32_t i = 1; i < BlackBox::kMostDeaths; ++i) EXPECT_TRUE(shared.box()->blame(100 + i, "again"));
  EXPECT_FALSE(shared.box()->blame(999, "one too many"));
}

TEST(BlackBoxTest, ADeathByItselfIsConfirmedOrNot) {
  const SharedBlackBox shared;
  BlackBox& box = *shared.box();
  EXPECT_TRUE(box.blame(4, "somebody killed it"));
  EXPECT_EQ(box.unconfirmed(), nullptr);
  EXPECT_TRUE(box.blame(5, "it died", true));
  EXPECT_STREQ(box.unconfirmed(), "it died");
  box.deadly[1].confirmed = true;
  EXPECT_EQ(box.unconfirmed(), nullptr);
}

TEST(BlackBoxTest, ACallThatIsBlamedAgainIsTriedMoreOften) {
  const SharedBlackBox shared;
  BlackBox& box = *shared.box();
  uint64_t trials = 0;
  for (uint32_t i = 0; i < BlackBox::kMostTimes; ++i) {
    EXPECT_TRUE(box.blame(5, "it died"));
    EXPECT_GT(box.deadly[0].trials(), trials);
    trials = box.deadly[0].trials();
  }
  EXPECT_EQ(trials, UINT64_MAX);
  EXPECT_FALSE(box.blame(5, "it died")) << "trying does not help";
  EXPECT_EQ(box.deaths, 1u);
}

TEST(BlackBoxTest, AnotherFileIsNoBlackBox) {
  const SharedBlackBox wrong(dup(STDIN_FILENO));
  EXPECT_EQ(wrong.box(), nullptr);
  const SharedBlackBox none(-1);
  EXPECT_EQ(none.box(), nullptr);
}

}  // namespace
}  // namespace sisyfs::black_box_test
