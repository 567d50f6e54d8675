// Plug-ins: verdicts, faults that the run survives, versions, error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::plugin_e2e_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PluginTest, ARightOneIsCleanToTheBound) {
  const Answer a = check_plugin("slots", "--depth 6");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("every path of 6 steps was walked"));
  EXPECT_THAT(a.text, HasSubstr("the power went in the middle of an op"));
}

TEST(PluginTest, AClassIsAPluginToo) {
  const Answer a = check_plugin("shelf", "--depth 6");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("every path of 6 steps was walked"));
}

// From five devices it was searched on as many threads as there are cores, and it has one memory.
TEST(PluginTest, EveryPerspectiveHasOneThread) {
  const Answer a = check_plugin("slots", "--depth 2 --threads 2 --perspectives");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("on 1 thread"));
  EXPECT_THAT(a.text, Not(HasSubstr("on 2 threads")));
}

TEST(PluginTest, ItsOptionsAreListed) {
  const Answer a = run("targets " + plugin_library("slots"));
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("one file in each block"));
  EXPECT_THAT(a.text, HasSubstr("--set blocks="));
  EXPECT_THAT(run("targets").text, HasSubstr("libext2fs: ext2 by libext2fs"));
}

// Tokens and commands of before the kernel's file systems had these names.
TEST(PluginTest, AnOldNameIsRefusedWithTheNewOne) {
  const std::pair<std::string, std::string> all[] = {{"ext2_sync", "libext2fs_sync"}, {"ntfs", "libntfs"}};
  for (const auto& [before, now] : all) {
    const Answer a = run("check " + before + " --depth 1");
    EXPECT_EQ(a.code, 2) << a.text;
    EXPECT_EQ(a.text, "sisyfs: the target '" + before + "' is called '" + now + "' now\n");
  }
  const Answer a = run("replay s2:ntfs::R5:AAACgQQCBAIHlAz4Aw:7df4");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_EQ(a.text, "sisyfs: the target 'ntfs' is called 'libntfs' now\n");
}

// Each fault is told by its name, at the call that has it, and the run goes on to its report.
TEST(PluginTest, FaultsAreFindings) {
  struct Planted {
    std::string fault, code, finding, story;
  };
  const std::vector<Planted> all = {
      {"no_flush", "R3", "not-allowed", "lost durability"},
      {"segfault", "T1", "target-died", "append /a 64: SIGSEGV on address 0x8 at go_wrong (slots.c:"},
      {"abort", "T1", "target-died", "append /a 64: abort()"},
      {"assertion", "T1", "target-died", "assertion '"},
      {"loop", "T2", "target-hung", "append /a 64: it does not return"},
      {"disk_loop", "T2", "target-hung", "reads and writes the disk without end"},
      {"recursion", "T1", "target-died", "its stack is used up"},
      {"exit", "T1", "target-died", "it ends the process with exit code 0"},
      {"leak", "T3", "memory-leak",
       "after unmount 100 bytes are still allocated, the last of them allocated by slots_mount (slots.c:"},
      {"double_free", "T4", "heap-misuse", "memory that is not allocated, or not any more"},
      {"overrun", "T4", "heap-misuse", "beyond the end of a block of memory"},
      {"hog", "T5", "runaway-memory", "wants more than 67108864 bytes"},
      {"beyond", "D1", "out-of-range", "writes block 4 of a disk of 4"},
      {"smash", "T1", "target-died", "SIGSEGV"},
      {"thread", "T1", "target-died",
       "it calls pthread_create, and a plug-in must not start threads or fork"},
      {"fork", "T1", "target-died", "it calls fork, and a plug-in must not start threads or fork"},
  };
  for (const Planted& planted : all) {
#ifdef __SANITIZE_THREAD__
    if (planted.fault == "loop") continue;  // signals reach only code that calls into ThreadSanitizer
#endif
    // What is counted, accesses and bytes, may take longer than a second under a sanitizer.
    const std::string seconds = planted.fault == "loop" ? "1" : "60";
    const Answer a =
        check_plugin("slots_" + planted.fault, "--depth 4 --set offsets=start --set seconds=" + seconds);
    EXPECT_EQ(a.code, 1) << planted.fault << '\n' << a.text;
    EXPECT_THAT(a.text, HasSubstr("FOUND " + planted.finding + " (" + planted.code)) << planted.fault;
    EXPECT_THAT(on_one_line(a.text), HasSubstr(planted.story)) << planted.fault;
  }
}

