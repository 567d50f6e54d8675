#include "bench/costs.h"

#include <gtest/gtest.h>

#include "models/f2fs/check.h"
#include "models/journal/check.h"

namespace sisyfs::costs_test {
namespace {

Costs costs(const std::vector<std::string>& settings, uint32_t depth) {
  const Result<Options> options = Options::parse(f2fs::option_specs(), settings);
  EXPECT_TRUE(options);
  const Result<Costs> out = measure_costs(*f2fs::setup_of(*options), 3, depth);
  EXPECT_TRUE(out);
  return *out;
}

TEST(CostsTest, WithoutPowerCutsEachTransitionIsOneOp) {
  const Costs c = costs({"crash=none"}, 4);
  EXPECT_GT(c.transitions, 1000u);
  EXPECT_EQ(c.ops_done, c.transitions) << "what is redone does not count";
  EXPECT_EQ(c.recoveries_done, 0u);
  EXPECT_EQ(c.recoveries, 0);
  EXPECT_EQ(c.trials, 0);
  EXPECT_GT(c.redone, 0);
}

TEST(CostsTest, PowerCutsAreTheOtherTransitionsAndSomeRecoveriesAreRemembered) {
  const Costs c = costs({}, 4);
  EXPECT_LT(c.ops_done, c.transitions);
  EXPECT_GT(c.recoveries_done, 0u);
  EXPECT_LT(c.recoveries_done, c.transitions - c.ops_done);
  EXPECT_GT(c.recoveries, 0);
  EXPECT_GT(c.trials, 0);
}

TEST(CostsTest, ThePartsAreLessThanTheWhole) {
  const Costs c = costs({}, 4);
  for (double part : {c.ops, c.snapshots, c.walks}) EXPECT_GT(part, 0);
  EXPECT_LT(c.model() + c.walks + c.trials + c.redone, c.run);
  EXPECT_GT(c.share(c.model()), 0);
}

TEST(CostsTest, AnyTargetWithADiskCanBeMeasured) {
  const Result<Options> options = Options::parse(journal::option_specs(), {});
  ASSERT_TRUE(options);
  const Result<Costs> c = measure_costs(*journal::setup_of(*options), 3, 3);
  ASSERT_TRUE(c);
  EXPECT_GT(c->ops_done, 0u);
  EXPECT_GT(c->recoveries, 0);
  EXPECT_LT(c->model() + c->walks + c->trials + c->redone, c->run);
}

// How long is not asked: the machine may be doing other things.
TEST(CostsTest, ACopyOfAnySizeTakesTime) {
  for (const size_t bytes : {size_t{1}, size_t{1} << 10, size_t{64} << 10}) {
    const double ns = copy_and_hash_ns(bytes);
    EXPECT_GT(ns, 0) << bytes;
    EXPECT_LT(ns, 1e9) << bytes;
  }
}

}  // namespace
}  // namespace sisyfs::costs_test
