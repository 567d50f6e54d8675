// The command line: verdicts, exit codes, files and error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "finding/token.h"
#include "program.h"

namespace sisyfs::cli_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSmall = " --set files=2 --set blocks=3 ";

std::string naive(const std::string& more = "") {
  return "check link --set order=naive --set cache=off" + std::string(kSmall) + more;
}

TEST(CliTest, ExhaustedAndCleanIsZero) {
  for (const char* target : {"link", "index"}) {
    const Answer a = run(std::string("check ") + target + kSmall);
    EXPECT_EQ(a.code, 0) << a.text;
    EXPECT_THAT(a.text, HasSubstr("PASS"));
    EXPECT_THAT(a.text, HasSubstr("the state space is exhausted"));
  }
}

TEST(CliTest, AFindingIsOne) {
  const Answer a = run(naive("--only double-pointer"));
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("FOUND double-pointer"));
  EXPECT_THAT(a.text, HasSubstr("write 2 of create file1 persisted: block 0, "));
}

TEST(CliTest, StoppedBeforeTheBoundIsThree) {
  for (const char* bound : {"--states 100", "--time 1ms", "--dedup bitstate --memory 16MiB"}) {
    const Answer a = run(std::string("check link --set blocks=5 ") + bound);
    EXPECT_EQ(a.code, 3) << bound << "\n" << a.text;
    EXPECT_THAT(a.text, HasSubstr("UNKNOWN"));
  }
}

TEST(CliTest, ADepthBoundThatIsExhaustedIsAPassAndSaysWhatItLeftOut) {
  const Answer a = run("check link --depth 5");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("every path of 5 steps was walked"));
  EXPECT_THAT(a.text, HasSubstr("were not expanded"));
}

// A lossy dedup can find but not prove, whichever it is; and says what it may have missed.
TEST(CliTest, CleanByALossyDedupIsThree) {
  const Answer shape = run("check f2fs --dedup shape --depth 3");
  EXPECT_EQ(shape.code, 3) << shape.text;
  EXPECT_THAT(shape.text, HasSubstr("UNKNOWN: f2fs\n"));
  EXPECT_THAT(shape.text, HasSubstr("of each shape one state was followed, to depth 3"));
  EXPECT_THAT(shape.text, HasSubstr("what only a merged state shows was missed"));
  const Answer bits = run("check link --dedup bitstate" + std::string(kSmall));
  EXPECT_EQ(bits.code, 3) << bits.text;
  EXPECT_THAT(bits.text, HasSubstr("some may have been taken for others"));
  EXPECT_THAT(bits.text, Not(HasSubstr("exhausted")));
}

TEST(CliTest, CrashStatesThatWereLeftOutAreCounted) {
  const std::string check =
      "check f2fs --set crash=subsets --set files=1 --set dirs=0 --depth 3 --progress off --json - ";
  const nlohmann::json one = nlohmann::json::parse(run(check + "--threads 1").text);
  EXPECT_EQ(one["verdict"], "unknown");
  EXPECT_GT(one["left_out"], 0u);
  EXPECT_EQ(nlohmann::json::parse(run(check + "--threads 2").text)["left_out"], one["left_out"]);
  const Answer told = run("check f2fs --set crash=subsets --set files=1 --set dirs=0 --depth 3");
  EXPECT_EQ(told.code, 3);
  EXPECT_THAT(told.text, HasSubstr("every path of 3 steps was walked, but not with every power cut"));
  EXPECT_THAT(told.text, HasSubstr("  left out  "));
  const Answer all = run("check f2fs --depth 2");
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.text, HasSubstr("PASS: f2fs\n"));
  EXPECT_THAT(all.text, Not(HasSubstr("left out")));
}

// The right order of writes on link needs no flush as long as the device keeps order.
TEST(CliTest, AFindingIsToldInTheSimplestPerspectiveThatHasIt) {
  const std::string small = "--via disk --set files=2 --set blocks=3 --depth 4 ";
  const Answer early = run("check link --perspectives --set order=naive --set cache=flush " + small);
  EXPECT_EQ(early.code, 1) << early.text;
  EXPECT_THAT(early.text, HasSubstr("Perspective 1 of 5, device=ordered"));
  EXPECT_THAT(early.text, Not(HasSubstr("Perspective 2 of 5")));
  EXPECT_THAT(run("replay " + token_in(early.text)).text, HasSubstr("still happens"));
  const Answer clean = run("check journal --perspectives --depth 2");
  EXPECT_EQ(clean.code, 0) << clean.text;
  EXPECT_THAT(clean.text, HasSubstr("Perspective 5 of 5, device=hostile"));
  const Answer json = run("check link --perspectives --json - " + small);
  EXPECT_EQ(json.code, 2) << json.text;
}

