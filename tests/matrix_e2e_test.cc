// The clean cells of the verdict matrix at 4 files and 6 data blocks, one task, without reductions. The
// numbers are those that SPIN's pan counts on the Promela models (bench/spin/run MODEL 4 6 1 CACHE ORDER).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"

namespace sisyfs::matrix_e2e_test {
namespace {

struct Cell {
  const char *model, *cache, *order;
  uint64_t states, transitions;
};

std::ostream& operator<<(std::ostream& out, const Cell& c) {
  return out << c.model << "_" << c.cache << "_" << c.order;
}

class MatrixCell : public testing::TestWithParam<Cell> {};

TEST_P(MatrixCell, IsExhaustedWithItsPinnedNumberOfStates) {
  const Cell& c = GetParam();
  std::string digest;
  for (const char* threads : {"1", "2"}) {
    const Answer a =
        run(std::string("check ") + c.model + " --set cache=" + c.cache + " --set order=" + c.order +
            " --threads " + threads + " --all --progress off --json -");
    EXPECT_EQ(a.code, 0) << a.text;
    const nlohmann::json result = nlohmann::json::parse(a.text);
    EXPECT_EQ(result["exhausted"], true);
    EXPECT_EQ(result["states"], c.states);
    EXPECT_EQ(result["transitions"], c.transitions);
    EXPECT_TRUE(digest.empty() || result["visited_digest"] == digest) << "on one thread it was " << digest;
    digest = result["visited_digest"];
  }
}

INSTANTIATE_TEST_SUITE_P(SixBlocks, MatrixCell,
                         testing::Values(Cell{"link", "flush", "naive", 5062285, 12170885},
                                         Cell{"link", "flush", "pointed", 5062285, 12170885},
                                         Cell{"link", "off", "pointed", 9717121, 24071993},
                                         Cell{"index", "flush", "naive", 2295205, 5523941},
                                         Cell{"index", "flush", "pointed", 2337685, 5608901},
                                         Cell{"index", "off", "pointed", 4844881, 11913329}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace sisyfs::matrix_e2e_test
