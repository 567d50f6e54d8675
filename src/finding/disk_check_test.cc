#include "finding/disk_check.h"

#include <gtest/gtest.h>

#include <atomic>

#include "finding/catalogue_bits_for_test.h"
#include "machine/marks.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::disk_check_test {
namespace {

SearchResult search(DiskSetup setup, uint32_t depth = 3) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  return catalogued_search(**check, options);
}

TEST(DiskCheckTest, ARightTargetHasNoFindings) {
  for (const bool lazy : {false, true}) {
    for (const bool hint : {false, true}) {
      DiskSetup setup =
          toy_setup({.hint = hint, .reads_hint = hint, .has_check = hint, .problem = ToyProblem::kHarmless});
      setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kRemount);
      setup.bounds.impossible = true;
      setup.cuts.lazy = lazy;
      setup.cuts.nesting = 1;
      setup.failures.most = 1;
      const SearchResult result = search(setup);
      EXPECT_EQ(result.findings, 0u) << lazy << hint;
      const uint32_t reached = kPowerCutInOp | kRefused | kCutInRecovery | kAccessFailed | kOfTarget;
      EXPECT_EQ(result.marks & reached, reached) << lazy << hint;
      EXPECT_EQ((result.marks & kFsckRepaired) != 0, hint) << lazy;
      EXPECT_EQ(result.left_out, 0u);
    }
  }
}

TEST(DiskCheckTest, CallsOfLinuxAreMissedWhereOneOfThemIsThere) {
  DiskSetup setup = toy_setup({});
  EXPECT_EQ((*make_disk_check(setup))->ops_after({})->absent.find("msync"), std::string::npos);
  setup.kind.ops = setup.kind.ops | OpSet(OpKind::kSyncfs);
  EXPECT_NE((*make_disk_check(setup))->ops_after({})->absent.find("msync"), std::string::npos);
}