TEST(CliTest, NoMarkIsListedTwice) {
  const nlohmann::json run_json =
      nlohmann::json::parse(run("check f2fs --depth 1 --progress off --json -").text);
  const Answer a = run("check f2fs --depth 1");
  for (const auto& [says, reached] : run_json["marks"].items()) {
    const size_t at = a.text.find(says);
    EXPECT_NE(at, std::string::npos) << says;
  }
  const size_t full = a.text.find("the disk was full");
  EXPECT_EQ(a.text.find("the disk was full", full + 1), std::string::npos);
}

TEST(CliTest, AllCollectsTheShallowestOfEachKind) {
  const Answer a = run(naive("--all"));
  EXPECT_EQ(a.code, 1);
  for (const char* name : {"lost-block", "double-pointer", "content-error"})
    EXPECT_THAT(a.text, HasSubstr(std::string("FOUND ") + name));
}

TEST(CliTest, ATokenIsConfirmedByAFreshProcessAndAFixedTargetIsNot) {
  const std::string token = token_in(run(naive("--only M3")).text);
  const Answer still = run("replay " + token);
  EXPECT_EQ(still.code, 1) << still.text;
  EXPECT_THAT(still.text, HasSubstr("still happens"));
  // The same steps in the right order: the table is written before the power goes, and nothing is lost.
  Finding fixed;
  fixed.kind = FindingKind::kLostBlock;
  fixed.setup = {"link", {"cache=off"}};
  fixed.steps.resize(3);
  for (uint32_t i = 0; i < 3; ++i) fixed.steps[i].id = i + 1;
  fixed.steps[0].kind = Step::Kind::kBegin;
  fixed.steps[1].kind = Step::Kind::kAdvance;
  fixed.steps[0].op = fixed.steps[1].op = "create file0";
  fixed.steps[2].kind = Step::Kind::kPowerCut;
  const Answer gone = run("replay " + make_token(fixed));
  EXPECT_EQ(gone.code, 0) << gone.text;
  EXPECT_THAT(gone.text, HasSubstr("does not happen any more"));
}

TEST(CliTest, AFileOfFindingsIsReplayed) {
  const TemporaryDirectory dir;
  EXPECT_EQ(run(naive("--all --json " + dir.file("run.json"))).code, 1);
  const json whole = json::parse(content_of(dir.file("run.json")));
  EXPECT_EQ(whole["schema"], "sisyfs.run/2");
  EXPECT_EQ(whole["verdict"], "fail");
  ASSERT_EQ(whole["findings"].size(), 3u);
  const Answer all = run("replay --quiet " + dir.file("run.json"));
  EXPECT_EQ(all.code, 1);
  EXPECT_THAT(all.text, HasSubstr("content-error"));
  const json& finding = whole["findings"][1];
  EXPECT_EQ(finding["schema"], "sisyfs.finding/2");
  for (const char* key : {"code", "steps", "writes", "token", "story"})
    EXPECT_TRUE(finding.contains(key)) << key;
  EXPECT_EQ(run("replay --quiet " + dir.write("one.json", finding.dump())).code, 1);
}

TEST(CliTest, OneAndTwoThreadsGiveTheSameReport) {
  const auto report = [](const std::string& threads) {
    json j = json::parse(run(naive("--all --progress off --json - --threads " + threads)).text);
    for (const char* key : {"seconds", "threads", "memory_bytes"}) j.erase(key);
    return j;
  };
  EXPECT_EQ(report("1"), report("2"));
}

struct Wrong {
  const char* name;
  const char* arguments;
  const char* says;
};

std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.name; }

