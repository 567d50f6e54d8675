// A finding with very many steps is told in time that grows with their number. With each step the teller went
// through all writes before it, and 8,000 steps took a quarter of a minute, 30,000 many minutes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::long_finding_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// The same four ops again and again: all that was written is durable after each of them, or in doubt.
json finding_with(int steps) {
  static constexpr const char* kOps[] = {"create /a", "sync", "unlink /a", "sync"};
  json all = json::array();
  for (int i = 0; i < steps; ++i) all.push_back({{"id", i + 1}, {"op", kOps[i % 4]}});
  return {{"schema", "sisyfs.finding/2"},
          {"target", "journal"},
          {"settings", json::array()},
          {"code", "O2"},
          {"steps", all}};
}

TEST(LongFinding, IsToldInSeconds) {
  const TemporaryDirectory dir;
  const std::string file = dir.write("long.json", finding_with(30'000).dump());
  const Answer answer = run_line(std::string("timeout -s KILL 60 '") + SISYFS_PROGRAM + "' replay " + file);
  EXPECT_EQ(answer.code, 0) << "it took longer than a minute";
  EXPECT_THAT(answer.text, HasSubstr("does not happen any more"));
}

}  // namespace
}  // namespace sisyfs::long_finding_e2e_test
