#include "cli/campaign/campaign_findings.h"

#include <gtest/gtest.h>

namespace sisyfs::cli::campaign_findings_test {
namespace {

ToldFinding told(FindingKind kind, InjectedFailure failure = {}, std::vector<std::string> settings = {}) {
  ToldFinding one;
  one.finding.kind = kind;
  one.finding.setup = {"journal", std::move(settings)};
  one.finding.steps = {Step{.id = 1, .op = "create /a", .failure = failure, .cuts = {}}};
  return one;
}

const InjectedFailure kAccess{InjectedFailure::Kind::kDiskAccess, 1};

// Story: a call that failed with the disk and had been done all the same ended the campaign after a tenth of
// a second, and a directory that a power cut empties was not found.
TEST(CampaignFindingsTest, WhatNeedsAFailingCallIsMinorAndComesLast) {
  CampaignFindings found;
  EXPECT_FALSE(found.any());
  EXPECT_TRUE(found.keep(told(FindingKind::kFailedChange, kAccess), 2));
  EXPECT_TRUE(found.keep(told(FindingKind::kWrongErrno, {}, {"impossible=on", "crash=none"}), 3));
  EXPECT_TRUE(found.any());
  EXPECT_TRUE(found.grave().empty());
  EXPECT_EQ(found.first_minor_at(), 2);
  EXPECT_TRUE(found.keep(told(FindingKind::kNotAllowed, {}, {"impossible=on", "crash=none"}), 4));
  ASSERT_EQ(found.grave().size(), 1u);
  ASSERT_EQ(found.all().size(), 3u);
  EXPECT_EQ(found.all().front().finding.kind, FindingKind::kNotAllowed);
  found.drop_grave(1);
  EXPECT_EQ(found.all().size(), 2u);
}

TEST(CampaignFindingsTest, AMinorFindingDoesNotHideAGraveOneOfItsKind) {
  const KindTable kinds({FindingKind::kNotAllowed, FindingKind::kFailedChange});
  CampaignFindings found;
  (void)found.keep(told(FindingKind::kNotAllowed, kAccess), 1);
  EXPECT_EQ(found.known(kinds, false), 0u);
  EXPECT_EQ(found.known(kinds, true), kinds.bit_or_none(FindingKind::kNotAllowed));
  (void)found.keep(told(FindingKind::kNotAllowed), 1);
  EXPECT_EQ(found.known(kinds, false), kinds.bit_or_none(FindingKind::kNotAllowed));
  found.forget_grave_kinds();
  EXPECT_EQ(found.known(kinds, false), 0u);
}

TEST(CampaignFindingsTest, EqualFindingsAreKeptOnce) {
  CampaignFindings found;
  EXPECT_TRUE(found.keep(told(FindingKind::kNotAllowed), 1));
  EXPECT_FALSE(found.keep(told(FindingKind::kNotAllowed), 2));
  EXPECT_EQ(found.all().size(), 1u);
}

}  // namespace
}  // namespace sisyfs::cli::campaign_findings_test
