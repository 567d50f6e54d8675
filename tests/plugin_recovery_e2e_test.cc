// Plug-ins and how they recover: by their mount alone, with their fsck, and on a disk with a cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace sisyfs::plugin_recovery_e2e_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(PluginRecoveryTest, AMountThatReplaysItsJournalIsClean) {
  for (const char* more : {"", " --set both_ways=off", " --set nesting=1", " --set crash=prefixes"}) {
    const Answer a = check_plugin("ledger", std::string("--depth 4") + more);
    EXPECT_EQ(a.code, 0) << more << "\n" << a.text;
  }
}

// Regression: its fsck, which replays the journal, ran before every mount.
TEST(PluginRecoveryTest, AMountThatReplaysNothingIsFound) {
  const Answer a = check_plugin("ledger_no_replay", "--depth 4");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("POWER CUT"));
}

TEST(PluginRecoveryTest, TheCheckAfterTheMountMustFindNothingToDo) {
  const Answer a = check_plugin("ledger_not_cleared", "--depth 4");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text,
              AllOf(HasSubstr("not-clean (R4"), HasSubstr("the journal was not replayed"),
                    HasSubstr("expected: its own check is clean after the mount, which recovers alone")));
}

TEST(PluginRecoveryTest, TheMountAloneAndTheMountAfterFsckMustAgree) {
  const Answer a = check_plugin("ledger_other_fsck", "--depth 4");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("two-outcomes (R7"), HasSubstr("with its check: "),
                            HasSubstr("expected: what the mount alone brings back")));
  EXPECT_EQ(check_plugin("ledger_other_fsck", "--depth 4 --set both_ways=off").code, 0);
}

// A power cut leaves a full journal, the mount reads through it, and the first write replays it.
TEST(PluginRecoveryTest, RecoveryInTheFirstWriteIsCleanIfItIsRepeatable) {
  for (const char* more : {"", " --set crash=prefixes", " --set crash=subsets", " --set device=hostile"}) {
    const Answer a = check_plugin("ledger_lazy", std::string("--depth 3 --set nesting=1") + more);
    EXPECT_EQ(a.code, 0) << more << "\n" << a.text;
  }
  const Answer a = check_plugin("ledger_lazy", "--depth 2 --set nesting=2");
  EXPECT_EQ(a.code, 0) << a.text;
}

// Regression: only the log of the mount was cut, and this mount writes nothing.
TEST(PluginRecoveryTest, APowerCutInTheFirstWriteIsOneInRecovery) {
  EXPECT_EQ(check_plugin("ledger_lazy_clears_first", "--depth 1").code, 0);
  for (const char* more : {"", " --set crash=prefixes", " --set crash=subsets"}) {
    const Answer a =
        check_plugin("ledger_lazy_clears_first", std::string("--depth 1 --set nesting=1 --only R6") + more);
    EXPECT_EQ(a.code, 1) << more << "\n" << a.text;
    EXPECT_THAT(a.text, AllOf(HasSubstr("not-repeatable (R6"),
                              HasSubstr("the power goes again, in the first write after recovery")));
    const Answer again = run("replay '" + token_in(a.text) + "'");
    EXPECT_EQ(again.code, 1) << again.text;
    EXPECT_THAT(again.text, HasSubstr("not-repeatable (R6"));
  }
}

// Regression: a plug-in with this contract was checked on a disk that keeps the order of writes, so one that
// never flushes passed.
TEST(PluginRecoveryTest, AStructureIsCheckedOnADiskWithACache) {
  const Answer options = run("targets " + plugin_library("ledger_cache"));
  EXPECT_THAT(options.text, HasSubstr("decided on first read), none (default lazy)"));
  const Answer right = check_plugin("ledger_cache", "--depth 4");
  EXPECT_EQ(right.code, 0) << right.text;
  const Answer wrong = check_plugin("ledger_never_flushes", "--depth 4");
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_EQ(check_plugin("ledger_never_flushes", "--depth 4 --set crash=prefixes").code, 0);
}

}  // namespace
}  // namespace sisyfs::plugin_recovery_e2e_test
