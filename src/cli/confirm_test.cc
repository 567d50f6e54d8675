#include "cli/confirm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sisyfs::cli::confirm_test {
namespace {

using ::testing::HasSubstr;

// A check that shows what it is told to.
class Showing : public Check {
 public:
  explicit Showing(Replayed replayed) : replayed_(std::move(replayed)) {}
  Status accepts(const SearchOptions&) const override { return {}; }
  SearchResult search(const SearchOptions&, const ProgressFn&) const override { return {}; }
  const KindTable& kinds() const override { return kinds_; }
  using Check::find_traces;
  FoundTraces find_traces(const SearchOptions&, FindingBits, const ProgressFn&) const override { return {}; }
  Result<std::vector<Step>> steps(const Trace&) const override { return std::vector<Step>(); }
  Replayed replay(std::span<const Step>) const override { return replayed_; }
  std::span<const MarkInfo> marks() const override { return {}; }

 private:
  Replayed replayed_;
  KindTable kinds_{{FindingKind::kLostBlock, FindingKind::kDoublePointer}};
};

Replayed showing(std::vector<FindingKind> kinds) {
  Replayed replayed;
  replayed.story.findings = std::move(kinds);
  return replayed;
}
Replayed impossible(std::string why) {
  Replayed replayed;
  replayed.cannot_happen = std::move(why);
  return replayed;
}

Finding lost_block() {
  Finding finding;
  finding.kind = FindingKind::kLostBlock;
  return finding;
}

// A target that is made anew shows these, one after the other.
Confirmed confirmed_by(std::vector<Replayed> answers) {
  size_t made = 0;
  const Result<Confirmed> confirmed =
      confirm(lost_block(), static_cast<uint32_t>(answers.size()), [&]() -> Result<std::unique_ptr<Check>> {
        return std::unique_ptr<Check>(std::make_unique<Showing>(answers[made++]));
      });
  EXPECT_TRUE(confirmed);
  EXPECT_EQ(made, answers.size()) << "each time anew";
  return *confirmed;
}

TEST(ConfirmTest, EachReplayCounts) {
  const Replayed lost = showing({FindingKind::kLostBlock});
  const Confirmed all = confirmed_by({lost, lost, lost});
  EXPECT_EQ(all.times, 3u);
  EXPECT_EQ(all.of, 3u);
  EXPECT_EQ(all.differs, "");
}

TEST(ConfirmTest, WhatHappenedInsteadIsKeptOfTheFirstTime) {
  const Replayed lost = showing({FindingKind::kLostBlock});
  const Confirmed some =
      confirmed_by({lost, showing({FindingKind::kDoublePointer}), impossible("step 2 answers EIO"), lost});
  EXPECT_EQ(some.times, 2u);
  EXPECT_EQ(some.of, 4u);
  EXPECT_EQ(some.differs, "double-pointer happened instead");
  EXPECT_EQ(confirmed_by({impossible("step 2 answers EIO")}).differs, "step 2 answers EIO");
  EXPECT_EQ(confirmed_by({showing({})}).differs, "no promise was broken");
}

TEST(ConfirmTest, ATargetThatCannotBeMadeIsAnError) {
  const Result<Confirmed> confirmed =
      confirm(lost_block(), 1, []() -> Result<std::unique_ptr<Check>> { return system_error("no kernel"); });
  ASSERT_FALSE(confirmed);
  EXPECT_EQ(confirmed.error().message, "no kernel");
}

TEST(ConfirmTest, OnlyTargetsThatWantItAreConfirmed) {
  std::vector<ToldFinding> findings(1);
  findings[0].finding = lost_block();
  findings[0].finding.setup.target = "journal";
  EXPECT_TRUE(confirm_all(findings, std::nullopt));
  EXPECT_FALSE(findings[0].confirmed);
  EXPECT_TRUE(confirm_all(findings, 2));
  ASSERT_TRUE(findings[0].confirmed);
  EXPECT_EQ(findings[0].confirmed->of, 2u);
  EXPECT_EQ(findings[0].confirmed->times, 0u) << "a finding without steps does not happen";
}

TEST(ConfirmTest, TheFlagTakesANumber) {
  EXPECT_FALSE(*parse_confirm(""));
  EXPECT_EQ(**parse_confirm("0"), 0u);
  EXPECT_EQ(**parse_confirm("5"), 5u);
  for (const char* wrong : {"-1", "x", "1001"}) EXPECT_FALSE(parse_confirm(wrong)) << wrong;
  EXPECT_THAT(parse_confirm("1001").error().message, HasSubstr("from 0 to 1000"));
}

}  // namespace
}  // namespace sisyfs::cli::confirm_test
