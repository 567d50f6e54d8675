// check --script: good and bad scripts, and the tokens of what they find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace sisyfs::script_e2e_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ScriptE2eTest : public testing::Test {
 protected:
  Answer check(const std::string& target, const std::string& script, const std::string& more = "") {
    return run("check " + target + " --progress off --script '" + where_.write("s.txt", script) + "' " +
               more);
  }
  TemporaryDirectory where_;
};

TEST_F(ScriptE2eTest, ARightSystemPasses) {
  const std::string script =
      "create /a\nappend /a 64 | write /a 0 64\n? fsync /a\nrepeat 3 { append /a 64 }\nrename /a /b\nsync\n";
  const Answer a = check("journal", script);
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("ops that the script does not name"));
  EXPECT_THAT(a.text, HasSubstr("the power went in the middle of an op"));
  const Answer b = check(plugin_library("jotter"), "create /a\n? append /a 64\nsync\n");
  EXPECT_EQ(b.code, 0) << b.text;
}

TEST_F(ScriptE2eTest, APlantedBugIsFoundAndItsTokenNeedsNoScript) {
  const Answer a = check(plugin_library("jotter_hole"), "create /a\nappend /a 512\nwrite /a 1536 512\n");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("3  write /a 1536 512"));
  const Answer again = run("replay '" + token_in(a.text) + "'");
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("still happens"));
  EXPECT_EQ(check(plugin_library("jotter"), "create /a\nappend /a 512\nwrite /a 1536 512\n").code, 0);
}

TEST_F(ScriptE2eTest, WhatAScriptExpectsIsHeldAgainstTheReference) {
  const std::string script =
      "create /a; append /a 64; expect 64\nrename /a /b; expect no /a\nexpect /b file ";
  EXPECT_EQ(check("journal", script + "64\n").code, 0);
  const Answer wrong = check("journal", script + "128\n");
  EXPECT_EQ(wrong.code, 2) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("s.txt: line 3, column 1: /b is a file of 64 bytes"));
}

// The disk is full, which the plug-in may answer. A script that says that it is not makes this a finding.
TEST_F(ScriptE2eTest, AnExpectedAnswerSelectsOneOfSeveralRightOnes) {
  const std::string slots = plugin_library("slots");
  std::string full;
  for (const char* name : {"a", "b", "c", "d", "e"}) full += std::string("create /") + name + "\n";
  EXPECT_EQ(check(slots, full).code, 0);
  EXPECT_EQ(check(slots, full + "expect ENOSPC; expect no /e\n").code, 0);
  const Answer a = check(slots, full + "expect 0\n");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("create /e expect 0: answers ENOSPC"));
  EXPECT_THAT(a.text, HasSubstr("FOUND wrong-errno (O1"));
  const Answer again = run("replay '" + token_in(a.text) + "'");
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("still happens"));
  const Answer other = check(slots, "create /a\nexpect ENOSPC\n");
  EXPECT_EQ(other.code, 1) << other.text;
  EXPECT_THAT(other.text, HasSubstr("expected: it answers ENOSPC"));
}

// Its fdatasync does nothing, which shows only if the power goes after it.
TEST_F(ScriptE2eTest, ThePowerGoesWhereTheScriptSays) {
  const std::string plugin = plugin_library("jotter_fdatasync");
  const std::string lost = "create /a\nappend /a 512\nfdatasync /a\ncrash\n";
  EXPECT_EQ(check(plugin, lost).code, 1);
  const Answer early = check(plugin, "create /a\ncrash\nappend /a 512\nfdatasync /a\n");
  EXPECT_EQ(early.code, 0) << early.text;
}

// The search of what fsync promises need not try what a power cut in it leaves.
TEST_F(ScriptE2eTest, ThePowerMayWaitForAPromise) {
  const std::string script = "create /a; append /a 64; fsync /a; crash";
  const Answer during = check("journal", script, "--json -");
  const Answer after = check("journal", script + " after", "--json -");
  ASSERT_EQ(during.code, 0) << during.text;
  ASSERT_EQ(after.code, 0) << after.text;
  const auto states = [](const Answer& a) {
    return nlohmann::json::parse(a.text)["crash_states"].get<int>();
  };
  EXPECT_GT(states(after), 0);
  EXPECT_GT(states(during), states(after));
  EXPECT_EQ(
      nlohmann::json::parse(check("journal", "create /a; crash after", "--json -").text)["crash_states"], 0)
      << "create promises nothing";
}

TEST_F(ScriptE2eTest, OpsThatMustFailAreJudgedToo) {
  const std::string script = "create /a\ncreate /a | mkdir /a | rmdir /a\nunlink /b\n";
  EXPECT_EQ(check("journal", script).code, 0);
}

TEST_F(ScriptE2eTest, AlternativesAreSearchedEach) {
  const Answer one = check("journal", "create /a\n", "--set crash=none");
  EXPECT_THAT(one.text, HasSubstr("searched  2 states"));
  const Answer more =
      check("journal", "create /a | mkdir /a\n? sync\n", "--set crash=none --dedup none --depth 9");
  EXPECT_THAT(more.text, HasSubstr("5 states")) << "the start, two files, and each of them synced";
}

TEST_F(ScriptE2eTest, BadScriptsAreRefusedWithTheirPlace) {
  struct Wrong {
    std::string target, script, more, says;
  };
  for (const Wrong& wrong :
       {Wrong{"journal", "create /a\n  creat /b\n", "",
              "s.txt: line 2, column 3: unknown op 'creat' in column 1"},
        Wrong{"journal", "# nothing\n", "", "s.txt: the script has no ops"},
        Wrong{"journal", "repeat 2 {\nsync\n", "",
              "line 1, column 1: the '{' of this 'repeat' is not closed"},
        Wrong{"journal", "sync\nsetxattr /a user.a 1\n", "",
              "line 2, column 1: the target has no op setxattr"},
        Wrong{"journal", "sync | fsck\n", "", "line 1, column 1: the target has no op fsck"},
        Wrong{plugin_library("ledger"), "create /a\nwrite /a 1 64\n", "",
              "line 2, column 1: offsets and lengths of this target are multiples of 64"},
        Wrong{"journal", "sync\n", "--checkpoint x.checkpoint", "--script"},
        Wrong{"link", "create /0\n", "", "it is a model in steps, which has no ops"}}) {
    const Answer a = check(wrong.target, wrong.script, wrong.more);
    EXPECT_EQ(a.code, 2) << a.text;
    EXPECT_THAT(a.text, HasSubstr(wrong.says));
  }
  EXPECT_EQ(run("check journal --script /nowhere/script").code, 2);
}

// Its workers are processes of their own, and have the script too.
TEST_F(ScriptE2eTest, TheResultDoesNotDependOnTheNumberOfWorkers) {
  const std::string script = "create /a\nrepeat 2 { append /a 512 | write /a 0 512 }\n? fsync /a\nsync\n";
  const auto counted = [&](const std::string& threads) {
    const Answer a = check(plugin_library("jotter"), script, "--threads " + threads);
    EXPECT_EQ(a.code, 0) << a.text;
    const size_t at = a.text.find("searched  ");
    return a.text.substr(at, a.text.find(" transitions", at) - at);
  };
  EXPECT_EQ(counted("1"), counted("2"));
}

}  // namespace
}  // namespace sisyfs::script_e2e_test