// Story: a call that did not return was told without a word of where it was.
TEST(PluginTest, WhereACallDiedOrLoopedIsTold) {
  const Answer crash = check_plugin("slots_segfault", "--depth 4");
  EXPECT_THAT(on_one_line(crash.text),
              testing::ContainsRegex("SIGSEGV on address 0x8 at go_wrong \\(slots.c:[0-9]+\\) in "
                                     "libslots_segfault.so at slots_write \\(slots.c:"));
#ifndef __SANITIZE_THREAD__
  const Answer loop = check_plugin("slots_loop", "--depth 4 --set seconds=1");
  EXPECT_THAT(loop.text,
              testing::ContainsRegex("it does not return\n +at go_wrong in libslots_loop.so\n"
                                     " +at slots_write \\(slots.c:[0-9]+\\) in libslots_loop.so\n"));
  const auto json =
      nlohmann::json::parse(check_plugin("slots_loop", "--depth 4 --set seconds=1 --json -").text);
  EXPECT_THAT(json["findings"][0]["story"].back()["observed"][0]["where"].dump(), HasSubstr("slots_write"));
#endif
  const Answer reads = check_plugin("slots_disk_loop", "--depth 4 --set seconds=60");
  EXPECT_THAT(reads.text,
              testing::ContainsRegex("without end\n +at load .*\n +at go_wrong .*\n +at slots_write"));
}

// A system call cannot be refused. The child used to go on with the search, and to print a verdict of its
// own.
TEST(PluginTest, AForkedChildDoesNotSearch) {
  const Answer right = check_plugin("slots", "--depth 4");
  const Answer a = check_plugin("slots_raw_fork", "--depth 4");
  EXPECT_EQ(a.code, 0) << a.text;
  const std::string kEnd = "every path of 4 steps was walked";
  const size_t first = a.text.find(kEnd);
  EXPECT_NE(first, std::string::npos) << a.text;
  EXPECT_EQ(a.text.find(kEnd, first + 1), std::string::npos) << a.text;
  EXPECT_NE(run_line("pgrep -f 'slots_raw_for[k].so'").code, 0) << "a child still runs";
}

TEST(PluginTest, TheRunGoesOnBehindAFault) {
  const Answer a = check_plugin("slots_segfault", "--depth 5 --all");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("every path of 5 steps was walked"));
}

TEST(PluginTest, AFindingIsReplayedInAFreshProcess) {
  const Answer a = check_plugin("slots_segfault", "--depth 4");
  const Answer again = run("replay '" + token_in(a.text) + "'");
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("still happens"));
}

// The way to a bug is often gone with the bug.
TEST(PluginTest, AMendedBugDoesNotHappenAnyMore) {
  const TemporaryDirectory where;
  const std::string path = where.file("libslots.so");
  const auto put = [&](const char* name) {
    std::filesystem::remove(path);
    std::filesystem::copy_file(std::string(SISYFS_PLUGIN_DIR "/lib") + name + ".so", path);
  };
  put("slots_no_flush");
  const Answer found = run("check '" + path + "' --depth 3 --progress off");
  ASSERT_EQ(found.code, 1) << found.text;
  put("slots");
  const Answer again = run("replay '" + token_in(found.text) + "'");
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_THAT(again.text, HasSubstr("cannot happen: step 2: event 1 of step 2 is durable"));
}

TEST(PluginTest, ADeathBeforeTheSearchIsTold) {
  const Answer a = check_plugin("slots_format_dies", "");
  EXPECT_EQ(a.code, 4) << a.text;
  EXPECT_THAT(a.text, HasSubstr("cannot be brought to its start: format: abort()"));
}

// The sanitizer ends the process; the search starts again in another process and reports what the sanitizer
// said.
TEST(PluginTest, AReportOfASanitizerIsAFinding) {
  if (!std::filesystem::exists(SISYFS_PLUGIN_DIR "/libslots_asan.so"))
    GTEST_SKIP() << "this build has a sanitizer of its own";
  const Answer a = check_plugin("slots_asan", "--depth 4");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(a.text, HasSubstr("FOUND target-died (T1"));
  EXPECT_THAT(on_one_line(a.text), HasSubstr("AddressSanitizer: heap-use-after-free"));
  // Reports of processes in which the call was only tried used to stay.
  const TemporaryDirectory dir;
  const Answer alone = run_line("TMPDIR='" + dir.file("") + "' '" SISYFS_PROGRAM "' check " +
                                plugin_library("slots_asan") + " --progress off --depth 4");
  EXPECT_EQ(alone.code, 1) << alone.text;
  EXPECT_TRUE(std::filesystem::is_empty(dir.file("")));
}

