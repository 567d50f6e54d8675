// The clean cells of the verdict matrix that take longest: two tasks at 4 files and 6 data blocks, which are
// exhausted with symmetry, and one task at 7 data blocks, two of them without. One and two threads must
// agree.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::matrix_slow_test {
namespace {

struct Cell {
  const char *model, *cache, *order;
  int tasks, blocks;
  bool symmetry;
  uint64_t states, transitions;
};

std::ostream& operator<<(std::ostream& out, const Cell& c) {
  return out << c.model << "_" << c.cache << "_" << c.order << "_" << c.tasks << "_tasks_" << c.blocks
             << "_blocks";
}

class LargeMatrixCell : public testing::TestWithParam<Cell> {};

TEST_P(LargeMatrixCell, IsExhaustedWithItsPinnedNumberOfStates) {
  const Cell& c = GetParam();
  for (int threads : {2, 1}) {
    std::string command = std::string("check ") + c.model + " --set cache=" + c.cache +
                          " --set order=" + c.order + " --set blocks=" + std::to_string(c.blocks) +
                          " --tasks " + std::to_string(c.tasks) + " --threads " + std::to_string(threads) +
                          " --all --progress off --json -";
    if (c.symmetry) command += " --symmetry";
    const Answer a = run(command);
    EXPECT_EQ(a.code, 0) << a.text;
    const nlohmann::json result = nlohmann::json::parse(a.text);
    EXPECT_EQ(result["exhausted"], true);
    EXPECT_EQ(result["states"], c.states);
    EXPECT_EQ(result["transitions"], c.transitions);
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, LargeMatrixCell,
                         testing::Values(Cell{"link", "flush", "pointed", 2, 6, true, 70827677, 243409419},
                                         Cell{"link", "off", "pointed", 2, 6, true, 38865450, 138018734},
                                         Cell{"index", "flush", "pointed", 2, 6, true, 73208624, 246634552},
                                         Cell{"index", "off", "pointed", 2, 6, true, 67130560, 226720276},
                                         Cell{"link", "flush", "pointed", 1, 7, false, 49648705, 119449437},
                                         Cell{"index", "flush", "pointed", 1, 7, false, 18598081, 44347989},
                                         Cell{"link", "flush", "naive", 1, 7, true, 6546133, 15765531},
                                         Cell{"link", "off", "pointed", 1, 7, true, 11435423, 28377415},
                                         Cell{"index", "flush", "naive", 1, 7, true, 904553, 2176789},
                                         Cell{"index", "off", "pointed", 1, 7, true, 1699199, 4135786}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace sisyfs::matrix_slow_test
