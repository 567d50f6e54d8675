// The JSON of the benches of whole file systems: names, signs and counts are checked, times are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::bench_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json bench(const std::string& arguments) {
  const Answer answer = run("bench " + arguments + " --json 2>/dev/null");
  EXPECT_EQ(answer.code, 0) << answer.text;
  return json::parse(answer.text, nullptr, false);
}

void expect_names_and_shares_below_one(const json& out) {
  for (const char* name :
       {"transitions_per_s_1", "transitions_per_s_2", "cost_in_copies", "model_share", "bytes_per_state",
        "depth13_hours", "depth13_memory_gb", "depth13_transitions", "copy_and_hash_16k_ns"}) {
    ASSERT_TRUE(out.contains(name)) << name;
    EXPECT_GT(out[name].get<double>(), 0) << name;
  }
  double sum = out["model_share"];
  EXPECT_NEAR(sum,
              out["model_ops_share"].get<double>() + out["model_snapshots_share"].get<double>() +
                  out["model_recoveries_share"].get<double>(),
              1e-9);
  for (const char* name : {"walks_share", "usability_share", "redone_share"}) {
    EXPECT_GE(out[name].get<double>(), 0) << name;
    sum += out[name].get<double>();
  }
  EXPECT_LT(sum, 1);
  ASSERT_EQ(out["by_depth"].size(), 3u);
  EXPECT_EQ(out["by_depth"][2]["transitions"], out["transitions"]);
  EXPECT_LT(out["by_depth"][1]["transitions"], out["transitions"]);
  EXPECT_GT(out["depth13_transitions"].get<double>(), out["transitions"].get<double>());
}

TEST(BenchTest, ModelsGiveTheirNamesAndSharesBelowOne) {
  expect_names_and_shares_below_one(bench("f2fs --quick --rounds 1 --depth 5"));
  expect_names_and_shares_below_one(bench("journal --quick --rounds 1 --depth 4"));
}

TEST(BenchTest, SnapshotTimesEachTrackerAgainstFork) {
  const json out = bench("snapshot --quick --rounds 1");
  for (const char* name : {"fork_over_snapshot_1", "fork_over_snapshot_10", "fork_over_snapshot_50"}) {
    ASSERT_TRUE(out.contains(name)) << name;
    EXPECT_GT(out[name].get<double>(), 0) << name;
  }
  ASSERT_EQ(out["cells"].size(), 6u);
  for (const json& cell : out["cells"]) EXPECT_GT(cell["compare_us"].get<double>(), 0);
  // A bench that finds other counts by the one way than by the other ends with an error.
  for (const char* name : {"plugin_over_builtin", "plugin_transitions_per_s", "builtin_transitions_per_s"})
    EXPECT_GT(out[name].get<double>(), 0) << name;
  EXPECT_EQ(out["search_depth"], 4);
  EXPECT_GT(out["search_states"].get<uint64_t>(), 1000u);
  EXPECT_EQ(run("bench snapshot --depth 3").code, 2);
}

// A bench that finds other counts with workers than without ends with an error.
TEST(BenchTest, PluginTimesWorkerProcesses) {
  const json out = bench("plugin --quick --rounds 1");
  for (const char* name :
       {"processes_ratio", "one_worker_over_in_process", "one_worker_seconds", "ext2_transitions_per_s"}) {
    ASSERT_TRUE(out.contains(name)) << name;
    EXPECT_GT(out[name].get<double>(), 0) << name;
  }
  EXPECT_GT(out["states"].get<uint64_t>(), 1000u);
}

json without_seconds(json out) {
  for (json& row : out["rows"]) row.erase("seconds");
  return out;
}

// Every single write: the bug shows four steps deep, so that a quick run has something to miss.
const char* const kShape = "shape --quick --depth 4 --set one_write=off";

