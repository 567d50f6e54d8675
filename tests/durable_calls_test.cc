// Systems some of whose calls are durable when they return, and claims about single calls: a claim is met by
// the system that does what it says, and broken by one that does not.
#include <gtest/gtest.h>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "toy_fs.h"

namespace sisyfs::durable_calls_test {
namespace {

using toy::Claim;
using toy::Habits;
using toy::When;

FindingBits findings(OpSet at_once, OpSet claimed, Contract contract, OpSet ops) {
  DiskSetup setup;
  setup.kind =
      toy::kind_of({.when = When::kAsked, .at_once = at_once}, {.contract = contract, .durable = claimed});
  setup.bounds.ops = ops;
  setup.bounds.max_files = 2;
  setup.bounds.max_dirs = 1;
  setup.bounds.names = {"a", "b"};
  setup.bounds.max_file_size = 2;
  setup.bounds.write_sizes = {1};
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = 4;
  return catalogued_search(**check, options).findings;
}

const OpSet kAll(OpKind::kCreate, OpKind::kUnlink, OpKind::kRename, OpKind::kWrite, OpKind::kTruncate);

struct Case {
  const char* name;
  OpSet calls;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class DurableCallsTest : public testing::TestWithParam<Case> {};

TEST_P(DurableCallsTest, ASystemThatDoesWhatItSaysIsAccepted) {
  EXPECT_EQ(findings(GetParam().calls, GetParam().calls, Contract::kFsync, kAll), 0u);
}

TEST_P(DurableCallsTest, ACallThatIsLostIsFound) {
  const OpSet with_names = kAll | OpSet(OpKind::kSync);
  EXPECT_EQ(findings({}, GetParam().calls, Contract::kFsync, with_names), bit(FindingKind::kNotAllowed));
  EXPECT_EQ(findings({}, {}, Contract::kFsync, with_names), 0u) << "nothing was claimed";
}

const Case kCases[] = {
    {"Create", OpSet(OpKind::kCreate)},     {"Unlink", OpSet(OpKind::kUnlink)},
    {"Rename", OpSet(OpKind::kRename)},     {"Write", OpSet(OpKind::kWrite)},
    {"Truncate", OpSet(OpKind::kTruncate)}, {"CreateAndWrite", OpSet(OpKind::kCreate, OpKind::kWrite)},
};
INSTANTIATE_TEST_SUITE_P(DurableCallsTest, DurableCallsTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// A log of whole ops: what is durable takes along all that came before it.
TEST(DurableCallsTest, OfAnAtomicSystemTakesEverythingAlong) {
  DiskSetup setup;
  const OpSet create(OpKind::kCreate);
  for (const When when : {When::kThrough, When::kAtOnce}) {
    setup.kind = toy::kind_of({.when = when}, {.contract = Contract::kAtomic, .durable = create});
    setup.bounds.ops = kAll;
    setup.bounds.max_files = 2;
    setup.bounds.names = {"a", "b"};
    setup.bounds.max_file_size = 1;
    setup.bounds.write_sizes = {1};
    const auto check = make_disk_check(setup);
    ASSERT_TRUE(check);
    SearchOptions options;
    options.bounds.depth = 3;
    const FindingBits found = catalogued_search(**check, options).findings;
    EXPECT_EQ(found, when == When::kThrough ? 0u : bit(FindingKind::kNotAllowed));
  }
}

}  // namespace
}  // namespace sisyfs::durable_calls_test
