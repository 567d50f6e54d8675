// The states of a plug-in have the same fingerprints in each process and each run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::plugin_digest_e2e_test {
namespace {

using Json = nlohmann::json;

const std::string kPebble = "'" SISYFS_PLUGIN_DIR "/examples/libpebblefs.so'";

// What has to be equal in two runs of one search.
std::string counts_of(const Answer& answer) {
  const Json json = Json::parse(answer.text, nullptr, false);
  if (json.is_discarded()) return answer.text;
  std::string tokens;
  for (const Json& finding : json["findings"]) tokens += " " + finding["token"].get<std::string>();
  return json["visited_digest"].get<std::string>() + " " + json["states"].dump() + " " +
         json["transitions"].dump() + " " + json["unexpanded"].dump() + tokens;
}

// The kernel places libraries at random, and the stack lies where the environment ends.
TEST(PluginDigestTest, IsTheSameInEachRun) {
  const std::vector<std::string> targets = {kPebble, "'" SISYFS_PLUGIN_DIR "/libslots.so'",
                                            "'" SISYFS_PLUGIN_DIR "/libshelf.so'", "libext2fs", "libntfs"};
  for (const std::string& target : targets) {
    const std::string arguments = "check " + target + " --all --depth 2 --progress off --json -";
    const std::string first = counts_of(run(arguments));
    EXPECT_NE(first.find("visited") == std::string::npos ? first : "", "") << target;
    EXPECT_EQ(counts_of(run_line("LONG=" + std::string(3000, 'x') + " '" SISYFS_PROGRAM "' " + arguments)),
              first)
        << target;
    EXPECT_EQ(counts_of(run(arguments)), first) << target;
  }
}

TEST(PluginDigestTest, ResumedSearchIsTheSearchThatWasNotStopped) {
  const std::string search = "check " + kPebble + " --depth 4 --progress off --json - ";
  const std::string whole = counts_of(run(search));
  const TemporaryDirectory directory;
  for (const int states : {1, 2, 57, 200, 400, 777, 1343}) {
    const std::string file = directory.file("at-" + std::to_string(states));
    const Answer stopped = run(search + "--states " + std::to_string(states) + " --checkpoint " + file);
    EXPECT_EQ(stopped.code, 3) << stopped.text;
    const Answer resumed = run("resume " + file + " --states 1000000 --progress off --json -");
    EXPECT_EQ(counts_of(resumed), whole) << "stopped at " << states << " states";
  }
}

}  // namespace
}  // namespace sisyfs::plugin_digest_e2e_test