TEST(BenchTest, ShapeComparesWithExactUnderTheSameBound) {
  const json out = bench(kShape);
  ASSERT_EQ(out["rows"].size(), 6u);
  EXPECT_EQ(out["exact_complete"], true);
  const json& exact = out["rows"][5];
  EXPECT_EQ(exact["dedup"], "exact");
  EXPECT_TRUE(exact["k"].is_null());
  EXPECT_FALSE(exact["findings"].empty());
  for (size_t k = 0; k < 5; ++k) {
    const json& row = out["rows"][k];
    EXPECT_EQ(row["k"], k);
    EXPECT_EQ(row["depth"], exact["depth"]);
    EXPECT_LT(row["states"], out["rows"][k + 1]["states"]);
    EXPECT_LE(row["transitions"], out["rows"][k + 1]["transitions"]);
    // What is missed is what exact dedup found and this did not.
    for (const auto& [name, depth] : exact["findings"].items()) {
      const bool missed = std::count(row["missed"].begin(), row["missed"].end(), name) != 0;
      EXPECT_NE(missed, row["findings"].contains(name)) << name;
    }
  }
}

TEST(BenchTest, ShapeCountsTheSameAgain) {
  EXPECT_EQ(without_seconds(bench(kShape)), without_seconds(bench(kShape)));
}

TEST(BenchTest, IsomorphismSavesMoreThanExactAndMoreWithDepth) {
  const json out = bench("isomorphism --quick");
  ASSERT_EQ(out["rows"].size(), 4u);
  double before = -1;
  for (const json& row : out["rows"]) {
    EXPECT_LE(row["exact_states"], row["none_states"]);
    EXPECT_LE(row["shape_states"], row["exact_states"]);
    EXPECT_GE(row["shape_reduction_percent"], row["exact_reduction_percent"]);
    EXPECT_GT(row["shape_reduction_percent"].get<double>(), before);
    before = row["shape_reduction_percent"];
  }
}

TEST(BenchTest, RowsAreATableToAReader) {
  const Answer answer = run("bench isomorphism --depth 2 2>/dev/null");
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.text, HasSubstr("  depth  none_states  none_transitions  exact_states"));
}

TEST(BenchTest, KernelHoldsASearchAgainstItsGuest) {
  const Answer answer = run("bench kernel --quick --rounds 1 --target ext2 --json 2>&1");
  if (answer.text.find("is skipped: it needs the packages") != std::string::npos) {
    EXPECT_EQ(answer.code, 2);
    GTEST_SKIP() << answer.text;
  }
  ASSERT_EQ(answer.code, 0) << answer.text;
  const json out = json::parse(answer.text.substr(answer.text.find('{')));
  EXPECT_EQ(out["target"], "ext2");
  for (const char* name : {"raw_cycles", "mounts_per_s", "work_per_cycle", "crash_states_per_mount",
                           "guests_ratio", "guest_memory_mb", "checker_memory_mb"}) {
    ASSERT_TRUE(out.contains(name)) << name;
    EXPECT_GT(out[name].get<double>(), 0) << name;
  }
  // Each recovery is at least one mount, and so is each state that was brought back.
  EXPECT_GE(out["mounts"].get<uint64_t>(),
            out["recoveries"].get<uint64_t>() + out["brought_back"].get<uint64_t>());
  EXPECT_GE(out["crash_states"], out["recoveries"]);
  EXPECT_LT(out["guest_memory_mb"].get<double>(), 1000);
}

TEST(BenchTest, WhatABenchDoesNotTakeIsRefused) {
  EXPECT_EQ(run("bench share --target ext4").code, 2);
  EXPECT_EQ(run("bench kernel --target journal").code, 2);
  EXPECT_EQ(run("bench share --depth 3").code, 2);
  EXPECT_EQ(run("bench f2fs --exact-depth 3").code, 2);
  EXPECT_EQ(run("bench f2fs --depth 2").code, 2);
  EXPECT_EQ(run("bench shape --set reuse=never").code, 2);
}

// Memos that forget at once, deep enough that a look for a known answer strays.
TEST(BenchTest, CrashCountsWhatNeedNotBeRun) {
  const Answer a = run("bench crash --depth 5 --rounds 1 --json");
  ASSERT_EQ(a.code, 0) << a.text;
  const json out = json::parse(a.text.substr(a.text.find('{')));
  EXPECT_GE(out["runs_saved"].get<double>(), 20);
  EXPECT_GE(out["nested_runs_saved"].get<double>(), 1);
  EXPECT_GT(out["judged_per_s_2"].get<double>(), 0);
}

}  // namespace
}  // namespace sisyfs::bench_e2e_test
