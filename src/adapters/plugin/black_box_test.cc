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
  EXPECT_FALSE(other.box()->is_deadly(5));
  EXPECT_TRUE(shared.box()->add_deadly(5, std::string(500, 'x')));
  EXPECT_TRUE(other.box()->is_deadly(5));
  EXPECT_EQ(std::string(other.box()->texts[0]).size(), sizeof(BlackBox::texts[0]) - 1);
  for (uint32_t i = 1; i < BlackBox::kMostDeaths; ++i)
    EXPECT_TRUE(shared.box()->add_deadly(100 + i, "again"));
  EXPECT_FALSE(shared.box()->add_deadly(999, "one too many"));
}

TEST(BlackBoxTest, AnotherFileIsNoBlackBox) {
  const SharedBlackBox wrong(dup(STDIN_FILENO));
  EXPECT_EQ(wrong.box(), nullptr);
  const SharedBlackBox none(-1);
  EXPECT_EQ(none.box(), nullptr);
}

}  // namespace
}  // namespace sisyfs::black_box_test
