#include "models/flash/check.h"

#include <gtest/gtest.h>

#include "explore/same_result_for_test.h"
#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "judge/catalogue.h"
#include "models/flash/core.h"
#include "models/flash/target.h"

namespace sisyfs::flash::check_test {
namespace {

using Settings = std::vector<std::string>;
constexpr const char* kRetiredText = flash::kMarkTexts[7];

std::unique_ptr<Check> check_with(const Settings& settings) {
  const Result<Options> options = Options::parse(option_specs(), settings);
  EXPECT_TRUE(options);
  auto check = make_check(*options);
  EXPECT_TRUE(check);
  return *std::move(check);
}

SearchResult search(const Settings& settings, uint32_t depth, unsigned threads = 2) {
  SearchOptions search;
  search.bounds.depth = depth;
  search.threads = threads;
  return catalogued_search(*check_with(settings), search);
}

Settings operator+(Settings a, const Settings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One file on two units of two pages: the third op cleans.
const Settings kNarrow = {"units=2", "pages=2", "inodes=1", "files=1"};

TEST(FlashCheckTest, TheRightModelIsClean) {
  EXPECT_EQ(search({}, 5).findings, 0u);
  EXPECT_EQ(search(kNarrow, 7).findings, 0u);
  EXPECT_EQ(search({"units=2", "pages=4"}, 5).findings, 0u);
  EXPECT_EQ(search({"impossible=on"}, 4).findings, 0u);
  EXPECT_EQ(search({"crash=whole"}, 5).findings, 0u);
}

struct Planted {
  Settings wrong;
  Settings settings;
  uint32_t depth;
  FindingKind finds;
  bool interruption;     // it is seen only where a program or erase is cut off in the middle
  FindingBits also = 0;  // findings that it has besides

  FindingBits all() const { return bit(finds) | also; }
};
const Planted kPlanted[] = {
    {{"checksum=off"}, {}, 2, FindingKind::kNotAllowed, true},
    {{"unreadable=end"}, {}, 2, FindingKind::kNotAllowed, true, bit(FindingKind::kNotUsable)},
    {{"clean=erase-first"}, kNarrow, 3, FindingKind::kNotAllowed, false},
    {{"keep_deleted=off"}, kNarrow, 4, FindingKind::kNotAllowed, true},
    {{"keep_deleted=off"}, {}, 3, FindingKind::kNotUsable, false},
    {{"erased=first"}, kNarrow, 3, FindingKind::kNotUsable, true},
};

TEST(FlashCheckTest, EachPlantedBugIsFoundByTheSearch) {
  for (const Planted& planted : kPlanted) {
    const Settings settings = planted.wrong + planted.settings;
    EXPECT_EQ(search(settings, planted.depth - 1).findings, 0u) << settings[0];
    EXPECT_EQ(search(settings, planted.depth).findings, planted.all()) << settings[0];
    EXPECT_EQ(search(planted.settings, planted.depth).findings, 0u) << settings[0];
  }
  const Settings half_erased = Settings{"erased=first"} + kNarrow;
  EXPECT_EQ(search(half_erased, 4).findings & bit(FindingKind::kFlashMisuse), 0u);
  EXPECT_NE(search(half_erased, 5).findings & bit(FindingKind::kFlashMisuse), 0u);
}

TEST(FlashCheckTest, WhatTakesAnInterruptionIsSilentWithoutOne) {
  for (const Planted& planted : kPlanted) {
    const Settings settings = planted.wrong + planted.settings + Settings{"crash=whole"};
    const uint32_t depth = planted.settings.empty() ? 5 : 9;
    EXPECT_EQ(search(settings, depth).findings == 0, planted.interruption) << settings[0];
  }
}

// Crash states that are told apart only where mount looks show the same, and so do power cuts in the mount.
class FlashWays : public testing::TestWithParam<Settings> {};

TEST_P(FlashWays, FindTheSame) {
  const Settings& more = GetParam();
  for (const Planted& planted : kPlanted) {
    const Settings settings = planted.wrong + planted.settings + more;
    EXPECT_EQ(search(settings, planted.depth).findings, planted.all()) << settings[0];
  }
}

TEST_P(FlashWays, AcceptTheRightModel) {
  const Settings& more = GetParam();
  EXPECT_EQ(search(more, 5).findings, 0u);
  EXPECT_EQ(search(kNarrow + more, 7).findings, 0u);
  EXPECT_EQ(search(Settings{"units=2", "pages=4"} + more, 5).findings, 0u);
}

const Settings kWays[] = {
    {"crash=lazy"}, {"nesting=1"}, {"nesting=1", "all_nested=on"}, {"crash=lazy", "nesting=1"}};
constexpr const char* kWayNames[] = {"Lazily", "Nested", "AllNested", "LazilyNested"};

INSTANTIATE_TEST_SUITE_P(Each, FlashWays, testing::ValuesIn(kWays),
                         [](const auto& info) { return kWayNames[info.index]; });

TEST(FlashCheckTest, AMisuseOfTheFlashIsToldWithItsPage) {
  const auto check = check_with(Settings{"erased=first"} + kNarrow);
  SearchOptions options;
  options.stop = StopRule::kFirst;
  options.watched = check->kinds().bit(FindingKind::kFlashMisuse);
  const std::vector<FoundTrace> traces = check->find_traces(options, check->search(options, {})).traces;
  ASSERT_EQ(traces.size(), 1u);
  const Result<Story> story = check->tell(traces[0].trace);
  ASSERT_TRUE(story);
  ASSERT_FALSE(story->steps.back().observed.empty());
  EXPECT_EQ(story->steps.back().observed[0].kind, FindingKind::kFlashMisuse);
  EXPECT_EQ(story->steps.back().observed[0].text, "programs page 1, which is not erased");
  EXPECT_EQ(story->steps.back().expected[0], "only erased pages are programmed");
}

// The right model, but its mount erases a page and not a unit.
class PartEraser : public Target, public SavesMemory {
 public:
  SavesMemory* saves_memory() override { return this; }
  int format(Media& disk) override { return right_->format(disk); }
  int mount(Media& disk) override {
    EXPECT_EQ(disk.discard(BlockAddress(0), BlockCount(1)), IoStatus::kMisuse);
    return right_->mount(disk);
  }
  int unmount() override { return right_->unmount(); }
  void power_cut() override { right_->power_cut(); }
  OpResult apply(const Op& op) override { return right_->apply(op); }
  Walk walk() override { return right_->walk(); }
  Snapshot save() const override { return right_->saves_memory()->save(); }
  void load(const Snapshot& snapshot, Media& disk) override { right_->saves_memory()->load(snapshot, disk); }

 private:
  std::unique_ptr<Target> right_ = kind_of(Config{}).make();
};

TEST(FlashCheckTest, AnEraseOfAPartOfAUnitIsFoundInAnOpAndInRecovery) {
  const Result<Options> options = Options::parse(option_specs(), {});
  ASSERT_TRUE(options);
  Result<DiskSetup> setup = setup_of(*options);
  ASSERT_TRUE(setup);
  setup->kind.make = [] { return std::make_unique<PartEraser>(); };
  const auto observed = [&](bool crashes) {
    setup->cuts.enabled = crashes;
    auto check = make_disk_check(*setup);
    EXPECT_TRUE(check);
    SearchOptions first;
    first.stop = StopRule::kFirst;
    const SearchResult result = (*check)->search(first, {});
    EXPECT_EQ(catalogue_bits(**check, result.findings), bit(FindingKind::kFlashMisuse));
    const Result<Story> story = (*check)->tell((*check)->find_traces(first, result).traces.at(0).trace);
    EXPECT_TRUE(story && !story->steps.back().observed.empty());
    return story->steps.back().observed.at(0).text;
  };
  EXPECT_EQ(observed(false), "erases 1 page from page 0 on, with erase units of 2 pages");
  EXPECT_EQ(observed(true), "recovery erases 1 page from page 0 on, with erase units of 2 pages");
}

TEST(FlashCheckTest, ThreadsChangeNothing) {
  for (const Settings& settings : {Settings{}, {"erased=first"}, {"units=2", "pages=4"}})
    expect_same(search(settings, 4, 1), search(settings, 4, 2));
}

// A clean run is only worth something if it went where mistakes are.
TEST(FlashCheckTest, RareThingsAreReachedWithinTheBound) {
  const Settings settings = {"units=2", "inodes=1", "files=2"};
  const auto check = check_with(settings);
  const SearchResult result = search(settings, 6);
  EXPECT_EQ(result.findings, 0u);
  for (const MarkInfo& mark : check->marks()) {
    // There is no fsck, and no unit is bad.
    const bool never = mark.says == "recovery repaired something" || mark.says == kRetiredText;
    EXPECT_EQ((result.marks & mark.bit) == 0, never) << mark.says;
  }
}

// --- NOR ------------------------------------------------------------------------------------------------

const Settings kNor = {"flash=nor"}, kTornBits = {"flash=nor", "torn_bits=on"};
const Settings kMarked = {"flash=nor", "commit=mark"};

TEST(FlashCheckTest, OnNorTheRightModelIsClean) {
  for (const Settings& nor : {kNor, kTornBits, kMarked, kMarked + Settings{"torn_bits=on"}}) {
    EXPECT_EQ(search(nor, 4).findings, 0u) << nor.back();
    EXPECT_EQ(search(nor + kNarrow, 4).findings, 0u) << nor.back();
  }
  for (const char* program : {"program=1", "program=32"})
    EXPECT_EQ(search(kMarked + Settings{program}, 3).findings, 0u) << program;
}

// The mark is cleared before the record is there. Nothing but NOR programs a page twice.
TEST(FlashCheckTest, AMarkThatComesFirstIsFoundOnNor) {
  const Settings wrong = {"flash=nor", "commit=mark-first"};
  EXPECT_EQ(search(wrong, 1).findings, bit(FindingKind::kNotAllowed));
  EXPECT_EQ(search(kMarked, 1).findings, 0u);
  EXPECT_EQ(search(wrong + Settings{"crash=lazy"}, 1).findings, bit(FindingKind::kNotAllowed));
  const Result<Options> nand = Options::parse(option_specs(), {"commit=mark-first"});
  ASSERT_TRUE(nand);
  const auto check = make_check(*nand);
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().message, "commit=mark programs a page twice, which takes flash=nor");
}

// A page that was programmed in half is a page that can be read, so who trusts it is found on NOR too.
TEST(FlashCheckTest, WithoutAChecksumNorIsNoBetter) {
  const Settings wrong = kNor + Settings{"checksum=off"};
  EXPECT_EQ(search(wrong, 2).findings & bit(FindingKind::kNotAllowed), bit(FindingKind::kNotAllowed));
}

TEST(FlashCheckTest, AProgramOfNorThatWasCutOffIsToldWithItsByte) {
  const auto check = check_with({"flash=nor", "commit=mark-first"});
  SearchOptions options;
  options.stop = StopRule::kFirst;
  const std::vector<FoundTrace> traces = check->find_traces(options, check->search(options, {})).traces;
  ASSERT_EQ(traces.size(), 1u);
  const Result<Story> story = check->tell(traces[0].trace);
  ASSERT_TRUE(story);
  EXPECT_NE(story->steps.back().text.find("was cut off at byte "), std::string::npos)
      << story->steps.back().text;
}

// --- bad units ------------------------------------------------------------------------------------------

const Settings kBad[] = {{"erase_cycles=2"},
                         {"erase_cycles=2", "bad_unit=program-error"},
                         {"erase_cycles=2", "bad_unit=erase-noop", "verify=on"},
                         {"erase_cycles=2", "bad_unit=program-noop", "verify=on"},
                         {"bad_units=1"},
                         {"bad_units=0", "bad_unit=program-error"},
                         {"units=4", "inodes=4", "bad_units=0", "bad_unit=program-error"},
                         {"flash=nor", "erase_cycles=2"}};

TEST(FlashCheckTest, TheRightModelWorksOnWithBadUnits) {
  for (const Settings& bad : kBad) {
    const auto check = check_with(bad);
    const SearchResult result = search(bad, 5);
    EXPECT_EQ(result.findings, 0u) << bad[0] << " " << bad.back();
    for (const MarkInfo& mark : check->marks())
      EXPECT_TRUE(mark.says != kRetiredText || (result.marks & mark.bit) != 0) << bad[0] << " " << bad.back();
  }
}

// The wear of a unit is decided like a page, and erases of a recovery count.
TEST(FlashCheckTest, WithBadUnitsAllWaysFindTheSame) {
  for (const Settings& bad : kBad)
    for (const Settings& way : kWays) EXPECT_EQ(search(bad + way, 3).findings, 0u) << bad[0] << " " << way[0];
  const Settings wrong = {"refused=ignore-erase", "erase_cycles=2"};
  for (const Settings& way : kWays)
    EXPECT_EQ(search(wrong + way, 2).findings, search(wrong, 2).findings) << way[0];
}

struct Ignored {
  Settings wrong;
  uint32_t depth;
  FindingBits finds;
};
const Ignored kIgnored[] = {
    {{"refused=ignore-erase", "erase_cycles=1"}, 1, bit(FindingKind::kFlashMisuse)},
    {{"refused=ignore-program", "erase_cycles=1", "bad_unit=program-error"},
     1,
     bit(FindingKind::kWrongEffect)},
    {{"verify=off", "erase_cycles=2", "bad_unit=program-noop"},
     5,
     bit(FindingKind::kWrongEffect) | bit(FindingKind::kNotAllowed)},
};

TEST(FlashCheckTest, WhoIgnoresWhatAUnitRefusesIsFound) {
  for (const Ignored& ignored : kIgnored) {
    EXPECT_NE(search(ignored.wrong, ignored.depth).findings & ignored.finds, 0u) << ignored.wrong[0];
    const Settings right(ignored.wrong.begin() + 1, ignored.wrong.end());
    EXPECT_EQ(search(right + Settings{"verify=on"}, 4).findings, 0u) << ignored.wrong[0];
  }
}

// Two states that differ in wear alone are two states; without the option nothing is counted.
TEST(FlashCheckTest, WearIsAPartOfTheStateOnlyWhereItIsCounted) {
  const uint64_t plain = search(kNarrow, 5).states;
  EXPECT_EQ(plain, 543u);
  EXPECT_GT(search(kNarrow + Settings{"erase_cycles=1000"}, 5).states, plain);
}

TEST(FlashCheckTest, SizesThatCannotBeAreRefused) {
  const auto error = [](const Settings& settings) {
    const Result<Options> options = Options::parse(option_specs(), settings);
    EXPECT_TRUE(options);
    const auto check = make_check(*options);
    return check ? std::string() : check.error().message;
  };
  EXPECT_EQ(error({"units=2", "pages=2", "inodes=2"}), "inodes is at most 1 with 2 units of 2 pages");
  EXPECT_EQ(error({"units=2", "pages=3", "inodes=2"}), "");
}

}  // namespace
}  // namespace sisyfs::flash::check_test
