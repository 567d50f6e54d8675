#include "workload/script_trees.h"

#include <gtest/gtest.h>

#include <string>

#include "workload/right_errnos.h"

namespace sisyfs::script_trees_test {
namespace {

// What is wrong with a script; empty if its expectations hold.
std::string wrong_in(std::string_view text, bool limited_space = false) {
  const Result<Script> script = Script::parse(text);
  if (!script) return script.error().message;
  const Status right =
      check_expectations(*script, Tree(), [&](OpKind kind) { return limited_space && needs_space(kind); });
  return right ? "" : right.error().message;
}

TEST(ScriptTreesTest, WhatHoldsIsAccepted) {
  EXPECT_EQ(wrong_in("create /a; expect 0; append /a 512; expect 512; expect /a file 512; expect /a file\n"
                     "mkdir /d; expect /d directory; expect no /d/a; symlink a /s; expect /s symlink a\n"
                     "chmod /a 600; expect /a mode 600; link /a /b; expect /b links 2; stat /a; expect 512\n"
                     "open /a @1; unlink /a; unlink /b; expect @1 file 512; expect @1 links 0; close @1\n"
                     "expect no @1; unlink /a; expect ENOENT; read /n 0 1; expect ENOENT"),
            "");
}

TEST(ScriptTreesTest, WhatTheReferenceContradictsIsAMistakeInTheScript) {
  EXPECT_EQ(wrong_in("create /a\nexpect EEXIST"), "line 2, column 1: 'create /a' answers 0 (at the start)");
  EXPECT_EQ(wrong_in("create /a; append /a 512\n  expect 256"),
            "line 2, column 3: 'append /a 512' answers 512 (after create /a)");
  EXPECT_EQ(wrong_in("create /a\nexpect /a file 1"),
            "line 2, column 1: /a is a file of 0 bytes, mode 644, links 1 (after create /a)");
  EXPECT_EQ(wrong_in("create /a\nexpect /b file"), "line 2, column 1: there is no /b (after create /a)");
  EXPECT_EQ(wrong_in("mkdir /a\nexpect no /a"),
            "line 2, column 1: /a is a directory, mode 755 (after mkdir /a)");
  EXPECT_EQ(wrong_in("symlink b /a\nexpect /a symlink c"),
            "line 2, column 1: /a is a symbolic link to b (after symlink b /a)");
}

TEST(ScriptTreesTest, AnExpectationHoldsOnAllPaths) {
  EXPECT_EQ(wrong_in("create /a\n? unlink /a\nexpect no /a"),
            "line 3, column 1: /a is a file of 0 bytes, mode 644, links 1 (after create /a)");
  EXPECT_EQ(wrong_in("create /a\nunlink /a | rename /a /b\nexpect no /a"), "");
  EXPECT_EQ(wrong_in("create /a | mkdir /a expect 0\n? rmdir /a expect ENOTDIR"),
            "line 2, column 1: 'rmdir /a' answers 0 (after mkdir /a)");
  EXPECT_EQ(wrong_in("create /a; repeat 30 { append /a 1 | write /a 0 1 }; expect /a file"), "")
      << "equal trees are followed once";
}

TEST(ScriptTreesTest, WhereSeveralAnswersAreRightOneIsSelected) {
  EXPECT_EQ(wrong_in("mkdir /a; create /a/b; rmdir /a; expect EEXIST"), "") << "POSIX allows it";
  EXPECT_EQ(wrong_in("create /a; expect ENOSPC; expect no /a", true), "");
  EXPECT_NE(wrong_in("create /a; expect ENOSPC"), "") << "it has unlimited space";
  EXPECT_NE(wrong_in("create /a; unlink /a; expect ENOSPC", true), "") << "that needs none";
}

TEST(ScriptTreesTest, SnapshotsBringTheirTreeBack) {
  EXPECT_EQ(wrong_in("snapshot; create /a; restore; expect no /a; create /a; expect 0"), "");
}

TEST(ScriptTreesTest, TooManyTreesAreRefused) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "? create /f" + std::to_string(i) + "\n";
  EXPECT_EQ(wrong_in(text), "") << "nothing is expected";
  EXPECT_NE(wrong_in(text + "expect no /a").find("more than 100000 trees"), std::string::npos);
}

}  // namespace
}  // namespace sisyfs::script_trees_test