// The life of the search that began anew took the checkpoint of the one before for somebody else's, and a
// search that was resumed had no supervisor at all.
TEST(PluginTest, AReportOfASanitizerIsAFindingInASearchThatIsSavedAndResumed) {
  if (!std::filesystem::exists(SISYFS_PLUGIN_DIR "/libslots_asan.so"))
    GTEST_SKIP() << "this build has a sanitizer of its own";
  const TemporaryDirectory dir;
  const std::string file = dir.file("run.checkpoint");
  const Answer cut = check_plugin("slots_asan", "--depth 4 --states 2 --threads 1 --checkpoint " + file);
  EXPECT_THAT(cut.text, HasSubstr("to continue: ")) << cut.text;
  const Answer whole = run("resume " + file + " --progress off");
  EXPECT_EQ(whole.code, 1) << whole.text;
  EXPECT_THAT(whole.text, HasSubstr("FOUND target-died (T1"));
}

TEST(PluginTest, FailingAllocationsFindWhoDoesNotLook) {
  const Answer wrong =
      check_plugin("slots_no_enomem", "--depth 3 --set failures=1 --set fail=memory --only target-died");
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("allocation 1 fails"));
  EXPECT_THAT(on_one_line(wrong.text), HasSubstr("mount: SIGSEGV on a null pointer"));
  const Answer right = check_plugin("slots", "--depth 4 --set failures=1 --set fail=memory");
  EXPECT_EQ(right.code, 0) << right.text;
}

TEST(PluginTest, WhoAsksTheClockIsNotDeterministic) {
  const Answer a = check_plugin("slots_clock", "--depth 3");
  EXPECT_EQ(a.code, 4) << a.text;
  EXPECT_THAT(a.text, HasSubstr("not deterministic"));
  EXPECT_THAT(a.text, HasSubstr("call 1, 'format': write of block 0, byte"));
  EXPECT_THAT(a.text, HasSubstr("it asks the clock"));
  const Answer fixed = check_plugin("slots_clock", "--depth 3 --set clock=fixed");
  EXPECT_EQ(fixed.code, 0) << fixed.text;
}

// Four calls in a row, each of which opens the way to the next one and is a branch of its own.
TEST(PluginTest, NewEdgesLeadTheWayToADeepFinding) {
  if (!std::filesystem::exists(SISYFS_PLUGIN_DIR "/libslots_covered.so"))
    GTEST_SKIP() << "this compiler has no -fsanitize-coverage=trace-pc";
  const std::string wide = "--set files=4 --set file_blocks=4 --json - ";
  const auto layers = nlohmann::json::parse(check_plugin("slots_covered", wide + "--search bfs").text);
  const Answer a = check_plugin("slots_covered", wide + "--search coverage");
  const auto coverage = nlohmann::json::parse(a.text);
  EXPECT_EQ(a.code, 1);
  for (const auto& run : {layers, coverage}) {
    ASSERT_EQ(run["findings"].size(), 1u);
    EXPECT_EQ(run["findings"][0]["name"], "target-died");
    EXPECT_GT(run["edges"]["reached"], 30);
    EXPECT_TRUE(run["edges"]["known"].is_null()) << "only guards know";
  }
  EXPECT_LT(coverage["states"].get<int>() * 4, layers["states"].get<int>());
  const auto again = nlohmann::json::parse(check_plugin("slots_covered", wide + "--search coverage").text);
  for (const char* same : {"states", "transitions", "depth", "edges"})
    EXPECT_EQ(again[same], coverage[same]) << same;
}

TEST(PluginTest, EdgesAreToldWhateverTheOrder) {
  if (!std::filesystem::exists(SISYFS_PLUGIN_DIR "/libslots_covered.so"))
    GTEST_SKIP() << "this compiler has no -fsanitize-coverage=trace-pc";
  EXPECT_THAT(check_plugin("slots_covered", "--depth 3").text,
              testing::ContainsRegex("code +[0-9]+ edges reached"));
  EXPECT_THAT(check_plugin("slots", "--depth 3").text, Not(HasSubstr("edges reached")));
}

TEST(PluginTest, CoverageNeedsCodeThatTellsIt) {
  for (const char* target : {"slots", "shelf"}) {
    const Answer a = check_plugin(target, "--search coverage");
    EXPECT_EQ(a.code, 2) << a.text;
    EXPECT_THAT(a.text, HasSubstr("--search coverage needs a plug-in that was compiled for it"));
  }
  EXPECT_EQ(run("check link --search coverage").code, 2);
}

