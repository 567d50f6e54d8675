// The F2FS model, deeper than in every build: the correct model, and each planted bug. A few minutes on two
// cores.
#include <gtest/gtest.h>

#include "finding/catalogue_bits_for_test.h"
#include "judge/catalogue.h"
#include "models/f2fs/check.h"

namespace sisyfs::f2fs::f2fs_slow_test {
namespace {

using Settings = std::vector<std::string>;

SearchResult search(const Settings& settings, uint32_t depth, Dedup dedup) {
  const Result<Options> options = Options::parse(option_specs(), settings);
  EXPECT_TRUE(options);
  const auto check = make_check(*options);
  EXPECT_TRUE(check);
  SearchOptions search;
  search.bounds.depth = depth;
  search.dedup = dedup;
  search.threads = 2;
  search.digest_visited = false;
  SearchResult result = catalogued_search(**check, search);
  EXPECT_EQ(result.stopped, Stop::kNo);
  return result;
}

struct Clean {
  const char* name;
  Settings settings;
  uint32_t depth;
  Dedup dedup;
};
std::ostream& operator<<(std::ostream& out, const Clean& c) { return out << c.name; }
class RightModel : public testing::TestWithParam<Clean> {};

TEST_P(RightModel, IsClean) {
  const Clean& c = GetParam();
  const SearchResult result = search(c.settings, c.depth, c.dedup);
  EXPECT_EQ(result.findings, 0u);
  EXPECT_EQ(result.depth, c.depth);
}

INSTANTIATE_TEST_SUITE_P(
    Deep, RightModel,
    testing::Values(Clean{"Exact", {}, 6, Dedup::kExact}, Clean{"ByShape", {}, 8, Dedup::kShape},
                    Clean{"EveryWrite", {"one_write=off"}, 5, Dedup::kExact},
                    Clean{"Handles", {"handles=on"}, 6, Dedup::kExact},
                    Clean{"EagerDirectories", {"eager_dirs=on"}, 5, Dedup::kExact},
                    Clean{"Small", {"preset=small"}, 6, Dedup::kExact},
                    Clean{"SmallByShape", {"preset=small"}, 7, Dedup::kShape},
                    Clean{"SmallImpossible", {"preset=small", "impossible=on"}, 5, Dedup::kExact},
                    Clean{"SmallAndFull",
                          {"preset=small", "write=11", "files=1", "dirs=0", "one_write=off"},
                          5,
                          Dedup::kExact},
                    Clean{"SmallEagerDirectories", {"preset=small", "eager_dirs=on"}, 7, Dedup::kShape},
                    Clean{"Reordered", {"crash=subsets", "files=1", "dirs=0"}, 4, Dedup::kExact}),
    testing::PrintToStringParamName());

struct Planted {
  const char* name;
  Settings settings;
  uint32_t depth;
  Dedup dedup;
  std::vector<FindingKind> shows;  // among others
};
std::ostream& operator<<(std::ostream& out, const Planted& p) { return out << p.name; }
class WrongModel : public testing::TestWithParam<Planted> {};

TEST_P(WrongModel, ShowsIt) {
  const Planted& p = GetParam();
  const SearchResult result = search(p.settings, p.depth, p.dedup);
  for (const FindingKind kind : p.shows)
    EXPECT_NE(result.findings & bit(kind), 0u) << info(kind).name << " of " << result.findings;
}

using enum FindingKind;
INSTANTIATE_TEST_SUITE_P(
    Deep, WrongModel,
    testing::Values(
        Planted{"Lifo", {"reuse=lifo"}, 6, Dedup::kExact, {kNotAllowed, kLostNode}},
        Planted{"LifoByShape", {"reuse=lifo"}, 7, Dedup::kShape, {kNotAllowed, kLostNode}},
        Planted{
            "LifoEveryWrite", {"reuse=lifo", "one_write=off"}, 5, Dedup::kExact, {kNotAllowed, kLostNode}},
        Planted{
            "LifoHandles", {"reuse=lifo", "handles=on", "one_write=off"}, 7, Dedup::kShape, {kNotAllowed}},
        Planted{"LifoRoot", {"reuse=lifo", "eager_dirs=on"}, 5, Dedup::kExact, {kNotAllowed, kLostRoot}},
        Planted{"Fifo",
                {"reuse=fifo", "preset=small", "write=11", "files=1", "dirs=0", "one_write=off"},
                5,
                Dedup::kExact,
                {kNotAllowed, kLostNode}},
        Planted{"FifoRoot",
                {"reuse=fifo", "preset=small", "eager_dirs=on", "files=1", "dirs=1", "one_write=off"},
                6,
                Dedup::kShape,
                {kNotAllowed, kLostRoot}},
        Planted{"OneCopyOfTables", {"bitmaps=off"}, 5, Dedup::kExact, {kLostBlock, kLostNode, kNotAllowed}},
        Planted{"TablesLast", {"cp_order=tables-last"}, 5, Dedup::kExact, {kLostNode, kNotAllowed}},
        Planted{"FooterFirst", {"cp_order=footer-first"}, 5, Dedup::kExact, {kLostBlock, kNotAllowed}},
        Planted{"NoFlush",
                {"cp_flush=off", "crash=subsets", "files=1", "dirs=1"},
                3,
                Dedup::kExact,
                {kLostBlock, kLostNode, kBadEntry}},
        Planted{"NoRollForward", {"rollforward=off"}, 5, Dedup::kExact, {kNotAllowed}}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace sisyfs::f2fs::f2fs_slow_test
