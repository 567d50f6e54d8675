// A target that sleeps 5 ms in each call: a state takes seconds, and the program stays responsive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "running_program.h"

namespace sisyfs::slow_target_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kSlow = "check " SISYFS_PLUGIN_DIR "/libslots_slow.so --depth 6 --progress json ";

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The lines of progress in what the program printed.
std::vector<json> progress_in(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    json one = json::parse(line, nullptr, false);
    if (one.is_object() && one.contains("elapsed_s")) lines.push_back(std::move(one));
  }
  return lines;
}

// 0.15 s at most on a quiet machine.
TEST(SlowTargetTest, ASignalEndsTheSearchWithAPartialVerdict) {
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const std::string order : {"", "--search dfs "}) {
      const TemporaryDirectory dir;
      Running search(kSlow + order, dir.file("out"));
      ASSERT_TRUE(says(dir.file("out"), "\"transitions\"")) << content_of(dir.file("out"));
      std::this_thread::sleep_for(std::chrono::seconds(1));
      const Clock::time_point start = Clock::now();
      const int status = search.end(signal);
      EXPECT_LT(seconds_since(start), 5.0);
      EXPECT_EQ(WEXITSTATUS(status), 3);
      const std::string text = content_of(dir.file("out"));
      EXPECT_THAT(text, HasSubstr("UNKNOWN: "));
      EXPECT_THAT(text, HasSubstr("interrupted: what lies beyond was not looked at"));
    }
  }
}

// 2.9 s on a quiet machine, of which 0.8 s are spent before the search.
TEST(SlowTargetTest, TheBoundOnTimeEndsTheSearchAndProgressMoves) {
  const Clock::time_point start = Clock::now();
  const Answer a = run(kSlow + "--time 2s");
  EXPECT_LT(seconds_since(start), 10.0);
  EXPECT_EQ(a.code, 3) << a.text;
  EXPECT_THAT(a.text, HasSubstr("UNKNOWN: "));
  std::set<uint64_t> states, transitions;
  for (const json& line : progress_in(a.text)) {
    states.insert(line["states"].get<uint64_t>());
    transitions.insert(line["transitions"].get<uint64_t>());
  }
  EXPECT_GT(transitions.size(), 2u) << a.text;
  EXPECT_GT(states.size(), 1u) << a.text;
}

TEST(SlowTargetTest, ASearchThatWasStoppedCanBeResumed) {
  const TemporaryDirectory dir;
  const std::string file = dir.file("run.checkpoint"),
                    search = "check " SISYFS_PLUGIN_DIR "/libslots_slow.so --depth 3 ";
  const Answer cut = run(search + "--time 700ms --progress off --checkpoint " + file);
  EXPECT_EQ(cut.code, 3) << cut.text;
  EXPECT_THAT(cut.text, HasSubstr("sisyfs resume "));
  const json resumed = json::parse(run("resume " + file + " --progress off --json -").text, nullptr, false);
  EXPECT_EQ(resumed.value("verdict", ""), "pass");
  EXPECT_EQ(resumed.value("depth", 0), 3);
}

}  // namespace
}  // namespace sisyfs::slow_target_e2e_test