TEST(DiskCheckTest, DirectWritesOfAScriptAreAligned) {
  DiskSetup setup = toy_setup({});
  setup.kind.ops = setup.kind.ops | OpSet(OpKind::kWrite, OpKind::kWriteDirect);
  const auto check = make_disk_check(setup);
  ASSERT_TRUE(check);
  const auto error_of = [&](std::string_view script) {
    const Status status = (*check)->follow(*Script::parse(script));
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(error_of("write /a 0 1"), "");
  EXPECT_NE(error_of("write_direct /a 0 1").find("offsets and lengths of write_direct are multiples of 512"),
            std::string::npos);
}

TEST(DiskCheckTest, EachMistakeIsFound) {
  const struct {
    ToyMistakes mistakes;
    FindingKind kind;
  } kCases[] = {
      {{.wrong_errno = true}, FindingKind::kWrongErrno},
      {{.wrong_effect = true}, FindingKind::kWrongEffect},
      {{.no_flush = true}, FindingKind::kNotAllowed},
      {{.no_mount = true}, FindingKind::kNotMountable},
      {{.bad_walk = true}, FindingKind::kNotWalkable},
      {{.no_unmount = true}, FindingKind::kNotUsable},
      {{.strays = true}, FindingKind::kOutOfRange},
      {{.fault = kLeaked}, FindingKind::kMemoryLeak},
      {{.fault = kHung}, FindingKind::kTargetHung},
      {{.mount_dies = true}, FindingKind::kTargetDied},
      {{.hint = true, .has_check = true, .problem = ToyProblem::kNamed}, FindingKind::kLostBlock},
      {{.hint = true, .has_check = true, .problem = ToyProblem::kUnnamed, .repairs = false},
       FindingKind::kNotClean},
  };
  for (const auto& c : kCases) {
    for (const bool lazy : {false, true}) {
      DiskSetup setup = toy_setup(c.mistakes);
      setup.cuts.lazy = lazy;
      setup.recovery.usability = c.kind == FindingKind::kNotUsable;
      EXPECT_EQ(search(setup).findings, bit(c.kind)) << info(c.kind).name << lazy;
    }
  }
}

TEST(DiskCheckTest, SomeMistakesTakeAFailureOrASecondPowerCut) {
  DiskSetup setup = toy_setup({.hides_error = true});
  EXPECT_EQ(search(setup).findings, 0u);
  setup.failures.most = 1;
  EXPECT_NE(search(setup).findings & bit(FindingKind::kHiddenError), 0u);
  for (const bool lazy : {false, true}) {
    setup = toy_setup({.early_clear = true});
    setup.cuts.lazy = lazy;
    EXPECT_EQ(search(setup).findings, 0u);
    setup.cuts.nesting = 1;
    EXPECT_NE(search(setup).findings & bit(FindingKind::kNotRepeatable), 0u) << lazy;
  }
}

TEST(DiskCheckTest, OnlyMarksThatCanBeReachedAreListed) {
  const auto marks = [](const DiskSetup& setup) {
    uint32_t bits = 0;
    const auto check = make_disk_check(setup);
    for (const MarkInfo& mark : (*check)->marks()) bits |= mark.bit;
    return bits;
  };
  DiskSetup setup = toy_setup();
  EXPECT_EQ(marks(setup), kPowerCutInOp | kFsckRepaired | kOfTarget);
  setup.bounds.impossible = true;
  setup.cuts.nesting = 1;
  setup.failures.most = 1;
  EXPECT_EQ(marks(setup),
            kPowerCutInOp | kFsckRepaired | kRefused | kCutInRecovery | kAccessFailed | kOfTarget);
  setup.cuts.enabled = false;
  EXPECT_EQ(marks(setup) & kPowerCutInOp, 0u);
}

TEST(DiskCheckTest, TroubleOfTheHarnessIsToldAndEndsInNoVerdict) {
  DiskSetup setup = toy_setup();
  EXPECT_FALSE(search(setup).trouble);
  setup.trouble = [] { return std::optional<std::string>("it is broken"); };
  const SearchResult result = search(setup);
  EXPECT_EQ(result.stopped, Stop::kHarness);
  ASSERT_TRUE(result.trouble);
  EXPECT_EQ(result.trouble->message, "it is broken");
}

// Story: a kernel that did not do the same again was told of after an hour, at the end of the search.
TEST(DiskCheckTest, TroubleEndsTheSearchAtOnce) {
  DiskSetup setup = toy_setup();
  constexpr uint32_t kDepth = 6;
  const SearchResult whole = search(setup, kDepth);
  std::atomic<bool> broken{false};
  setup.trouble = [&] { return broken ? std::optional<std::string>("it is broken") : std::nullopt; };
  EXPECT_EQ(search(setup, kDepth).transitions, whole.transitions);
  broken = true;
  const SearchResult ended = search(setup, kDepth);
  EXPECT_EQ(ended.stopped, Stop::kHarness);
  EXPECT_LT(ended.transitions, whole.transitions);
}

// What is replayed while the target is in trouble shows nothing.
TEST(DiskCheckTest, AReplayInTroubleSaysSo) {
  DiskSetup setup = toy_setup();
  setup.trouble = [] { return std::optional<std::string>("it is broken"); };
  const auto check = make_disk_check(setup);
  ASSERT_TRUE(check);
  EXPECT_EQ((*check)->replay({}).cannot_happen, "it is broken");
}

TEST(DiskCheckTest, ASearchByShapeProvesNothing) {
  const auto check = make_disk_check(toy_setup());
  SearchOptions options;
  options.bounds.depth = 3;
  EXPECT_EQ((*check)->search(options, {}).verdict, Verdict::kPass);
  for (const Dedup dedup : {Dedup::kShape, Dedup::kTree}) {
    options.dedup = dedup;
    EXPECT_EQ((*check)->search(options, {}).verdict, Verdict::kUnknown);
  }
}

TEST(DiskCheckTest, PersistedPowerCutsProveNothing) {
  DiskSetup setup = toy_setup();
  setup.cuts.persisted = true;
  const SearchResult right = search(setup);
  EXPECT_EQ(right.verdict, Verdict::kUnknown);
  EXPECT_FALSE(right.exhausted);
  EXPECT_GT(right.crash_states, 0u);
  EXPECT_GT(right.left_out, 0u);
  EXPECT_NE((*make_disk_check(setup))->cuts(), "");
  EXPECT_EQ((*make_disk_check(toy_setup()))->cuts(), "");
  setup = toy_setup({.no_flush = true});
  EXPECT_NE(search(setup).findings, 0u);
  setup.cuts.persisted = true;
  EXPECT_EQ(search(setup).findings, 0u) << "the mistake needs a lost write";
  setup.cuts.nesting = 1;
  EXPECT_FALSE(make_disk_check(setup));
}

// The toy knows two names and no directories.
TEST(DiskCheckTest, BoundedWorkloadsAreFollowedToTheirEnd) {
  const auto check = make_disk_check(toy_setup());
  EXPECT_FALSE((*check)->workloads());
  ASSERT_TRUE((*check)->follow_ace(2));
  ASSERT_TRUE((*check)->workloads());
  EXPECT_EQ((*check)->workloads()->core_ops, 2u);
  EXPECT_GT((*check)->workloads()->count, 4u);
  const SearchResult right = (*check)->search({}, {});
  EXPECT_EQ(right.verdict, Verdict::kPass);
  EXPECT_TRUE(right.exhausted);
  const auto wrong = make_disk_check(toy_setup({.no_flush = true}));
  ASSERT_TRUE((*wrong)->follow_ace(1));
  EXPECT_EQ(catalogued_search(**wrong, {}).findings, bit(FindingKind::kNotAllowed));
}

TEST(DiskCheckTest, AnIsolatedTargetIsSearchedByOneThread) {
  SearchOptions options;
  options.threads = 4;
  DiskSetup setup = toy_setup();
  EXPECT_EQ((*make_disk_check(setup))->fitted(options).threads, 4u);
  setup.kind.isolation = Isolation::kProcess;
  EXPECT_EQ((*make_disk_check(setup))->fitted(options).threads, 1u);
}

TEST(DiskCheckTest, BoundsThatMakeNoSenseAreRefused) {
  DiskSetup setup = toy_setup();
  setup.kind.limits.fixed_names = {"a/b"};
  EXPECT_FALSE(make_disk_check(setup));
}

}  // namespace
}  // namespace sisyfs::disk_check_test
