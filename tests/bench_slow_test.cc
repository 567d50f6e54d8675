// The comparison with SPIN's pan, end to end: that it runs and is complete; its result is not checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::bench_slow_test {
namespace {

using nlohmann::json;

TEST(SpinBenchTest, MeasuresBothSidesOfEachCell) {
  if (run_line("spin -V").code != 0) GTEST_SKIP() << "SPIN is not installed (package spin)";
  const Answer a = run("bench spin --quick --rounds 1 --json 2>/dev/null");
  ASSERT_EQ(a.code, 0) << a.text;
  const json bench = json::parse(a.text);
  ASSERT_EQ(bench["cells"].size(), 4u);
  for (const char* name : {"transitions_ratio_1", "transitions_ratio_2", "memory_ratio", "threads_ratio"}) {
    double worst = bench["cells"][0][name];
    for (const json& cell : bench["cells"]) worst = std::min(worst, cell[name].get<double>());
    EXPECT_EQ(bench[name].get<double>(), worst) << name;
    EXPECT_GT(worst, 0) << name;
  }
  for (const json& cell : bench["cells"]) {
    // What is needed for these states; a peak that another process left behind would be far above.
    EXPECT_LT(cell["sisyfs_memory_mb"], 64) << cell;
    EXPECT_GT(cell["two_processes_ratio"], 0.2) << cell;
    EXPECT_NEAR(cell["pan_seconds"].get<double>() / cell["sisyfs_seconds_1"].get<double>(),
                cell["transitions_ratio_1"], 1e-6)
        << cell;
  }
}

}  // namespace
}  // namespace sisyfs::bench_slow_test