class WrongUse : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUse, GetsOneClearMessageAndTwo) {
  const Answer a = run(GetParam().arguments);
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr(GetParam().says));
  EXPECT_THAT(a.text, Not(HasSubstr("terminate")));
  EXPECT_LE(std::count(a.text.begin(), a.text.end(), '\n'), 2) << a.text;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongUse,
    testing::Values(
        Wrong{"NoSuchTarget", "check lnik", "unknown target 'lnik'; targets are btrfs, ext2, ext3"},
        Wrong{"NoSuchOption", "check link --set ordre=naive", "ordre"},
        Wrong{"NoSuchValue", "check link --set order=random", "naive, pointed"},
        Wrong{"NotAnAssignment", "check link --set order", "order"},
        Wrong{"BlocksOutOfRange", "check link --set blocks=12", "1..11"},
        Wrong{"NoSuchFlag", "check link --frobnicate", "--frobnicate"},
        Wrong{"NoSuchCommand", "chekc link", "chekc"}, Wrong{"NoTarget", "check", "target"},
        Wrong{"ZeroDepth", "check link --depth 0", "--depth takes a whole number from 1 on, not '0'"},
        Wrong{"NegativeStates", "check link --states=-5",
              "--states takes a whole number from 1 on, not '-5'"},
        Wrong{"ZeroThreads", "check link --threads 0", "--threads"},
        Wrong{"TimeInNoUnit", "check link --time 3parsecs", "--time: '3parsecs' is not a time"},
        Wrong{"TimeThatNoClockCounts", "check link --time 999999999h", "--time: '999999999h' is not a time"},
        Wrong{"SizeInNoUnit", "check link --memory 4GB", "--memory: '4GB' is not a size"},
        Wrong{"EmptyDepth", "check link --depth ''", "the value of --depth is empty"},
        Wrong{"EmptyTarget", "check ''", "argument 2 is empty"},
        Wrong{"PerspectivesWithoutADisk", "check verifs1 --perspectives",
              "--perspectives cannot be used with verifs1"},
        Wrong{"PerspectivesOfFlash", "check flash --perspectives",
              "--perspectives cannot be used with flash"},
        Wrong{"DiskOfAModel", "check link --disk 1MiB", "--disk cannot be used with link"},
        Wrong{"BlockOfAModel", "check f2fs --block 512", "--block cannot be used with f2fs"},
        Wrong{"ViaOfAModelWithADisk", "check f2fs --via disk", "--via cannot be used with f2fs"},
        Wrong{"RoundsInHexadecimal", "bench shape --rounds 0x10",
              "--rounds: takes a whole number from 1 to 99"},
        Wrong{"ThreadsOfAList", "museum --list --threads 0", "--threads takes a whole number"},
        Wrong{"TokenOfAnEarlierVersion", "replay s1:link::M3:5.1x18446744073709551615:a5c4",
              "the token is of version s1"},
        Wrong{"ZeroTime", "check link --time 0s", "not a time above zero"},
        Wrong{"NegativeMemory", "check link --memory=-1GiB", "not a size above zero"},
        Wrong{"ThreeTasks", "check link --tasks 3", "1..2"},
        Wrong{"NoDedupNoDepth", "check link --dedup none", "add --depth"},
        Wrong{"NoSuchFinding", "check link --only M99", "unknown finding 'M99'"},
        Wrong{"FindingThatIsRepaired", "check f2fs --only M5", "reports of other findings mention it"},
        Wrong{"FindingOfAnotherTarget", "check f2fs --only M4", "f2fs cannot have the finding content-error"},
        Wrong{"FindingOfTheFormWithADisk", "check link --only R3",
              "link cannot have the finding not-allowed"},
        Wrong{"FindingOfADisk", "check verifs1 --depth 2 --only D1", "verifs1 cannot have the finding"},
        Wrong{"FindingInNoPerspective", "check link --via disk --perspectives --only T1", "cannot have"},
        Wrong{"WordsInTheirOrder", "check link --one two --three", "not understood: --one two --three"},
        Wrong{"HelpOfTheCommand", "targets --one", "Try 'sisyfs targets --help'"},
        Wrong{"FindingWithoutPowerCuts", "check f2fs --set crash=none --only R3", "with these options"},
        Wrong{"UnwritableOutput", "check link --json /nonexistent/run.json",
              "cannot write /nonexistent/run.json"},
        Wrong{"ADirectory", "replay /", "is not a file"},
        Wrong{"NotAToken", "replay hello", "neither a file nor a token"},
        Wrong{"TruncatedToken", "replay s2:link:order=naive,cache=off:M3:AKAAFs", "cut off"},
        Wrong{"ChangedToken", "replay s2:link:order=naive,cache=off:M2:AKAAFsAAFuA:b405", "checksum"},
        Wrong{"TokenOfAnotherVersion", "replay s7:link::M3:0:0000", "version s7"}),
    testing::PrintToStringParamName());

// What is no file is written to, and a link stays one. To rename over /dev/null would be a sad day for root.
TEST(CliTest, OutputReplacesFilesAndNothingElse) {
  const TemporaryDirectory dir;
  const std::string pipe = dir.file("pipe"), link = dir.file("link"), file = dir.file("file");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(symlink("file", link.c_str()), 0);
  const std::string check = "check link --set files=1 --set blocks=2 --depth 2 --json ";
  EXPECT_EQ(run_line("cat '" + pipe + "' >'" + dir.file("read") + "' & '" SISYFS_PROGRAM "' " + check + "'" +
                     pipe + "' && wait && grep -q sisyfs.run '" + dir.file("read") + "'")
                .code,
            0);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(run(check + "'" + link + "'").code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_regular_file(file));
}

