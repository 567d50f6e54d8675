#include "workload/script.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>

namespace sisyfs::script_test {
namespace {

// All paths of a script, with "!" behind the ops in which the power may go.
std::vector<std::string> paths_of(std::string_view text) {
  const Result<Script> script = Script::parse(text);
  if (!script) return {"error: " + script.error().message};
  std::vector<std::string> all;
  const std::function<void(uint32_t, std::string)> go = [&](uint32_t at, const std::string& path) {
    bool any = false;
    script->each_from(at, [&](const Script::Line& line, const Op& op, uint32_t next) {
      any = true;
      go(next, path + (path.empty() ? "" : "; ") + to_text(op) + (script->may_cut(line) ? "!" : ""));
    });
    if (!any) all.push_back(path);
  };
  go(0, "");
  return all;
}

using Paths = std::vector<std::string>;

TEST(ScriptTest, OpsFollowEachOther) {
  EXPECT_EQ(paths_of("create /a\n\n  # nothing\nappend /a 8 # eight\nsync"),
            (Paths{"create /a!; append /a 8!; sync!"}));
  EXPECT_EQ(paths_of("create /a; sync;;"), (Paths{"create /a!; sync!"}));
}

TEST(ScriptTest, AlternativesAndOptionalLinesAreAllPaths) {
  EXPECT_EQ(paths_of("create /a | mkdir /a\nsync"), (Paths{"create /a!; sync!", "mkdir /a!; sync!"}));
  EXPECT_EQ(paths_of("create /a\n? fsync /a\n? sync\nunlink /a"),
            (Paths{"create /a!; fsync /a!; sync!; unlink /a!", "create /a!; fsync /a!; unlink /a!",
                   "create /a!; sync!; unlink /a!", "create /a!; unlink /a!"}));
}

TEST(ScriptTest, RepetitionsAreWrittenOutAndMayNest) {
  EXPECT_EQ(paths_of("repeat 2 {\n  sync\n  repeat 2 { remount }\n}"),
            (Paths{"sync!; remount!; remount!; sync!; remount!; remount!"}));
}

TEST(ScriptTest, WithCrashLinesThePowerGoesThereOnly) {
  EXPECT_EQ(paths_of("create /a\nappend /a 8\ncrash\nsync"), (Paths{"create /a; append /a 8!; sync"}));
  EXPECT_EQ(paths_of("repeat 2 { sync; crash }\nremount"), (Paths{"sync!; sync!; remount"}));
}

TEST(ScriptTest, ExpectationsStandBesideOps) {
  const Result<Script> script = Script::parse(
      "create /a\nexpect 0; expect /a file\ncrash\n? append /a 8 | unlink /n expect ENOENT\n"
      "repeat 2 { unlink /a; expect ENOENT }\nexpect no /a; expect @1 file 8; expect /d mode 700");
  ASSERT_TRUE(script) << script.error().message;
  ASSERT_EQ(script->lines().size(), 4u);
  EXPECT_EQ(to_text(script->lines()[0].ops[0]), "create /a expect 0");
  EXPECT_EQ(script->lines()[0].facts.size(), 1u);
  EXPECT_TRUE(script->lines()[0].crash) << "an expectation may stand between op and crash";
  EXPECT_EQ(to_text(script->lines()[1].ops[0]), "append /a 8");
  EXPECT_EQ(to_text(script->lines()[1].ops[1]), "unlink /n expect ENOENT");
  EXPECT_EQ(script->lines()[2].answer->error, ENOENT);
  EXPECT_TRUE(script->lines()[2].facts.empty());
  ASSERT_EQ(script->lines()[3].facts.size(), 3u) << "after the repetition";
  EXPECT_EQ(script->lines()[3].facts[2].number, 0700u);
}

TEST(ScriptTest, APowerCutMayWaitForAPromise) {
  const Result<Script> script = Script::parse("create /a; crash\nfsync /a\ncrash after\nsync");
  ASSERT_TRUE(script);
  EXPECT_TRUE(script->lines()[0].crash && !script->lines()[0].after);
  EXPECT_TRUE(script->lines()[1].crash && script->lines()[1].after);
  EXPECT_FALSE(script->may_cut(script->lines()[2]));
}

TEST(ScriptTest, ErrorsNameLineAndColumn) {
  const auto error = [](std::string_view text) { return paths_of(text).front(); };
  EXPECT_EQ(error(""), "error: the script has no ops");
  EXPECT_EQ(error("# only words\n"), "error: the script has no ops");
  EXPECT_EQ(error("sync\n  create a"), "error: line 2, column 3: 'a' in column 8 is not an absolute path");
  EXPECT_EQ(error("sync | creat /a").substr(0, 48), "error: line 1, column 8: unknown op 'creat' in c");
  EXPECT_EQ(error("sync |"), "error: line 1, column 7: an op is missing");
  EXPECT_EQ(error("expect 0"), "error: line 1, column 1: 'expect' comes after an op");
  EXPECT_EQ(error("sync; expect 0; expect 0").substr(0, 50),
            "error: line 1, column 17: an answer comes right af");
  EXPECT_EQ(error("repeat 2 { sync }; expect 0").substr(0, 50),
            "error: line 1, column 20: an answer comes right af");
  EXPECT_EQ(error("sync; expect maybe").substr(0, 58),
            "error: line 1, column 7: 'expect' wants an errno, a number");
  EXPECT_EQ(error("sync; expect no a"), "error: line 1, column 17: 'a' is not an absolute path");
  EXPECT_EQ(error("sync; expect /a file x").substr(0, 40), "error: line 1, column 7: 'expect' wants ");
  EXPECT_EQ(error("sync; expect /a mode 8").substr(0, 40), "error: line 1, column 7: 'expect' wants ");
  EXPECT_EQ(error("sync expect EHA").substr(0, 58),
            "error: line 1, column 1: 'expect' wants 0 or an errno such");
  EXPECT_EQ(error("?"), "error: line 1, column 2: an op is missing");
  EXPECT_EQ(error("crash"),
            "error: line 1, column 1: 'crash' comes right after the op in which the power may go");
  EXPECT_EQ(error("repeat 2 { sync }\ncrash"),
            "error: line 2, column 1: 'crash' comes right after the op in which the power may go");
  EXPECT_EQ(error("sync\n}"), "error: line 2, column 1: '}' closes nothing");
  EXPECT_EQ(error("{ sync }"), "error: line 1, column 1: '{' comes after 'repeat' and a number");
  EXPECT_EQ(error("repeat 2 { sync"), "error: line 1, column 1: the '{' of this 'repeat' is not closed");
  EXPECT_EQ(error("repeat 2"), "error: line 1, column 1: 'repeat' wants a '{'");
  EXPECT_EQ(error("repeat 2 { }"), "error: line 1, column 1: there is nothing to repeat");
  for (const char* number : {"0", "-1", "x", "", "10001"})
    EXPECT_EQ(error("repeat " + std::string(number) + " { sync }"),
              "error: line 1, column 1: 'repeat' wants a number from 1 to 10000");
  const char* many =
      "error: line 1, column 1: the script has more than 10000 lines, with repetitions written out";
  EXPECT_EQ(error("repeat 10000 { sync; sync }"), many);
  EXPECT_EQ(error("repeat 100 { repeat 101 { sync } }"), many);
  EXPECT_EQ(error(std::string(70'000, ' ')), "error: the script has more than 65536 bytes");
}

}  // namespace
}  // namespace sisyfs::script_test
