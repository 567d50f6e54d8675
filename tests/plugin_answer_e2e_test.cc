// Plug-ins and what they answer: errnos that are as right as those of Linux, wrong ones, and short writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace sisyfs::plugin_answer_e2e_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(PluginAnswerTest, WherePosixLeavesTheErrnoOpenEachIsRight) {
  for (const char* name : {"ledger", "ledger_other_errnos"}) {
    const Answer a = check_plugin(name, "--depth 3 --set impossible=on");
    EXPECT_EQ(a.code, 0) << name << "\n" << a.text;
  }
}

// Regression: one wrong errno hid all others.
TEST(PluginAnswerTest, WrongErrnosOfDifferentCallsAreAllTold) {
  const Answer all = check_plugin("ledger_wrong_errnos", "--depth 3 --set impossible=on --all");
  EXPECT_EQ(all.code, 1) << all.text;
  EXPECT_THAT(all.text, AllOf(HasSubstr("create /a: answers EPERM"), HasSubstr("unlink /a: answers EINVAL")));
}

TEST(PluginAnswerTest, AShortWriteHasWrittenWhatItSays) {
  const Answer right = check_plugin("ledger_short_writes", "--depth 4 --set write=2");
  EXPECT_EQ(right.code, 0) << right.text;
  const Answer wrong = check_plugin("ledger_lying_writes", "--depth 4 --set write=2");
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("wrong-effect (O2"));
}

}  // namespace
}  // namespace sisyfs::plugin_answer_e2e_test