TEST(PluginTest, VersionsOfTheInterface) {
  // What lies behind the table of an older one is not taken for a part of it.
  const Answer older = check_plugin("slots_old_minor", "--depth 3");
  EXPECT_EQ(older.code, 0) << older.text;
  EXPECT_THAT(older.text, Not(HasSubstr("write_sync")));
  const Answer newer = check_plugin("slots_new_minor", "--depth 3");
  EXPECT_EQ(newer.code, 0) << newer.text;
  const Answer other = check_plugin("slots_wrong_major", "--depth 3");
  EXPECT_EQ(other.code, 2) << other.text;
  EXPECT_THAT(other.text,
              HasSubstr("was built for version 2.4 of the plug-in interface and this program knows "
                        "version 1.4"));
}

TEST(PluginTest, WhatIsNoPluginIsRefused) {
  const Answer none = run("check ./nowhere.so");
  EXPECT_EQ(none.code, 2) << none.text;
  EXPECT_THAT(none.text, HasSubstr("there is no file ./nowhere.so"));
  const Answer other = check_plugin("play", "");
  EXPECT_EQ(other.code, 2) << other.text;
  EXPECT_THAT(other.text, HasSubstr("it has no function sisyfs_plugin_entry"));
  const Answer text = run("check " SISYFS_SOURCE_DIR "/README.md");
  EXPECT_EQ(text.code, 2) << text.text;
  const Answer unresolved = check_plugin("unresolved", "");
  EXPECT_EQ(unresolved.code, 2) << unresolved.text;
  const Answer half = check_plugin("slots_no_read", "");
  EXPECT_EQ(half.code, 2) << half.text;
  EXPECT_THAT(half.text, HasSubstr("the plug-in must have read"));
}

TEST(PluginTest, TheDiskIsWhatTheUserSays) {
  const Answer a = check_plugin("slots", "--depth 3 --disk 8KiB --block 512");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("blocks=16"));
  // A block is as large as the plug-in says (128 bytes in this one), or the user, by whatever flag.
  EXPECT_THAT(check_plugin("shelf", "--depth 1 --disk 8KiB").text, HasSubstr("blocks=64"));
  EXPECT_THAT(check_plugin("slots", "--depth 1 --disk 8KiB --set block=512").text, HasSubstr("blocks=16"));
  const Answer odd = check_plugin("slots", "--disk 1000 --block 512");
  EXPECT_EQ(odd.code, 2) << odd.text;
  EXPECT_THAT(odd.text, HasSubstr("is not a whole number of blocks"));
}

// Regression: the stage small-disk took a disk on which a file could be made and nothing written to it. A
// recovery on such a disk was not-usable (R5), because its trial writes to a file.
TEST(PluginTest, ADiskWithoutRoomForAFileIsNoDisk) {
  const Answer a = check_plugin("plot", "--set blocks=1 --depth 1");
  EXPECT_EQ(a.code, 2) << a.text;
  EXPECT_THAT(a.text, HasSubstr("the disk of 1 blocks of 512 bytes is too small for "));
  EXPECT_THAT(a.text, HasSubstr(": 'append /a 512' answers ENOSPC on a fresh file system"));
  EXPECT_EQ(check_plugin("plot", "--set blocks=2 --depth 2").code, 0);
  const Answer stage = check_plugin("plot", "--stages small-disk --budget 1s");
  EXPECT_EQ(stage.code, 0) << stage.text;
}

TEST(PluginTest, ASkeletonBuildsAndIsClean) {
  const TemporaryDirectory where;
  const std::string in = "cd '" + where.file("") + "' && ";
  const Answer made = run_line(in + "'" SISYFS_PROGRAM "' new-plugin tinyfs");
  EXPECT_EQ(made.code, 0) << made.text;
  const Answer built = run_line(in + "make -C tinyfs");
  ASSERT_EQ(built.code, 0) << built.text;
  EXPECT_THAT(built.text, Not(HasSubstr("warning")));
  const Answer checked = run_line(in + "'" SISYFS_PROGRAM "' check tinyfs/libtinyfs.so --progress off");
  EXPECT_EQ(checked.code, 0) << checked.text;
  const Answer again = run_line(in + "'" SISYFS_PROGRAM "' new-plugin tinyfs");
  EXPECT_EQ(again.code, 2) << again.text;
  EXPECT_THAT(again.text, HasSubstr("exists already"));
  EXPECT_EQ(run("new-plugin Bad-Name").code, 2);
}

}  // namespace
}  // namespace sisyfs::plugin_e2e_test
