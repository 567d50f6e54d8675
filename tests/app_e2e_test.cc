// `sisyfs app` with scripts: verdicts, exit codes, what is recorded and what is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app_for_test.h"
#include "running_program.h"

namespace sisyfs::app_e2e_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class AppTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_fuse(); !why.empty()) GTEST_SKIP() << why;
  }
  AppRun at_;
};

// --- usage and bad input ----------------------------------------------------------------------------------

TEST_F(AppTest, NothingToRunIsAUsageError) {
  const Answer a = at_.app("--empty");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("nothing to run"), HasSubstr("--run")));
}

TEST_F(AppTest, TwoWorkloadsAreAUsageError) {
  const Answer a = at_.app("--empty --run true -- true");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("two workloads"));
}

TEST_F(AppTest, UnknownContractIsAUsageErrorThatNamesAll) {
  const Answer a = at_.app("--empty --contract ext5 -- true");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("ext5"), HasSubstr("posix"), HasSubstr("ext4-ordered")));
}

TEST_F(AppTest, BadPatternOfAcknowledgementsIsAUsageError) {
  const Answer a = at_.app("--empty --ack '(' -- true");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("not a regular expression"));
}

TEST_F(AppTest, UnknownFolderIsAUsageError) {
  const Answer a = at_.app("--dir /nowhere -- true");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("/nowhere"));
}

TEST_F(AppTest, FailingSetupOrWorkloadIsBadInputWithItsOutput) {
  const Answer a = at_.app("--empty --run 'echo no disk; exit 7'");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("workload"), HasSubstr("exit code 7"), HasSubstr("no disk")));
  const Answer b = at_.app("--empty --setup 'exit 9' --run true");
  EXPECT_EQ(b.code, 2) << b.text;
  EXPECT_THAT(b.text, AllOf(HasSubstr("setup"), HasSubstr("exit code 9")));
}

TEST_F(AppTest, CheckThatFailsWithoutAPowerCutIsBadInput) {
  const Answer a = at_.app("--empty --run 'echo a >f' --check 'echo never right; false'");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("without any power cut"), HasSubstr("never right")));
}

TEST_F(AppTest, CheckThatDoesNotReportAnAcknowledgedLineIsBadInput) {
  const Answer a = at_.app("--empty --run 'sisyfs-ack one; sisyfs-ack two' --check 'sisyfs-kept two'");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, AllOf(HasSubstr("'one'"), Not(HasSubstr("'two'"))));
}

TEST_F(AppTest, CheckThatIsNotDeterministicIsAHarnessError) {
  at_.place.write("turns", "");
  const std::string turn =
      "echo >>" + at_.place.file("turns") + "; [ $(wc -l <" + at_.place.file("turns") + ") ";
  for (const std::string& check : {turn + "-ne 2 ]", turn + "-eq 1 ] && sisyfs-kept a || sisyfs-kept b"}) {
    at_.place.write("turns", "");
    const Answer a = at_.app("--empty --run 'echo a >f' --check '" + check + "'");
    EXPECT_EQ(a.code, 4) << a.text;
    EXPECT_THAT(a.text, HasSubstr("not deterministic"));
  }
}

// --- findings
// -----------------------------------------------------------------------------------------------

TEST_F(AppTest, LostAcknowledgementIsFoundAndTheMissingFsyncsAreNamed) {
  const std::string check = "--check 'if [ -s f ]; then sisyfs-kept one; fi'";
  const Answer a = at_.app("--empty --run 'echo data >f; sisyfs-ack one' " + check);
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(at_.kinds(), ElementsAre("lost-acknowledgement"));
  EXPECT_THAT(a.text, HasSubstr("gone, although it was acknowledged: one"));
  std::set<std::string> flushed;
  const nlohmann::json result = at_.result();
  ASSERT_FALSE(result["would_help"].empty()) << a.text;
  for (const auto& flush : result["would_help"][0]) flushed.insert(flush["fsync"].get<std::string>());
  EXPECT_THAT(flushed, ElementsAre(".", "f"));
  const Answer b = at_.app("--empty --run 'echo data >f; sync f; sync .; sisyfs-ack one' " + check);
  EXPECT_EQ(b.code, 0) << b.text;
}

TEST_F(AppTest, CheckFindsAcknowledgedLinesInAFile) {
  // What was acknowledged must be there; what is there need not have been acknowledged.
  const std::string check =
      "--check 'while read line; do grep -qx \"$line\" f || exit 1; done <\"$SISYFS_ACKED\"'";
  const std::string step = "echo $i >>f; sync f; [ $i = 1 ] && sync .; sisyfs-ack $i; ";
  const std::string right = "i=1; " + step + "i=2; " + step + "i=3; " + step;
  EXPECT_EQ(at_.app("--empty --run '" + right + " true' " + check).code, 0);
  EXPECT_EQ(at_.app("--empty --run '" + right + " echo 4 >>f; sisyfs-ack 4' " + check).code, 1);
}

TEST_F(AppTest, PrintedLinesThatMatchAcknowledge) {
  const std::string check =
      " --ack '^saved' --check '"
      "if [ -s \"$SISYFS_ACKED\" ]; then [ \"$(cat \"$SISYFS_ACKED\")\" = \"saved f\" ] && "
      "[ -s f ]; fi'";
  const std::string begin = "--empty --run 'echo begin; echo data >f; ",
                    end = "echo saved f; echo not saved'";
  const Answer bad = at_.app(begin + end + check);
  EXPECT_EQ(bad.code, 1) << bad.text;
  EXPECT_THAT(bad.text, AllOf(HasSubstr("acknowledged: saved f"), Not(HasSubstr("acknowledged: not saved"))));
  const Answer good = at_.app(begin + "sync f; sync .; " + end + check);
  EXPECT_EQ(good.code, 0) << good.text;
}

