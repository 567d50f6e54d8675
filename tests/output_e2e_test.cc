// Output in difficult conditions: standard error that is closed, files in the way of output, two signals at
// once, and a verdict about some kinds of findings only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::output_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = std::string("'") + SISYFS_PROGRAM + "' ";
constexpr const char* kNaive = "check link --set files=2 --set blocks=3 --set order=naive --set cache=off ";

// A progress line to a full disk threw out of a search whose threads were then waited for, for ever and
// against the bound on time; an error message there ended the program by a signal.
TEST(OutputTest, StandardErrorThatCannotBeWrittenChangesNothing) {
  for (const char* nowhere : {"2>/dev/full", "2>&-"}) {
    for (const char* mode : {"json", "line", "plain"}) {
      const Answer a = run_line("timeout -s KILL 60 " + kProgram +
                                "check link --tasks 2 --set blocks=6 --symmetry --time 1s --progress " +
                                mode + " " + nowhere);
      EXPECT_EQ(a.code, 3) << mode << nowhere << a.text;
      EXPECT_THAT(a.text, HasSubstr("the time bound was reached"));
    }
    for (const char* wrong :
         {"check nosuch", "check link --bogus", "replay x", "matrix --blocks 0", "--bogus"})
      EXPECT_EQ(run_line(kProgram + wrong + " " + nowhere).code, 2) << wrong << " " << nowhere;
  }
}

// Starts the program with `arguments` beside a shell, which then does `rest` with it, its number in $p, once
// it hears signals.
Answer beside(const std::string& arguments, const std::string& rest) {
  return run_line(kProgram + arguments + R"( & p=$! n=0
      until grep -q '^SigCgt:.*[4567cdef]..[2367abef]$' /proc/$p/status || [ $n -gt 600 ]
      do sleep 0.05; n=$((n + 1)); done
      )" + rest);
}
constexpr const char* kLong = "check link --tasks 2 --set blocks=7 --time 60s --memory 1GiB --progress off ";

// The first file that is opened where a stream is closed would take its number, and what is said there would
// be written over it.
TEST(OutputTest, AClosedStreamIsNotTakenForAFile) {
  const Answer held = beside(std::string(kLong) + "0<&- 2>&- >/dev/null",
                             "readlink /proc/$p/fd/0 /proc/$p/fd/2; kill $p; wait $p");
  EXPECT_EQ(held.text, "/dev/null\n/dev/null\n");
  EXPECT_EQ(held.code, 3);
  EXPECT_EQ(run_line(kProgram + "check link --depth 2 >&-").code, 4) << "what was printed is lost";
}

// "PASS" with --only stood over systems that were broken in other ways within the same bound.
TEST(OutputTest, OnlySaysWhatWasLookedForAndWhatElseWasMet) {
  const std::string only = std::string(kNaive) + "--only content-error --depth 7 ";
  const Answer text = run(only);
  EXPECT_EQ(text.code, 0) << text.text;
  EXPECT_THAT(text.text, HasSubstr("only      content-error was looked for; met on the way and not counted: "
                                   "lost-block, double-pointer\n"));
  const json told = json::parse(run(only + "--json -").text, nullptr, false);
  EXPECT_EQ(told["only"], json({"content-error"}));
  EXPECT_EQ(told["met"], json({"lost-block", "double-pointer"}));

  const Answer all = run(std::string(kNaive) + "--depth 2");
  EXPECT_THAT(all.text, Not(HasSubstr("  only ")));
  const json everything = json::parse(run(std::string(kNaive) + "--depth 2 --json -").text, nullptr, false);
  EXPECT_EQ(everything["only"], json());
  EXPECT_EQ(everything["met"], json::array());
}

// The output was written as FILE.part first, whoever had a file of that name.
TEST(OutputTest, WhatLiesBesideTheOutputStays) {
  const TemporaryDirectory dir;
  const std::string beside = dir.write("run.json.part", "precious\n"), out = dir.file("run.json");
  EXPECT_EQ(run(std::string(kNaive) + "--depth 2 --json " + out).code, 0);
  EXPECT_EQ(content_of(beside), "precious\n");
  EXPECT_EQ(json::parse(content_of(out), nullptr, false)["verdict"], "pass");
  std::filesystem::create_directory(dir.file("folder"));
  EXPECT_EQ(run(std::string(kNaive) + "--json " + dir.file("folder")).code, 2);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.file(""))) ++files;
  EXPECT_EQ(files, 3u) << "nothing half-written is left";
}

TEST(OutputTest, TheReportDoesNotReplaceTheCheckpoint) {
  const TemporaryDirectory dir;
  const std::string saved = dir.file("saved"), search = "check journal --depth 2 ";
  const Answer new_file = run(search + "--checkpoint " + saved + " --json " + dir.file("./saved"));
  EXPECT_EQ(new_file.code, 2) << new_file.text;
  EXPECT_THAT(new_file.text, HasSubstr("would replace the checkpoint"));
  EXPECT_FALSE(std::filesystem::exists(saved));
  ASSERT_EQ(run(search + "--checkpoint " + saved).code, 0);
  const std::string before = content_of(saved);
  std::filesystem::create_symlink(saved, dir.file("link"));
  EXPECT_EQ(run("resume " + saved + " --json " + dir.file("link")).code, 2);
  EXPECT_EQ(content_of(saved), before);
}

