// Plug-ins and how they recover: by their mount alone, with their fsck, and on a disk with a cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace sisyfs::plugin_recovery_e2e_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

// Story: each problem of the check of a plug-in was not-clean, so the first one hid all others.
TEST(PluginRecoveryTest, ProblemsOfTheCheckAreToldApartByCodesOfTheCatalogue) {
  const Answer all = check_plugin("ledger_coded", "--depth 3 --all --set both_ways=off");
  EXPECT_EQ(all.code, 1) << all.text;
  EXPECT_THAT(all.text,
              AllOf(HasSubstr("FOUND lost-block (M2"), HasSubstr("FOUND double-pointer (M3"),
                    HasSubstr("recovery finds lost-block (M2): the journal was not replayed\n"),
                    HasSubstr("recovery finds double-pointer (M3): the journal was not replayed\n")));
  EXPECT_THAT(all.text, AllOf(HasSubstr("FOUND not-clean (R4"),
                              HasSubstr("recovery finds not-clean (R4): journal: it was not replayed\n")))
      << "a word that the catalogue does not have is a part of the text";
  const Answer one = check_plugin("ledger_coded", "--depth 3 --only M3");
  EXPECT_EQ(one.code, 1) << one.text;
  EXPECT_THAT(one.text, AllOf(HasSubstr("FOUND double-pointer (M3"), Not(HasSubstr("FOUND lost-block"))));
  EXPECT_EQ(check_plugin("ledger", "--depth 3 --only M2").code, 0) << "the right one";
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
  EXPECT_THAT(options.text, HasSubstr("none (default lazy)"));
  const Answer right = check_plugin("ledger_cache", "--depth 4");
  EXPECT_EQ(right.code, 0) << right.text;
  const Answer wrong = check_plugin("ledger_never_flushes", "--depth 4");
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_EQ(check_plugin("ledger_never_flushes", "--depth 4 --set crash=prefixes").code, 0);
}

// Regression: a file system that commits a large write in parts could not say so, and was blamed for it.
TEST(PluginRecoveryTest, AWriteMayBeSplitWhereThatIsClaimed) {
  const std::string two_units = "--depth 3 --set write=2 --set file_blocks=2";
  const Answer right = check_plugin("ledger_split_writes", two_units);
  EXPECT_EQ(right.code, 0) << right.text;
  for (const char* wrong : {"ledger_hidden_split", "ledger_last_first"}) {
    const Answer a = check_plugin(wrong, two_units);
    EXPECT_EQ(a.code, 1) << wrong << "\n" << a.text;
    EXPECT_THAT(a.text, HasSubstr("not-allowed (R3")) << wrong;
  }
}

// A page that was cut off is passed over, and a device that failed is no reason to go back to an older page.
TEST(PluginRecoveryTest, APageThatCannotBeCorrectedIsNoFailureOfTheDevice) {
  for (const char* more : {"", " --set failures=1", " --set crash=subsets", " --set nesting=1"}) {
    const Answer a = check_plugin("pager", std::string("--depth 5") + more);
    EXPECT_EQ(a.code, 0) << more << "\n" << a.text;
  }
  EXPECT_EQ(check_plugin("pager_skips_all", "--depth 5").code, 0) << "it takes a failure";
  const Answer wrong = check_plugin("pager_skips_all", "--depth 5 --set failures=1");
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("hidden-error (O4"));
  const Answer old = check_plugin("pager_old", "--depth 2");
  EXPECT_EQ(old.code, 1) << "before version 1.3 both are EIO\n" << old.text;
  EXPECT_THAT(old.text, HasSubstr("(R1"));
}

// Regression: a file system that is meant for devices with sectors of 1024 bytes was blamed on a device that
// tears sectors of 512.
TEST(PluginRecoveryTest, ADeviceDoesNotTearWhatThePluginNeedsWhole) {
  for (const char* device : {"hostile", "torn", "scattered --set crash=subsets"}) {
    const std::string on = std::string("--depth 2 --set device=") + device;
    const Answer right = check_plugin("ledger_whole_unit", on);
    EXPECT_EQ(right.code, 0) << device << "\n" << right.text;
    EXPECT_THAT(right.text, HasSubstr("it does not tear within 1024 bytes, which the target needs whole"));
    EXPECT_EQ(check_plugin("ledger_torn_head", on).code, 1) << device;
    EXPECT_EQ(check_plugin("ledger_one_write", on).code, 1) << device << ": it tears between units";
  }
  const Answer whole = check_plugin("ledger_one_write", "--depth 2");
  EXPECT_EQ(whole.code, 0) << "no write tears\n" << whole.text;
  const Answer small = check_plugin("ledger_whole_unit", "--depth 2 --set device=hostile --set atomic=512");
  EXPECT_EQ(small.code, 2) << small.text;
  EXPECT_THAT(small.text, HasSubstr("the target needs 1024 bytes to be written whole"));
  EXPECT_EQ(check_plugin("ledger_whole_unit", "--depth 2 --set device=hostile --set atomic=4096").code, 0);
}

}  // namespace
}  // namespace sisyfs::plugin_recovery_e2e_test
