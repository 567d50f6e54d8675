#include "machine/stable_words.h"

#include <gtest/gtest.h>

namespace sisyfs::stable_words_test {
namespace {

TEST(StableWordsTest, ALogWithoutPromisesSaysNothing) {
  Log log;
  log.add_boundary({BoundaryKind::kOpBegin, 0});
  log.add_flush();
  StableWords words;
  words.restart(log);
  EXPECT_EQ(words.count(), 0u);
  EXPECT_EQ(words.said(), Stable::kNothing);
}

TEST(StableWordsTest, APromiseHoldsUntilAStrongerOneIsMade) {
  Log log;
  for (const Stable says : {Stable::kEarlierCalls, Stable::kThisCallToo, Stable::kEarlierCalls}) {
    log.add_flush();
    log.add_boundary({BoundaryKind::kPromise, static_cast<uint32_t>(says)});
  }
  StableWords words;
  words.restart(log);
  ASSERT_EQ(words.count(), 3u);
  EXPECT_EQ(words.by(0), Stable::kNothing);
  EXPECT_EQ(words.by(1), Stable::kEarlierCalls);
  EXPECT_EQ(words.by(2), Stable::kThisCallToo);
  EXPECT_EQ(words.by(3), Stable::kThisCallToo);
  EXPECT_EQ(words.said(), Stable::kThisCallToo);
  words.restart(Log());
  EXPECT_EQ(words.said(), Stable::kNothing) << "it starts anew with each log";
}

}  // namespace
}  // namespace sisyfs::stable_words_test
