// How many instances of a target a check makes: one for each worker and no more. An instance may be a booted
// kernel.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "finding/disk_check.h"
#include "judge/workload_options.h"
#include "models/journal/check.h"
#include "models/verifs/check.h"

namespace sisyfs::target_instances_test {
namespace {

// Counts the instances that are made of this kind.
void count_instances(TargetKind& kind, std::atomic<int>& made) {
  kind.make = [make = kind.make, &made] {
    ++made;
    return make();
  };
}

// Instances after the check is made, and after a search.
struct Instances {
  int by_check = 0, by_search = 0;
};

Instances instances_of(DiskSetup setup, unsigned threads, uint32_t depth) {
  std::atomic<int> made = 0;
  count_instances(setup.kind, made);
  const Result<std::unique_ptr<Check>> check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  Instances out{.by_check = made};
  EXPECT_FALSE((*check)->device().empty() && (*check)->marks().empty());
  SearchOptions options;
  options.bounds.depth = depth;
  options.threads = threads;
  EXPECT_GT((*check)->search(options, {}).states, 10u);
  out.by_search = made;
  return out;
}

DiskSetup journal_setup() {
  const Result<Options> options = Options::parse(journal::option_specs(), {"device=torn", "crash=prefixes"});
  EXPECT_TRUE(options);
  const Result<DiskSetup> setup = journal::setup_of(*options);
  EXPECT_TRUE(setup);
  return *setup;
}

DiskSetup verifs_setup() {
  const Result<Options> options = Options::parse(verifs::option_specs(verifs::Version::kFirst), {});
  EXPECT_TRUE(options);
  return verifs::setup_of(verifs::Version::kFirst, *options);
}

TEST(TargetInstancesTest, ASearchOnOneThreadMakesOneInstance) {
  for (const DiskSetup& setup : {journal_setup(), verifs_setup()}) {
    const Instances made = instances_of(setup, 1, 2);
    EXPECT_EQ(made.by_check, 1) << "it finds the initial state";
    EXPECT_EQ(made.by_search, 1);
  }
}

TEST(TargetInstancesTest, ASearchOnTwoThreadsMakesAtMostTwo) {
  for (const DiskSetup& setup : {journal_setup(), verifs_setup()})
    EXPECT_LE(instances_of(setup, 2, 3).by_search, 2);
}

TEST(TargetInstancesTest, OptionsAreReadWithoutAnInstance) {
  std::atomic<int> made = 0;
  DiskSetup setup = journal_setup();
  count_instances(setup.kind, made);
  const Result<Options> options = Options::parse(journal::option_specs(), {"device=torn"});
  ASSERT_TRUE(options);
  set_cuts(*options, setup);
  EXPECT_EQ(made, 0);
}

}  // namespace
}  // namespace sisyfs::target_instances_test
