#include "disk/wear.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "disk/media.h"

namespace sisyfs::wear_test {
namespace {

// Two units of two pages of four bytes.
Geometry geometry(const FlashRules& rules) {
  return {.block_size = 4, .block_count = BlockCount(4), .erase_blocks = 2, .flash = rules};
}
FlashRules wearing(uint32_t cycles, BadUnit does) {
  return {.erase_cycles = cycles, .bad_unit = does, .units_go_bad = true};
}
constexpr FlashRules kNor{.program_bytes = 1};

IoStatus program(Media& media, uint64_t page, std::string_view bytes) {
  return media.write(BlockAddress(page), std::as_bytes(std::span(bytes)));
}
IoStatus erase(Media& media, uint64_t unit) { return media.discard(BlockAddress(2 * unit), BlockCount(2)); }
std::string page_of(Media& media, uint64_t page) {
  std::string bytes(4, '?');
  const IoStatus status = media.read(BlockAddress(page), std::as_writable_bytes(std::span(bytes)));
  return status == IoStatus::kOk ? bytes : "unreadable";
}
constexpr std::string_view kBlank = "\xff\xff\xff\xff";

TEST(WearTest, AUnitIsBadAfterItsErasesAndOthersAreNot) {
  Media media(Image(geometry(wearing(2, BadUnit::kRefusesErase))));
  EXPECT_EQ(erase(media, 0), IoStatus::kOk);
  EXPECT_FALSE(has_bad_unit(media.state().current));
  EXPECT_EQ(erase(media, 0), IoStatus::kOk);
  EXPECT_TRUE(has_bad_unit(media.state().current));
  EXPECT_EQ(program(media, 0, "abcd"), IoStatus::kOk);  // it refuses erases only
  const MediaState before = media.save();
  EXPECT_EQ(erase(media, 0), IoStatus::kIoError);
  EXPECT_EQ(media.state().digest(), before.digest());
  EXPECT_EQ(page_of(media, 0), "abcd");
  EXPECT_EQ(erase(media, 1), IoStatus::kOk);
  EXPECT_EQ(media.discard(BlockAddress(0), BlockCount(4)), IoStatus::kIoError);
}

TEST(WearTest, StatesThatDifferInWearAloneAreDifferent) {
  Media once(Image(geometry(wearing(3, BadUnit::kRefusesErase)))), twice(once.state());
  ASSERT_EQ(erase(once, 0), IoStatus::kOk);
  ASSERT_EQ(erase(twice, 0), IoStatus::kOk);
  ASSERT_EQ(erase(twice, 0), IoStatus::kOk);
  EXPECT_FALSE(once.state().current == twice.state().current);
  EXPECT_EQ(once.state().current.bytes(), twice.state().current.bytes());
  // Without the option nothing is counted.
  Media never(Image(geometry({})));
  ASSERT_EQ(erase(never, 0), IoStatus::kOk);
  const Image after = never.state().current;
  ASSERT_EQ(erase(never, 0), IoStatus::kOk);
  EXPECT_EQ(never.state().current, after);
}

TEST(WearTest, WearEndsWithTheUnit) {
  const Geometry shape = geometry(wearing(2, BadUnit::kRefusesProgram));
  BlockRef wear;
  for (int i = 0; i < 5; ++i) wear = wear_after_erase(shape, wear.get());
  EXPECT_EQ(erases_of(wear.get()), 2u);
  EXPECT_TRUE(is_bad(shape, wear.get()));
}

TEST(WearTest, UnitsMayBeBadFromTheStart) {
  const std::vector<uint32_t> units = {1};
  const Geometry shape = geometry(wearing(0, BadUnit::kRefusesProgram));
  Media media(with_bad_units(Image(shape), units));
  EXPECT_TRUE(has_bad_unit(media.state().current));
  for (const uint64_t unit : {0, 1}) ASSERT_EQ(erase(media, unit), IoStatus::kOk);
  EXPECT_EQ(program(media, 0, "abcd"), IoStatus::kOk);
  EXPECT_EQ(program(media, 2, "abcd"), IoStatus::kIoError);
  EXPECT_EQ(page_of(media, 2), kBlank);
}

TEST(WearTest, OfSeveralPagesThoseBeforeTheBadUnitAreProgrammed) {
  const std::vector<uint32_t> units = {1};
  Media media(with_bad_units(Image(geometry(wearing(0, BadUnit::kRefusesProgram))), units));
  for (const uint64_t unit : {0, 1}) ASSERT_EQ(erase(media, unit), IoStatus::kOk);
  EXPECT_EQ(program(media, 1, "abcdefgh"), IoStatus::kIoError);
  EXPECT_EQ(page_of(media, 1), "abcd");
  EXPECT_EQ(page_of(media, 2), kBlank);
}

TEST(WearTest, ABadUnitMayDoNothingAndSayNothing) {
  const std::vector<uint32_t> units = {0};
  Media media(with_bad_units(Image(geometry(wearing(0, BadUnit::kIgnoresProgram))), units));
  ASSERT_EQ(erase(media, 0), IoStatus::kOk);
  EXPECT_EQ(program(media, 0, "abcd"), IoStatus::kOk);
  EXPECT_EQ(page_of(media, 0), kBlank);

  Media erases(with_bad_units(Image(geometry(wearing(0, BadUnit::kIgnoresErase))), units));
  EXPECT_EQ(erase(erases, 0), IoStatus::kOk);
  EXPECT_EQ(page_of(erases, 0), std::string(4, '\0'));
  // Who was told that the page is erased has made no mistake.
  EXPECT_EQ(program(erases, 0, "abcd"), IoStatus::kOk);
  EXPECT_EQ(page_of(erases, 0), "unreadable");
  EXPECT_EQ(erases.state().log.misuses(), 0u);
}

TEST(WearTest, ALogThatIsAppliedAgainWearsAgain) {
  Media media(Image(geometry(wearing(3, BadUnit::kRefusesErase))));
  const Image start = media.state().current;
  ASSERT_EQ(erase(media, 1), IoStatus::kOk);
  ASSERT_EQ(erase(media, 1), IoStatus::kOk);
  Media again(start);
  again.redo(media.state().log);
  EXPECT_EQ(again.state().current, media.state().current);
}

TEST(NorTest, AProgramClearsBitsAndLeavesBytesAloneByFF) {
  Media media(Image(geometry(kNor)));
  ASSERT_EQ(erase(media, 0), IoStatus::kOk);
  EXPECT_EQ(program(media, 0, "a\xff\xff\xff"), IoStatus::kOk);
  EXPECT_EQ(program(media, 0, "\xff\xff\xffz"), IoStatus::kOk);
  EXPECT_EQ(page_of(media, 0), "a\xff\xffz");
  EXPECT_EQ(program(media, 0, "`\xff\xffz"), IoStatus::kOk);  // clears the lowest bit of 'a'
  EXPECT_EQ(page_of(media, 0), "`\xff\xffz");
  EXPECT_EQ(media.state().log.misuses(), 0u);
}

TEST(NorTest, ToAskForABitThatIsClearedIsAMistakeAndGivesBothAnded) {
  Media media(Image(geometry(kNor)));
  ASSERT_EQ(erase(media, 0), IoStatus::kOk);
  ASSERT_EQ(program(media, 0, "\x0f\xff\xff\xff"), IoStatus::kOk);
  EXPECT_EQ(program(media, 0, "\x33\xff\xff\xff"), IoStatus::kOk);
  EXPECT_EQ(page_of(media, 0), "\x03\xff\xff\xff");
  EXPECT_EQ(media.state().log.misuses(), 1u);
}

TEST(NorTest, NandIsProgrammedOnce) {
  Media media(Image(geometry({})));
  ASSERT_EQ(erase(media, 0), IoStatus::kOk);
  EXPECT_EQ(program(media, 0, "a\xff\xff\xff"), IoStatus::kOk);
  EXPECT_EQ(program(media, 0, "\xff\xff\xffz"), IoStatus::kMisuse);
  EXPECT_EQ(page_of(media, 0), "a\xff\xff\xff");
}

// A look-up of a known recovery must not miss that a program of NOR depends on what was there.
TEST(NorTest, AProgramReadsThePage) {
  Media media(Image(geometry(kNor)));
  FirstReads reads;
  reads.restart(BlockCount(media.geometry().stored_blocks()));
  media.watch(&reads);
  ASSERT_EQ(program(media, 3, "abcd"), IoStatus::kOk);
  ASSERT_EQ(reads.addresses().size(), 1u);
  EXPECT_EQ(reads.addresses()[0], BlockAddress(3));
}

}  // namespace
}  // namespace sisyfs::wear_test