TEST(CliTest, AFullStandardOutputIsAnError) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  for (const char* words : {"targets", "targets --json", "check link --set files=1 --set blocks=2 --depth 2",
                            "--help", "museum --list"}) {
    const Answer a = run_line(std::string("'" SISYFS_PROGRAM "' ") + words + " 2>&1 >/dev/full");
    EXPECT_EQ(a.code, 4) << words << a.text;
    EXPECT_THAT(a.text, HasSubstr("sisyfs: ")) << words;
  }
}

TEST(CliTest, ATornWriteIsToldWithTheBlocksThatWereKept) {
  const Answer a = run("check link --via disk --set files=2 --set blocks=3 --set device=hostile");
  EXPECT_EQ(a.code, 1);
  EXPECT_THAT(on_one_line(a.text), HasSubstr("write 1 was torn: of blocks 2 to 4 it kept 3, 4"));
  EXPECT_THAT(a.text, HasSubstr("write 1 TORN: block 2-4"));
}

// A story fits on a screen, and --verbose has the rest, wherever stories are told.
TEST(CliTest, StoriesAreBriefUnlessVerbose) {
  const std::string search = "check f2fs --set reuse=lifo --set one_write=off --only lost-node --depth 4";
  const Answer brief = run(search);
  EXPECT_THAT(brief.text, HasSubstr("writes 11 to 13 persisted: blocks 122, 341-342\n"));
  EXPECT_THAT(brief.text, HasSubstr("one_write=off: 4 steps, 2 power cuts, 13 writes\n"));
  const std::string story = brief.text.substr(0, brief.text.find("  Replay"));
  EXPECT_LE(std::count(story.begin(), story.end(), '\n'), 40);
  std::istringstream lines(story);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
  for (const std::string& words : {search + " --verbose", "replay --verbose " + token_in(brief.text)})
    EXPECT_THAT(run(words).text,
                HasSubstr("write 12 persisted: block 341, segment 59 block 1: direct node 3"));
  // In JSON nothing is left out, and each element says which step it belongs to.
  const json finding = json::parse(run(search + " --json -").text)["findings"][0];
  EXPECT_EQ(finding["writes"].size(), 13u);
  EXPECT_EQ(finding["steps"].size(), 4u);
  std::vector<int> steps;
  for (const json& element : finding["story"]) steps.push_back(element["step"]);
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 2, 3, 4, 4}));
}

TEST(CliTest, FilesThatAreNoTracesAreRefused) {
  const TemporaryDirectory dir;
  EXPECT_EQ(run(naive("--json " + dir.file("run.json"))).code, 1);
  const std::string whole = content_of(dir.file("run.json"));
  const std::pair<std::string, const char*> cases[] = {
      {"", "not JSON"},
      {whole.substr(0, whole.size() / 2), "cut off"},
      {"[1, 2]", "schema"},
      {R"({"schema": "sisyfs.run/99", "findings": []})", "sisyfs.run/99"},
      {R"({"schema": "sisyfs.run/2", "findings": []})", "nothing to replay"},
      {R"({"schema": "sisyfs.run/2", "findings": [{"token": 5}]})", "findings[0]"},
      {R"({"schema": "sisyfs.finding/2"})", "has no 'target'"},
      {std::string("\0\xff\xfe garbage", 12), "not JSON"},
  };
  for (const auto& [text, says] : cases) {
    const Answer a = run("replay " + dir.write("bad.json", text));
    EXPECT_EQ(a.code, 2) << text;
    EXPECT_THAT(a.text, HasSubstr(says)) << text;
  }
}

TEST(CliTest, AFailedWriteLeavesTheOldFile) {
  const TemporaryDirectory dir;
  const Answer a = run(naive("--json " + dir.file("")));
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("cannot write"));
}

TEST(CliTest, CtrlCGivesThePartialVerdict) {
  const Answer a = run_line(
      std::string("'") + SISYFS_PROGRAM +
      "' check link --set blocks=7 --tasks 2 --progress off & p=$!; sleep 0.5; kill -INT $p; wait $p");
  EXPECT_EQ(a.code, 3) << a.text;
  EXPECT_THAT(a.text, HasSubstr("UNKNOWN"));
  EXPECT_THAT(a.text, HasSubstr("interrupted"));
}

