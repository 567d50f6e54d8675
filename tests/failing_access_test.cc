// Failing disk accesses, one on each path: which answers and effects of an op are allowed then.
#include <gtest/gtest.h>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "machine/marks.h"
#include "models/journal/check.h"
#include "models/mapping/check.h"

namespace sisyfs::failing_access_test {
namespace {

using Settings = std::vector<std::string>;

SearchResult search(DiskSetup setup, uint32_t depth, uint32_t failures) {
  setup.failures.most = failures;
  const Result<std::unique_ptr<Check>> check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  options.threads = 2;
  return catalogued_search(**check, options);
}

DiskSetup journal_setup(const Settings& settings) {
  const Result<Options> options = Options::parse(journal::option_specs(), settings);
  EXPECT_TRUE(options);
  Result<DiskSetup> setup = journal::setup_of(*options);
  EXPECT_TRUE(setup);
  return *std::move(setup);
}

DiskSetup link_setup() {
  const Result<Options> options =
      Options::parse(mapping::option_specs(), Settings{"via=disk", "files=2", "blocks=3"});
  EXPECT_TRUE(options);
  return mapping::disk_setup_of(mapping::Model::kLink, *options);
}

TEST(FailingAccessTest, TheRightJournalAnswersWithAnErrorAndChangesNothing) {
  for (const char* mode : {"mode=ordered", "mode=writeback", "mode=data"}) {
    const SearchResult result = search(journal_setup({mode}), 4, 1);
    EXPECT_EQ(result.findings, 0u) << mode;
    EXPECT_NE(result.marks & kAccessFailed, 0u) << mode;
  }
  EXPECT_EQ(search(journal_setup({"links=on", "handles=on", "impossible=on"}), 3, 1).findings, 0u);
  EXPECT_EQ(search(journal_setup({"crash=lazy", "nesting=1"}), 3, 1).findings, 0u);
  EXPECT_EQ(search(journal_setup({}), 3, 2).findings, 0u);
}

TEST(FailingAccessTest, AnErrorThatIsTakenForAnEmptyDirectoryIsFound) {
  EXPECT_EQ(search(journal_setup({"lookup_error=absent"}), 3, 1).findings, bit(FindingKind::kHiddenError));
  EXPECT_EQ(search(journal_setup({"lookup_error=absent"}), 3, 0).findings, 0u) << "it takes a failure";
}

// An op that was refused because the disk failed may have been done all the same, if its record was on the
// disk by then: here each op commits.
TEST(FailingAccessTest, WhatWasRefusedMayComeBackAfterAPowerCut) {
  const SearchResult result = search(journal_setup({"sync_mount=on", "files=1", "dirs=0"}), 2, 1);
  EXPECT_EQ(result.findings, 0u);
  EXPECT_NE(result.marks & kAccessFailed, 0u);
}

// The file-mapping model writes to its tables as it goes, and promises nothing about a disk that fails.
TEST(FailingAccessTest, AnOpThatFailsAndHasChangedSomethingIsFound) {
  EXPECT_NE(search(link_setup(), 1, 1).findings & bit(FindingKind::kFailedChange), 0u);
  EXPECT_EQ(search(link_setup(), 1, 0).findings, 0u);
}

// What was found is replayed with the same access failing, and told.
TEST(FailingAccessTest, TheStorySaysWhichAccessFailed) {
  DiskSetup setup = journal_setup({"lookup_error=absent"});
  setup.failures.most = 1;
  const Result<std::unique_ptr<Check>> check = make_disk_check(std::move(setup));
  ASSERT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit(FindingKind::kHiddenError)).traces;
  ASSERT_EQ(found.size(), 1u);
  const Result<Story> story = (*check)->tell(found[0].trace);
  ASSERT_TRUE(story);
  ASSERT_FALSE(story->steps.empty());
  EXPECT_EQ(catalogue_bits(story->findings), bit(FindingKind::kHiddenError));
  EXPECT_NE(story->steps.back().text.find("to the disk fails"), std::string::npos)
      << story->steps.back().text;
}

}  // namespace
}  // namespace sisyfs::failing_access_test
