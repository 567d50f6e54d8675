// --workload ace: all workloads of one or two core ops with persistence points. It finds what such workloads
// can show, passes a right system, and works with any crash states, on any number of workers, and over a
// resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace sisyfs::ace_e2e_test {
namespace {

using testing::HasSubstr;
using json = nlohmann::json;

std::string quillfs(const std::string& mistake) {
  const auto directory = std::filesystem::path(SISYFS_PROGRAM).parent_path() / "plugins" / "examples";
  return "check '" + (directory / ("libquillfs_" + mistake + ".so")).string() +
         "' --progress off --workload ace ";
}

// Some of these no single search of half a minute shows (examples/quillfs/mistakes.txt).
TEST(AceE2eTest, PlantedMistakesAreFound) {
  for (const char* mistake :
       {"fsync_directory", "fsync_link", "fsync_rename", "fsync_size", "fdatasync_size", "osync_size",
        "journal_full", "replay_oldest", "sequence_descriptor", "last_inode", "stale_name", "hole_block"}) {
    EXPECT_EQ(run(quillfs(mistake) + "--set crash=persisted").code, 1) << mistake;
  }
  for (const char* mistake : {"flush_commit", "flush_record", "swap_tail_record", "reuse_early"}) {
    EXPECT_EQ(run(quillfs(mistake)).code, 1) << mistake;
    EXPECT_EQ(run(quillfs(mistake) + "--set crash=persisted").code, 3) << mistake << " needs a lost write";
  }
}

TEST(AceE2eTest, ARightSystemPassesAndSaysOverWhat) {
  const Answer pass = run(quillfs("ordered") + "--depth 1");
  EXPECT_EQ(pass.code, 0) << pass.text;
  EXPECT_THAT(pass.text, HasSubstr("every bounded workload was walked to its end, and nothing else"));
  EXPECT_THAT(pass.text, HasSubstr("  workload  166 bounded workloads of 1 core op, "));
  EXPECT_THAT(pass.text, HasSubstr("ops outside of the bounded workloads"));
  const json two = json::parse(run(quillfs("ordered") + "--set crash=persisted --json -").text);
  EXPECT_EQ(two["workload"], (json{{"core_ops", 2}, {"count", 56315}}));
  EXPECT_EQ(two["verdict"], "unknown");
  EXPECT_TRUE(two["depth_bound"].is_null());
  for (const char* model : {"journal", "f2fs", "verifs2", "flash", "link --via disk"}) {
    const Answer answer = run(std::string("check ") + model + " --workload ace --depth 1 --progress off");
    EXPECT_EQ(answer.code, 0) << answer.text;
  }
}

TEST(AceE2eTest, TheResultDoesNotDependOnWorkersOrAResume) {
  const auto outcome = [](const Answer& answer) {
    json all = json::parse(answer.text, nullptr, false), some;
    if (!all.is_object()) return json(answer.text);
    for (const char* key : {"verdict", "states", "transitions", "exhausted", "visited_digest", "workload"})
      some[key] = all[key];
    return some;
  };
  const std::string search = quillfs("ordered") + "--depth 1 --json - ";
  const json one = outcome(run(search + "--threads 1"));
  EXPECT_EQ(one["verdict"], "pass") << one;
  EXPECT_EQ(outcome(run(search + "--threads 3")), one);
  const TemporaryDirectory dir;
  const std::string file = dir.file("saved");
  EXPECT_EQ(run(search + "--states 100 --checkpoint " + file).code, 3);
  EXPECT_EQ(outcome(run("resume " + file + " --states 1000000 --progress off --json -")), one);
}

TEST(AceE2eTest, WhatCannotBeIsRefused) {
  const std::pair<std::string, std::string> kRefused[] = {
      {"check journal --workload ace --depth 9", "has 1 to 6 core ops (--depth), not 9"},
      {"check link --workload ace", "it is a model in steps"},
      {"check journal --workload ace --walk 3", "excludes"},
      {"check journal --workload ace --set start=entry-free", "begins with a mounted system"},
      {"check journal --workload aces", "--workload"}};
  for (const auto& [arguments, says] : kRefused) {
    const Answer answer = run(arguments);
    EXPECT_EQ(answer.code, 2) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(says));
  }
}

}  // namespace
}  // namespace sisyfs::ace_e2e_test
