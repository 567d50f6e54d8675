// museum --long: the correct models to greater depths, and the exhibits that take longest.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::museum_slow_test {
namespace {

TEST(LongMuseumTest, IsAsExpected) {
  const Answer a = run("museum --long --progress off --json");
  EXPECT_EQ(a.code, 0) << a.text;
  const nlohmann::json museum = nlohmann::json::parse(a.text);
  EXPECT_EQ(museum["differ"], 0);
  EXPECT_EQ(museum["stopped"], 0);
  bool longest = false;
  for (const nlohmann::json& exhibit : museum["exhibits"])
    longest |= exhibit["name"] == "f2fs-reuse-one-write";
  EXPECT_TRUE(longest) << "the long round leaves out what only it shows";
}

// One thread and two must tell the same: findings, depths, states, transitions and tokens.
TEST(LongMuseumTest, OneThreadAndTwoTellTheSame) {
  const auto told = [](int threads) {
    const Answer a = run("museum --progress off --json --threads " + std::to_string(threads));
    nlohmann::json museum = nlohmann::json::parse(a.text);
    for (const char* kind : {"exhibits", "models"})
      for (nlohmann::json& entry : museum[kind])
        for (const char* part : {"search", "twin"})
          if (entry.contains(part)) entry[part].erase("seconds");
    return museum;
  };
  EXPECT_EQ(told(1), told(2));
}

}  // namespace
}  // namespace sisyfs::museum_slow_test