TEST_F(AppTest, CheckThatHangsOnACrashStateIsFound) {
  const Answer a = at_.app("--empty --seconds 2 --run 'echo data >f' --check 'test -s f || sleep 1000'");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(at_.kinds(), ElementsAre("check-hung"));
}

TEST_F(AppTest, CheckThatDiesOnACrashStateIsFound) {
  const Answer a = at_.app("--empty --run 'echo data >f' --check 'test -s f || kill -SEGV $$'");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(at_.kinds(), ElementsAre("check-died"));
  EXPECT_THAT(a.text, HasSubstr("signal 11"));
}

TEST_F(AppTest, RecoveryRunsBeforeTheCheckAndMayWrite) {
  const std::string work = "--empty --run 'echo data >f; sync f; sync .' ";
  const Answer a = at_.app(work + "--check 'test -s f'");
  EXPECT_EQ(a.code, 1) << a.text;
  const Answer b = at_.app(work + "--recover 'test -s f || echo mended >f' --check 'test -s f'");
  EXPECT_EQ(b.code, 0) << b.text;
}

TEST_F(AppTest, SetupIsDurable) {
  const std::string check = " --check 'test -s f'";
  EXPECT_EQ(at_.app("--empty --setup 'echo data >f' --run 'echo more >>f'" + check).code, 0);
  EXPECT_EQ(at_.app("--empty --setup 'echo data >f' --run 'rm f; echo data >f'" + check).code, 1);
}

TEST_F(AppTest, BoundOfLossesStopsTheSearchAndSaysSo) {
  // Both files must be lost for the check to fail.
  const std::string both = "--empty --run 'echo a >a; echo b >b' --check 'test -s a || test -s b' ";
  const Answer all = at_.app(both);
  EXPECT_EQ(all.code, 1) << all.text;
  ASSERT_FALSE(at_.result()["findings"].empty()) << all.text;
  EXPECT_GE(at_.result()["findings"][0]["lost"].size(), 2U) << all.text;
  const Answer bounded = at_.app(both + "--losses 1");
  EXPECT_EQ(bounded.code, 0) << bounded.text;
  EXPECT_THAT(bounded.text, HasSubstr("those with at most 1 loss\n"));
  EXPECT_EQ(at_.result()["exhausted"], false);
}

// --- what is left behind
// ------------------------------------------------------------------------------------

TEST_F(AppTest, FolderStaysAsItWas) {
  std::filesystem::create_directories(at_.folder() + "/inner");
  at_.place.write("folder/a", "old a");
  at_.place.write("folder/inner/b", "old b");
  std::filesystem::create_symlink("a", at_.folder() + "/link");
  const std::string look =
      "cd '" + at_.folder() + "' && find . -printf '%p %m %s %T@ %C@ %l\\n' | sort && cat a inner/b";
  const std::string before = run_line(look).text;
  const Answer a = at_.app(
      "--run 'rm a link; echo new >inner/b; chmod 700 inner; mkdir more; sync inner/b' "
      "--check 'test -e inner'");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_EQ(run_line(look).text, before);
}

TEST_F(AppTest, WorkloadSeesTheFolderAndWritesElsewhereAreNotRecorded) {
  at_.folder();
  at_.place.write("folder/a", "from the folder");
  const Answer a = at_.app("--run 'cat a >" + at_.place.file("elsewhere") + "' --check 'grep -q folder a'");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_EQ(content_of(at_.place.file("elsewhere")), "from the folder");
  EXPECT_EQ(at_.result()["states"], "1");
}

// Processes with this in their environment.
std::vector<std::string> processes_with(const std::string& mark) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (std::isdigit(entry.path().filename().string()[0]) == 0) continue;
    const std::string variables = content_of(entry.path() / "environ");
    const std::string stat = content_of(entry.path() / "stat");
    if (variables.find(mark) == std::string::npos || stat.find(") Z ") != std::string::npos) continue;
    if (entry.path().filename() == std::to_string(getpid())) continue;
    out.push_back(entry.path().filename().string() + " " + content_of(entry.path() / "cmdline"));
  }
  return out;
}

TEST_F(AppTest, KillAtARandomPointLeavesNoProcessAndNoMount) {
  const std::string work =
      at_.script("work", "for i in 1 2 3 4 5 6; do echo $i >f$i; sync f$i; sisyfs-ack $i; done\n");
  const std::string check =
      at_.script("check", "for i in 1 2 3 4 5 6; do cat f$i; done >/dev/null 2>&1; exit 0\n");
  const std::string mark = "SISYFS_KILL_TEST=" + at_.place.file("");
  std::mt19937 random(20);
  size_t cut_short = 0;
  for (int turn = 0; turn < 20; ++turn) {
    setenv("SISYFS_KILL_TEST", at_.place.file("").c_str(), 1);
    Running running("app --empty --progress off --run " + work + " --check " + check, at_.place.file("out"));
    unsetenv("SISYFS_KILL_TEST");
    // Early points are as likely as late ones.
    const auto wait = std::chrono::microseconds(uint64_t{1000} << (random() % 11));
    std::this_thread::sleep_for(wait + wait * (random() % 100) / 100);
    cut_short += WIFSIGNALED(running.end(SIGKILL)) ? 1 : 0;
    std::vector<std::string> left;
    for (int i = 0; i < 200; ++i) {
      left = processes_with(mark);
      if (left.empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_THAT(left, IsEmpty()) << "turn " << turn;
    EXPECT_THAT(content_of("/proc/mounts"), Not(HasSubstr("fuse.sisyfs")));
  }
  EXPECT_GT(cut_short, 10U) << "most runs had ended before they were killed";
}

}  // namespace
}  // namespace sisyfs::app_e2e_test
