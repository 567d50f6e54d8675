#include "crash/files/file_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace sisyfs::file_log_test {
namespace {

using testing::ElementsAre;

FilePageRef page_of(char letter) {
  auto page = std::make_shared<FilePage>();
  page->fill(static_cast<std::byte>(letter));
  return page;
}

FileEvent write_of(FileId file) {
  FileEvent event;
  event.object = file;
  return event;
}

TEST(FileContentsTest, EqualPagesHaveOneNumberAndZerosHaveNumberZero) {
  FileContents contents;
  const uint64_t a = contents.page(page_of('a')), b = contents.page(page_of('b'));
  EXPECT_NE(a, b);
  EXPECT_EQ(contents.page(page_of('a')), a);
  EXPECT_EQ(contents.page(nullptr), 0U);
  EXPECT_EQ(contents.page(page_of('\0')), 0U);
  EXPECT_EQ(*contents.page_of(b), *page_of('b'));
  EXPECT_EQ(contents.page_of(0), nullptr);
}

TEST(FileContentsTest, GarbageIsAPageThatIsNeitherZerosNorWritten) {
  FileContents contents;
  ASSERT_NE(contents.page_of(FileContents::kGarbagePage), nullptr);
  const FilePage& garbage = *contents.page_of(FileContents::kGarbagePage);
  EXPECT_EQ(std::count(garbage.begin(), garbage.end(), std::byte{0}), 0);
  EXPECT_NE(contents.page(page_of('a')), FileContents::kGarbagePage);
}

TEST(FileContentsTest, TextsHaveNumbersAndNoTextHasZero) {
  FileContents contents;
  const uint64_t one = contents.text("one"), two = contents.text("two");
  EXPECT_NE(one, 0U);
  EXPECT_NE(one, two);
  EXPECT_EQ(contents.text("one"), one);
  EXPECT_EQ(contents.text_of(two), "two");
}

TEST(FileLogTest, SlotBeginsWithItsValueAtTheStart) {
  FileLog log;
  const SlotId slot = log.slot({SlotKind::kSize, 7, 0, ""}, 100);
  EXPECT_EQ(log.slot({SlotKind::kSize, 7, 0, ""}, 200), slot);
  ASSERT_EQ(log.versions(slot).size(), 1U);
  EXPECT_EQ(log.versions(slot)[0].event, kAtStart);
  EXPECT_EQ(log.versions(slot)[0].value, 100U);
  ASSERT_NE(log.find({SlotKind::kSize, 7, 0, ""}), nullptr);
  EXPECT_EQ(*log.find({SlotKind::kSize, 7, 0, ""}), slot);
  EXPECT_EQ(log.find({SlotKind::kSize, 8, 0, ""}), nullptr);
}

TEST(FileLogTest, SlotsOfAnObjectAreTold) {
  FileLog log;
  const SlotId a = log.slot({SlotKind::kEntry, kRootFile, 0, "a"}, kNoFile);
  const SlotId size = log.slot({SlotKind::kSize, 2, 0, ""}, 0);
  const SlotId b = log.slot({SlotKind::kEntry, kRootFile, 0, "b"}, kNoFile);
  const SlotId second = log.slot({SlotKind::kPage, 2, 1, ""}, 0);
  EXPECT_THAT(log.slots_of(kRootFile), ElementsAre(a, b));
  EXPECT_THAT(log.slots_of(2), ElementsAre(size, second));
  EXPECT_TRUE(log.slots_of(3).empty());
  EXPECT_EQ(log.slots(), 4U);
  EXPECT_EQ(log.slot_of(b).name, "b");
}

TEST(FileLogTest, EachEventMakesAVersion) {
  FileLog log;
  const SlotId size = log.slot({SlotKind::kSize, 2, 0, ""}, 0);
  const EventId first = log.begin(write_of(2));
  log.set(size, 10);
  const EventId second = log.begin(write_of(2));
  log.set(size, 20);
  ASSERT_EQ(log.versions(size).size(), 3U);
  EXPECT_EQ(log.versions(size)[1].event, first);
  EXPECT_EQ(log.versions(size)[2].event, second);
  EXPECT_EQ(log.versions(size)[2].value, 20U);
  EXPECT_THAT(log.events()[first].steps, ElementsAre(FileStep{size, 1}));
  EXPECT_THAT(log.events()[second].steps, ElementsAre(FileStep{size, 2}));
}

TEST(FileLogTest, SecondChangeInOneEventTakesThePlaceOfTheFirst) {
  FileLog log;
  const SlotId size = log.slot({SlotKind::kSize, 2, 0, ""}, 0),
               page = log.slot({SlotKind::kPage, 2, 0, ""}, 0);
  log.begin(write_of(2));
  log.set(size, 10);
  log.set(page, 1);
  log.set(size, 20);
  ASSERT_EQ(log.versions(size).size(), 2U);
  EXPECT_EQ(log.versions(size)[1].value, 20U);
  EXPECT_THAT(log.events()[0].steps, ElementsAre(FileStep{size, 1}, FileStep{page, 1}));
}

}  // namespace
}  // namespace sisyfs::file_log_test
