// Plug-ins that harm the process that they run in: what they call is named, and what they print is kept
// apart. hostile_plugin_slow_test.cc has all that they do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hostile_plugin.h"

namespace sisyfs::hostile_plugin_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// What a plug-in printed used to come before the JSON, so that no program could read it.
TEST(HostilePluginE2eTest, WhatItPrintsIsNotInTheReport) {
  const Hostile plugin;
  const Answer quiet = plugin.check("none", "--json -");
  const Answer a = plugin.check("print@all", "--json -");
  EXPECT_EQ(a.code, 0) << a.text;
  const json run = json::parse(a.text, nullptr, false);
  ASSERT_FALSE(run.is_discarded()) << a.text;
  EXPECT_EQ(run["states"], json::parse(quiet.text)["states"]) << "what is printed is no part of a state";
  EXPECT_EQ(plugin.said(), "");
  const Answer lines = plugin.run("print@all", "check " + plugin.path() + " --depth 3 --progress json");
  EXPECT_THAT(lines.text, Not(HasSubstr("hostile\033")));
  EXPECT_THAT(plugin.said(), Not(HasSubstr("raw output")));
}

// In a process that runs foreign code the descriptor behind /dev/stdout is the plug-in's.
TEST(HostilePluginE2eTest, StandardStreamsCanBeNamedAsFiles) {
  const Hostile plugin;
  for (const char* stream : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const Answer a = plugin.check("print@all", std::string("--json ") + stream);
    EXPECT_EQ(a.code, 0) << a.text;
    EXPECT_THAT(a.text, HasSubstr("\"schema\"")) << stream;
    EXPECT_THAT(a.text, Not(HasSubstr("raw output"))) << stream;
  }
  EXPECT_EQ(plugin.check("none", "--json /dev/stderr").code, 0);
  EXPECT_THAT(plugin.said(), HasSubstr("\"schema\""));
}

TEST(HostilePluginE2eTest, WhatItPrintsIsShownOnRequest) {
  const Hostile plugin;
  const Answer a = plugin.check("print@all", "--json - --set prints=show");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_FALSE(json::parse(a.text, nullptr, false).is_discarded()) << a.text;
  for (const char* printed : {"\"verdict\"", "raw output 1", "raw output 2"})
    EXPECT_THAT(plugin.said(), HasSubstr(printed));
}

TEST(HostilePluginE2eTest, WhatItPrintsIsNotInAReplayNorInAListOfTargets) {
  const Hostile plugin;
  const Answer found = plugin.check("crash@write", "");
  ASSERT_EQ(found.code, 1) << found.text;
  const Answer again = plugin.run("print@all", "replay '" + token_in(found.text) + "'");
  EXPECT_EQ(again.code, 0) << again.text;
  const Answer listed = plugin.run("print@entry", "targets " + plugin.path() + " --json");
  EXPECT_EQ(listed.code, 0) << listed.text;
  EXPECT_FALSE(json::parse(listed.text, nullptr, false).is_discarded()) << listed.text;
  for (const Answer& a : {again, listed}) EXPECT_THAT(a.text, Not(HasSubstr("raw output")));
}

TEST(HostilePluginE2eTest, CallsThatHarmTheProcessAreNamed) {
  const Hostile plugin;
  const std::pair<const char*, const char*> deeds[] = {
      {"kill_parent", "it calls kill, and a plug-in must not change its process or signal others"},
      {"kill_group", "it calls kill"},
      {"stop", "it calls raise"},
      {"terminate", "it calls raise"},
      {"set_limits", "it calls setrlimit"},
      {"close_all", "it calls close on a descriptor of the checker"},
      {"overwrite_all", "it calls dup2 onto a descriptor of the checker"},
      {"change_directory", "it calls chdir"},
      {"change_root", "it calls chroot"},
      {"trace_parent", "it calls ptrace"},
      {"become_true", "it calls execl"}};
  for (const auto& [deed, text] : deeds) {
    const Answer a = plugin.check(std::string(deed) + "@write", "");
    EXPECT_EQ(a.code, 1) << deed << '\n' << a.text;
    EXPECT_THAT(a.text, HasSubstr("target-died (T1")) << deed;
    EXPECT_THAT(on_one_line(a.text), HasSubstr(text)) << deed;
    EXPECT_TRUE(plugin.leaves_no_process()) << deed;
  }
}

