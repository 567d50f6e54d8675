// sisyfs ops: what it lists, and its exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace sisyfs::ops_e2e_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(OpsE2eTest, ListsWhatIsTriedFromTheStart) {
  const Answer a = run("ops journal");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, StartsWith("create /a\nmkdir /a\nfsync /\nsync\nremount\n# 5 ops from the start\n"));
  EXPECT_THAT(a.text, HasSubstr("# not tried: power cuts in recovery (--set nesting=1); "));
  EXPECT_THAT(a.text, HasSubstr("link, symlink (--set links=on)"));
  EXPECT_THAT(a.text, HasSubstr("# not supported by the target: snapshot, restore, fsck, setxattr"));
}

TEST(OpsE2eTest, ListsWhatIsTriedAfterOps) {
  const Answer a =
      run("ops journal --after 'create /a; append /a 64;' --set truncates=ends --set one_write=off");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("truncate /a 0\n"));
  EXPECT_THAT(a.text, HasSubstr("rename /a /b\n"));
  EXPECT_THAT(a.text, HasSubstr("from the state after 2 ops\n"));
}

TEST(OpsE2eTest, OpsThatMustFailAreMarked) {
  const Answer a = run("ops verifs1");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("unlink /a  # must fail: ENOENT\n"));
  EXPECT_THAT(a.text, HasSubstr("of them must fail\n"));
}

TEST(OpsE2eTest, PluginsHaveOpsToo) {
  const Answer a =
      run("ops " + plugin_library("jotter") + " --after 'create /a; write /a 0 512' --set reads=on");
  EXPECT_EQ(a.code, 0) << a.text;
  for (const char* line :
       {"fdatasync /a\n", "read /a 0 512\n", "truncate /a 1024\n", "setxattr /a user.a 1\n"})
    EXPECT_THAT(a.text, HasSubstr(line));
  EXPECT_THAT(a.text, HasSubstr("sizes and offsets within a unit (--set odd=on)"));
  EXPECT_THAT(a.text, Not(HasSubstr("reads between other ops")));
}

TEST(OpsE2eTest, BadInputIsRefused) {
  struct Wrong {
    std::string arguments, says;
  };
  for (const Wrong& wrong :
       {Wrong{"ops nothing", "unknown target 'nothing'"},
        Wrong{"ops journal --set nothing=1", "unknown option 'nothing'"},
        Wrong{"ops journal --after 'create /a; creat /b'", "--after, op 2: unknown op 'creat' in column 2"},
        Wrong{"ops journal --after 'create /a; create /a'", "op 2, 'create /a', answers EEXIST"},
        Wrong{"ops journal --after 'setxattr /a user.a 1'",
              "op 1, 'setxattr /a user.a 1': the target has no such op"},
        Wrong{"ops link", "its steps are no ops"}}) {
    const Answer a = run(wrong.arguments);
    EXPECT_EQ(a.code, 2) << a.text;
    EXPECT_THAT(a.text, HasSubstr(wrong.says));
  }
  EXPECT_EQ(run("ops link --set via=disk").code, 0);
  EXPECT_EQ(run("ops").code, 2);
}

TEST(OpsE2eTest, AnOpThatBreaksAPromiseIsToldAsOne) {
  const Answer a =
      run("ops " + plugin_library("slots_segfault") + " --after 'create /a; append /a 64; append /a 64'");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("op 3, 'append /a 64', breaks a promise: 'sisyfs check' reports it"));
}

}  // namespace
}  // namespace sisyfs::ops_e2e_test