TEST(CliTest, ProgressCanBeReadByPrograms) {
  const Answer a = run("check link --tasks 2 --set blocks=5 --time 1s --progress json");
  EXPECT_EQ(a.code, 3) << a.text;
  const json line = json::parse(a.text.substr(0, a.text.find('\n')));
  EXPECT_GT(line["states"], 0);
  EXPECT_GT(line["depth"], 0);
}

TEST(CliTest, DemoShowsBothMistakesAndTheirFixes) {
  const Answer a = run("demo");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("FOUND double-pointer"));
  EXPECT_THAT(a.text, HasSubstr("which is also block 0 of file0"));
  EXPECT_THAT(a.text, HasSubstr("still happens"));
  EXPECT_THAT(a.text, HasSubstr("PASS: link cache=off"));
  EXPECT_THAT(a.text, HasSubstr("FOUND not-allowed"));
  EXPECT_THAT(a.text, HasSubstr("PASS: f2fs"));
  EXPECT_THAT(a.text, AnyOf(HasSubstr("FAIL: editor-sed"), HasSubstr("needs FUSE and private mounts")));
}

TEST(CliTest, MatrixHasTheVerdictsOfTheThesis) {
  const json matrix = json::parse(run("matrix --blocks 3 --progress off --json -").text);
  ASSERT_EQ(matrix["cells"].size(), 16u);
  for (const json& cell : matrix["cells"]) {
    const std::string variant = cell["variant"];
    const bool naive_order = variant.starts_with("naive"), cached = variant.ends_with("FLUSH");
    const bool wrong = naive_order && !(cached && cell["tasks"] == 1);
    for (const char* kind : {"lost-block", "double-pointer", "content-error"})
      EXPECT_EQ(cell[kind] != "none", wrong) << cell.dump();
    EXPECT_EQ(cell["exhausted"] == true, !wrong) << cell.dump();
    if (wrong) continue;
    EXPECT_EQ(cell["dead-block"], cached && cell["tasks"] == 1 ? "none" : "repaired") << cell.dump();
  }
}

// A cell that was covered up to the depth that was asked for has passed; one that a lossy dedup covered has
// not.
TEST(CliTest, MatrixPassesWhenEveryCleanCellDoes) {
  const std::string small = "matrix --files 1 --blocks 2 --progress off ";
  const Answer bounded = run(small + "--depth 3");
  EXPECT_EQ(bounded.code, 0) << bounded.text;
  EXPECT_THAT(bounded.text, HasSubstr("none yet"));
  EXPECT_EQ(run(small + "--dedup bitstate --memory 16MiB").code, 3);
}

TEST(CliTest, HelpEndsWithTheExitCodesOfItsCommand) {
  const std::string of_check = "0 searched to the bound without a finding";
  for (const char* command : {"check", "resume"})
    EXPECT_THAT(run(std::string(command) + " --help").text, HasSubstr(of_check)) << command;
  const std::pair<const char*, const char*> others[] = {
      {"replay", "1 it still happens"},  {"matrix", "0 every cell without findings passes"},
      {"museum", "1 something differs"}, {"demo", "their fixes passed"},
      {"bench", "0 measured"},           {"targets", "0 listed"},
      {"new-plugin", "0 written"}};
  for (const auto& [command, says] : others) {
    const std::string help = run(std::string(command) + " --help").text;
    EXPECT_THAT(help, HasSubstr(says)) << command;
    EXPECT_THAT(help, Not(HasSubstr(of_check))) << command;
  }
}

// A path is a string of bytes, and JSON is not: the run is told all the same.
TEST(CliTest, APathThatIsNoUtf8DoesNotLoseTheRun) {
  const TemporaryDirectory dir;
  const std::string path = dir.file("\xff.checkpoint");
  const Answer a =
      run("check link --via disk --set files=1 --set blocks=2 --depth 2 --progress off --json - "
          "--checkpoint '" +
          path + "'");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_EQ(json::parse(a.text)["checkpoint"], dir.file("\xef\xbf\xbd.checkpoint"));
}

TEST(CliTest, TargetsAreListedWithTheirOptions) {
  const Answer a = run("targets");
  EXPECT_EQ(a.code, 0);
  for (const char* word :
       {"link:", "index:", "order=naive, pointed", "cache=off, flush", "data=hash, counter"})
    EXPECT_THAT(a.text, HasSubstr(word));
  EXPECT_THAT(run("targets --findings").text, HasSubstr("double-pointer"));
  std::vector<std::string> names;
  for (const json& target : json::parse(run("targets --json").text)) names.push_back(target["name"]);
  EXPECT_THAT(names,
              testing::IsSupersetOf({"link", "index", "f2fs", "journal", "flash", "verifs1", "verifs2"}));
}

}  // namespace
}  // namespace sisyfs::cli_e2e_test