// System calls without libc: the kernel refuses them, and the search is the one of a plug-in that makes none.
TEST(HostilePluginE2eTest, SystemCallsThatHarmTheProcessHaveNoEffect) {
  const Hostile plugin;
  const auto states_of = [](const Answer& a) {
    const json run = json::parse(a.text, nullptr, false);
    return run.is_discarded() ? json(a.text) : json{run["states"], run["visited_digest"], run["verdict"]};
  };
  const json quiet = states_of(plugin.check("none", "--json -"));
  for (const char* deed :
       {"raw_stop", "raw_stop_thread", "raw_set_limits", "raw_kill_parent", "raw_kill_group", "raw_close_all",
        "raw_close_a_range", "raw_overwrite_all", "raw_change_root"})
    for (const char* place : {"@write", "@format"})
      EXPECT_EQ(states_of(plugin.check(deed + std::string(place), "--json -")), quiet) << deed << place;
  EXPECT_TRUE(plugin.leaves_no_process());
}

// A worker died, another one made the same call and lived, and the run was told as clean.
TEST(HostilePluginE2eTest, ADeathThatDoesNotHappenAgainIsNoPass) {
  const Hostile plugin;
  const Answer a = plugin.check("end_once@write", "");
  EXPECT_EQ(a.code, 4) << a.text << plugin.said();
  EXPECT_THAT(plugin.said(), HasSubstr("a process died in a call that does not end it any more"));
  EXPECT_EQ(plugin.check("end_once@write", "").code, 0) << "the file is there now, and nothing dies";
}

// A library's destructors ran after the search, when nothing catches a fault.
TEST(HostilePluginE2eTest, DestructorsDoNotRun) {
  const Hostile plugin;
  for (const char* deed : {"crash@destructor", "loop@destructor", "raw_end@destructor"}) {
    const Answer a = plugin.check(deed, "");
    EXPECT_EQ(a.code, 0) << deed << '\n' << a.text << plugin.said();
    EXPECT_EQ(plugin.said(), "") << deed;
  }
}

// The table was read, and its numbers were believed: a bad pointer or a block of 4 GB ended the process.
TEST(HostilePluginE2eTest, ABadTableIsRefused) {
  const Hostile plugin;
  const std::pair<const char*, const char*> tables[] = {{"bad_pointer", "cannot be read"},
                                                        {"bad_name", "cannot be read"},
                                                        {"block_size", "block_size is 4294967295"},
                                                        {"write_unit", "write_unit is 4294967295"},
                                                        {"crash", "sisyfs_plugin_entry died: SIGSEGV"}};
  for (const auto& [deed, text] : tables) {
    const Answer a = plugin.check(std::string(deed) + "@entry", "");
    EXPECT_EQ(a.code, 2) << deed << '\n' << a.text << plugin.said();
    EXPECT_THAT(plugin.said(), HasSubstr(text)) << deed;
  }
}

// Each of these grew without bound, or stopped the checker at an assertion of its own.
TEST(HostilePluginE2eTest, AnswersWithoutEndOrSenseAreFindings) {
  const Hostile plugin;
  const std::pair<const char*, const char*> answers[] = {
      {"endless@readdir", "it lists names without end"},
      {"endless@fsck", "its fsck tells problems without end"},
      {"root_id@stat", "wrong-effect (O2"},
      {"slash@readdir", "/ cannot be read: readdir gives a name that cannot be one"},
      {"again@readdir", "/a cannot be read: readdir gives this name twice"},
      {"type@stat", "cannot be read: stat gives no type, or one that is none"},
      {"huge@write", "answers 1099511627776 bytes, expected "},
      {"positive@create", "answers a number that is no errno"},
      {"least@create", "answers a number that is no errno"},
      {"no_errno@create", "answers a number that is no errno"}};
  for (const auto& [deed, text] : answers) {
    const Answer a = plugin.check(deed, "");
    EXPECT_EQ(a.code, 1) << deed << '\n' << a.text << plugin.said();
    EXPECT_THAT(on_one_line(a.text), HasSubstr(text)) << deed;
  }
}

}  // namespace
}  // namespace sisyfs::hostile_plugin_e2e_test