// A link to a pipe in /proc names no file: it was followed to one that is not there.
TEST(OutputTest, TheReportGoesThroughALinkToAPipe) {
  const Answer a = run(std::string(kNaive) + "--depth 2 --json /dev/fd/1 | grep -c '\"schema\"'");
  EXPECT_EQ(a.text, "1\n");
}

// The checkpoint has a name of its own while it is written.
TEST(OutputTest, AFolderInTheWayOfTheCheckpointIsBadInput) {
  const TemporaryDirectory dir;
  std::filesystem::create_directory(dir.file("saved.part"));
  const Answer a = run("check journal --depth 2 --checkpoint " + dir.file("saved"));
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("saved.part"));
  EXPECT_EQ(
      run("check journal --depth 2 --checkpoint " + dir.file("s") + " --json " + dir.file("s.part")).code, 2);
}

TEST(OutputTest, PathsThatLeadNowhereAreNamed) {
  const TemporaryDirectory dir;
  std::filesystem::create_symlink("loop", dir.file("loop"));
  const Answer loop = run(std::string(kNaive) + "--json " + dir.file("loop"));
  EXPECT_EQ(loop.code, 2) << loop.text;
  EXPECT_THAT(loop.text, HasSubstr("cannot write " + dir.file("loop")));
  const Answer unreadable = run("replay /proc/self/mem");
  EXPECT_EQ(unreadable.code, 2) << unreadable.text;
  EXPECT_THAT(unreadable.text, HasSubstr("cannot read /proc/self/mem"));
}

// `timeout` signals its child and then the whole group: the second signal ended the program without a
// verdict.
TEST(OutputTest, TwoSignalsInAMomentAreOneCtrlC) {
  const Answer a = beside(kLong, "kill -INT $p; kill -INT $p; kill -INT $p; wait $p");
  EXPECT_EQ(a.code, 3) << a.text;
  EXPECT_THAT(a.text, HasSubstr("interrupted"));
}

// Story: with '| head' the search ended by SIGPIPE, and the plug-in was said to have damaged the checker.
TEST(OutputTest, AReaderThatGoesAwayIsNoDeathOfTheTarget) {
  const Answer a = run_line("'" SISYFS_PROGRAM "' check '" SISYFS_PLUGIN_DIR
                            "/examples/libpebblefs.so' --depth 3 --progress off | true");
  EXPECT_EQ(a.text, "");
}

TEST(OutputTest, AnOptionIsGivenOnce) {
  for (const char* twice :
       {"check link --set blocks=3 --set blocks=4", "check link --tasks 2 --set tasks=1",
        "check link --symmetry --set symmetry=off", "check link --via disk --set via=steps",
        "check journal --perspectives --set device=disk"}) {
    const Answer a = run(twice);
    EXPECT_EQ(a.code, 2) << a.text;
    EXPECT_THAT(a.text, HasSubstr("is given twice"));
  }
}

TEST(OutputTest, AMatrixWithACellThatWasCutIsNotComplete) {
  const Answer cut = run("matrix --files 2 --blocks 1 --states 100 --progress off --json -");
  EXPECT_EQ(cut.code, 3) << cut.text;
  const json cells = json::parse(cut.text, nullptr, false)["cells"];
  ASSERT_EQ(cells.size(), 16u);
  for (const json& cell : cells)
    EXPECT_TRUE(cell["exhausted"] == true || cell["dead-block"] != "none") << cell.dump();
}

// A depth-first search meets a finding by some way; the matrix tells the shortest.
TEST(OutputTest, TheMatrixTellsTheLengthOfTheShortestTraceWhateverTheOrder) {
  const std::string small = "matrix --files 2 --blocks 3 --progress off --json - ";
  const json bfs = json::parse(run(small).text, nullptr, false)["cells"];
  const json dfs = json::parse(run(small + "--search dfs").text, nullptr, false)["cells"];
  ASSERT_EQ(bfs.size(), dfs.size());
  for (size_t i = 0; i < bfs.size(); ++i)
    for (const char* kind : {"lost-block", "double-pointer", "content-error"})
      EXPECT_EQ(dfs[i][kind], bfs[i][kind]) << dfs[i].dump();
}

TEST(OutputTest, AFindingOfAnotherSchemaIsRefusedInARunToo) {
  const TemporaryDirectory dir;
  json told = json::parse(run(std::string(kNaive) + "--json -").text, nullptr, false);
  ASSERT_FALSE(told["findings"].empty());
  EXPECT_EQ(run("replay " + dir.write("run.json", told.dump())).code, 1);
  told["findings"][0]["schema"] = "sisyfs.finding/7";
  const Answer a = run("replay " + dir.write("run.json", told.dump()));
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("sisyfs.finding/7"));
}

}  // namespace
}  // namespace sisyfs::output_e2e_test
