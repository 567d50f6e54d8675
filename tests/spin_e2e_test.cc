// Compares the C++ models with the Promela models. Both were written independently from one definition
// (docs/models/file-mapping.md) and must have the same numbers of states and transitions. pan stores whole
// states, so this also shows that our fingerprints merge no states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::spin_e2e_test {
namespace {

using nlohmann::json;

struct Cell {
  const char *model, *cache, *order;
  int tasks;
};

std::ostream& operator<<(std::ostream& out, const Cell& c) {
  return out << c.model << "_" << c.cache << "_" << c.order << "_" << c.tasks;
}

class AgainstPan : public testing::TestWithParam<Cell> {};

TEST_P(AgainstPan, CountsTheSameStatesAndTransitions) {
  if (run_line("spin -V").code != 0) GTEST_SKIP() << "SPIN is not installed (package spin)";
  const Cell& c = GetParam();
  // What is damaged has more states by far.
  const bool damaged = std::string(c.order) == "naive" && !(std::string(c.cache) == "flush" && c.tasks == 1);
  const std::string geometry = damaged ? (c.tasks == 1 ? "2 3" : "2 2") : c.tasks == 1 ? "3 4" : "2 4";
  const Answer pan = run_line(std::string(SISYFS_SOURCE_DIR) + "/bench/spin/run " + c.model + " " + geometry +
                              " " + std::to_string(c.tasks) + " " + c.cache + " " + c.order + " processes");
  ASSERT_EQ(pan.code, 0) << pan.text;
  const json theirs = json::parse(pan.text);
  const Answer ours_text =
      run(std::string("check ") + c.model + " --all --progress off --json - --set files=" + geometry[0] +
          " --set blocks=" + geometry[2] + " --tasks " + std::to_string(c.tasks) + " --set cache=" + c.cache +
          " --set order=" + c.order);
  const json ours = json::parse(ours_text.text);
  EXPECT_EQ(ours["exhausted"], true);
  EXPECT_EQ(ours["states"], theirs["states"]);
  EXPECT_EQ(ours["transitions"], theirs["transitions"]);
  EXPECT_EQ(ours["findings"].size(), theirs["errors"].get<size_t>());
}

INSTANTIATE_TEST_SUITE_P(
    Cells, AgainstPan,
    testing::Values(Cell{"link", "flush", "naive", 1}, Cell{"link", "off", "pointed", 1},
                    Cell{"link", "flush", "pointed", 2}, Cell{"index", "flush", "naive", 1},
                    Cell{"index", "off", "pointed", 1}, Cell{"index", "flush", "pointed", 2},
                    Cell{"link", "off", "naive", 1}, Cell{"link", "flush", "naive", 2},
                    Cell{"index", "off", "naive", 1}, Cell{"index", "flush", "naive", 2}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace sisyfs::spin_e2e_test
