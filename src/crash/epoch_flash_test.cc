#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "crash/crash_points.h"
#include "crash/crash_states.h"
#include "crash/lazy_states.h"

namespace sisyfs::epoch_flash_test {
namespace {

constexpr EnumerationBound kAll{.max_states = UINT64_MAX, .edge = 0};

DeviceModel nand() { return *DeviceModel::preset("nand"); }

// A flash as text, a letter for each half of a page: what is programmed there in full or in half, "." for
// erased, "!!" for a page that is unreadable.
std::string text_of(const Image& image) {
  std::string text;
  for (uint64_t i = 0; i < image.geometry().block_count.value; i++) {
    const Block* block = image.block(BlockAddress(i));
    for (size_t half = 0; half < 2; half++) {
      const std::byte b = block == nullptr ? std::byte{} : block->bytes()[half];
      text += !is_readable(block) ? '!' : b == kErased ? '.' : static_cast<char>(b);
    }
  }
  return text;
}

Image flash_of(std::string_view text, uint32_t erase_blocks) {
  Image image({2, BlockCount(text.size() / 2), erase_blocks});
  for (size_t i = 0; i < text.size(); i += 2) {
    std::vector<std::byte> page(2);
    for (size_t half = 0; half < 2; half++)
      page[half] = text[i + half] == '.' ? kErased : static_cast<std::byte>(text[i + half]);
    image.set(BlockAddress(i / 2), text[i] == '!' ? unreadable_block(2) : make_block(page));
  }
  return image;
}

std::set<std::string> disks_of(const Epoch& epoch) {
  std::set<std::string> disks;
  CrashStates states(epoch, kAll);
  while (CrashState* state = states.next()) {
    EXPECT_EQ(state->digest(), state->image().digest());
    disks.insert(text_of(state->image()));
  }
  return disks;
}

IoStatus program(Media& disk, uint64_t page, std::string_view halves) {
  return disk.write(BlockAddress(page), std::as_bytes(std::span(halves)));
}

// All that a cut during the log of a disk may leave.
std::set<std::string> cuts_of(const Media& disk, const DeviceModel& model = nand()) {
  std::set<std::string> disks = {text_of(disk.state().durable)};  // there may be no crash point
  CrashPoints points(model, disk.state());
  while (const CrashPoint* point = points.next()) disks.merge(disks_of(point->epoch));
  EXPECT_EQ(points.settled().durable, disk.state().current) << "raw flash has no cache";
  return disks;
}

TEST(EpochFlashTest, AnInterruptedProgramLeavesThePageHalfProgrammedOrUnreadable) {
  Media disk(flash_of("........", 2));
  ASSERT_EQ(program(disk, 1, "abcd"), IoStatus::kOk);
  EXPECT_EQ(cuts_of(disk), (std::set<std::string>{
                               "........",                          // not begun
                               "..a.....", "..!!....", "..ab....",  // the first page
                               "..abc...", "..ab!!..", "..abcd..",  // the second
                           }));
}

TEST(EpochFlashTest, AnInterruptedEraseLeavesEachPageOldUnreadableOrErased) {
  Media disk(flash_of("aabbccdd", 2));
  ASSERT_EQ(disk.discard(BlockAddress(2), BlockCount(2)), IoStatus::kOk);
  std::set<std::string> expected;
  for (const char* first : {"cc", "!!", ".."})
    for (const char* second : {"dd", "!!", ".."}) expected.insert(std::string("aabb") + first + second);
  EXPECT_EQ(cuts_of(disk), expected);
}

TEST(EpochFlashTest, EveryCombinationComesOnceAndEachStepChangesOnePage) {
  for (uint32_t pages = 1; pages <= DeviceModel::kErasePieces; pages++) {
    std::string text;
    for (uint32_t i = 0; i < pages; i++) text += "ab";
    Media disk(flash_of(text, pages));
    ASSERT_EQ(disk.discard(BlockAddress(0), BlockCount(pages)), IoStatus::kOk);
    std::vector<const Event*> events;
    Epoch epoch(nand(), disk.state().durable);
    epoch.add(*disk.state().log.events(events).back());
    uint64_t combinations = 1;
    for (uint32_t i = 0; i < pages; i++) combinations *= 3;
    EXPECT_EQ(epoch.count(), StateCount(combinations));
    EXPECT_EQ(disks_of(epoch).size(), combinations);
    for (const Epoch::Piece& piece : epoch.pieces()) EXPECT_EQ(piece.slot_count, 1u);
    epoch.settle();
    EXPECT_EQ(epoch.durable(), disk.state().current);
  }
}

TEST(EpochFlashTest, OfALargeUnitTheRunsOfPagesGoTogether) {
  Media disk(flash_of("aaaaaaaaaaaa", 6));
  ASSERT_EQ(disk.discard(BlockAddress(0), BlockCount(6)), IoStatus::kOk);
  const std::set<std::string> cuts = cuts_of(disk);
  EXPECT_EQ(cuts.size(), 81u);
  EXPECT_FALSE(cuts.contains("aa....!!!!.."));
  EXPECT_TRUE(cuts.contains("aa....!!aaaa"));
}

// What the words of the rules say, the slow way: one call after the other, each cut off at every stage.
std::set<std::string> plain_cuts(const Image& start, const std::vector<const Event*>& events) {
  std::set<std::string> disks;
  std::string disk = text_of(start);
  disks.insert(disk);
  const uint32_t unit = start.geometry().erase_blocks;
  for (const Event* event : events) {
    for (uint64_t i = 0; i < event->count.value && event->kind == EventKind::kWrite; i++) {
      const size_t at = 2 * (event->first.value + i);
      const std::string whole = {static_cast<char>(event->block(i)->bytes()[0]),
                                 static_cast<char>(event->block(i)->bytes()[1])};
      for (const std::string& content : {whole.substr(0, 1) + ".", std::string("!!"), whole})
        disks.insert(disk.replace(at, 2, content));
    }
    for (uint64_t i = 0; i < event->count.value && event->kind == EventKind::kDiscard; i += unit) {
      const size_t at = 2 * (event->first.value + i);
      std::set<std::string> partial = {disk};
      for (size_t page = 0; page < unit; page++) {
        std::set<std::string> more;
        for (std::string one : partial)
          for (const std::string& content :
               {disk.substr(at + 2 * page, 2), std::string("!!"), std::string("..")})
            more.insert(one.replace(at + 2 * page, 2, content));
        partial = more;
      }
      disks.merge(partial);
      disk.replace(at, 2 * unit, std::string(2 * unit, '.'));
    }
  }
  return disks;
}

// A flash of two units after a few random calls, none of them settled.
Media random_history(std::mt19937_64& random, uint32_t unit) {
  const uint64_t pages = 2 * uint64_t{unit};
  Media disk(flash_of(std::string(2 * pages, random() % 2 == 0 ? '.' : 'x'), unit));
  for (int call = 0; call < 6; call++) {
    if (random() % 3 == 0) {
      EXPECT_EQ(disk.discard(BlockAddress(unit * (random() % 2)), BlockCount(unit)), IoStatus::kOk);
    } else {
      const std::string halves = {static_cast<char>('a' + random() % 3),
                                  static_cast<char>('a' + random() % 3)};
      (void)program(disk, random() % pages, halves);  // a misuse has no effect
    }
  }
  return disk;
}

Epoch epoch_of(const Media& disk) {
  Epoch epoch(nand(), disk.state().durable);
  std::vector<const Event*> events;
  for (const Event* event : disk.state().log.events(events))
    if (event->changes_blocks()) epoch.add(*event);
  return epoch;
}

TEST(EpochFlashTest, AnyHistoryLeavesWhatThePlainRulesSay) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; round++) {
    const Media disk = random_history(random, 1 + random() % 3);
    const Image& start = disk.state().durable;
    std::vector<const Event*> events;
    EXPECT_EQ(cuts_of(disk), plain_cuts(start, disk.state().log.events(events)));
  }
}

// Told apart only as pages are read, in any order, the same disks are left; that the runs stand for each
// crash state once is asserted inside.
TEST(EpochFlashTest, LazilyTheSameDisksAreLeft) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 100; round++) {
    const Media disk = random_history(random, 1 + random() % 3);
    const Epoch epoch = epoch_of(disk);
    const uint64_t pages = disk.geometry().block_count.value, first = random() % pages;
    std::set<std::string> disks;
    LazyStates lazy(epoch);
    while (lazy.next()) {
      Image image(disk.geometry());
      for (uint64_t i = 0; i < pages; i++) {
        const BlockAddress page((first + i) % pages);
        image.set(page, BlockRef::share(lazy.block(page)));
      }
      disks.insert(text_of(image));  // more than once where an erase comes back to a content
    }
    EXPECT_EQ(disks, disks_of(epoch));
  }
}

TEST(EpochFlashTest, WhatACutLeftUndecidedComesBackFromItsLog) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 100; round++) {
    const Media disk = random_history(random, 1 + random() % 6);
    const Epoch epoch = epoch_of(disk);
    if (epoch.empty()) continue;
    const uint32_t length = epoch.chains()[0].length;
    const uint32_t least = static_cast<uint32_t>(random() % (length + 1));
    const Epoch::KeptRange known{least, least + static_cast<uint32_t>(random() % (length - least + 1))};
    Epoch undecided(nand(), disk.state().durable), again(undecided);
    epoch.narrow(std::span(&known, 1), undecided);
    again.restart(undecided.durable(), undecided.undecided_log());
    EXPECT_EQ(again.digest(), undecided.digest());
    EXPECT_EQ(again.count(), undecided.count());
    EXPECT_EQ(disks_of(again), disks_of(undecided));
    EXPECT_TRUE(again.pending_log().empty());
  }
}

// The same flash on a bench with a good power supply: a program or erase is there or is not.
TEST(EpochFlashTest, WithoutInterruptionsACutFallsBetweenTwoCalls) {
  DeviceModel whole = nand();
  whole.flash = false;
  Media disk(flash_of("aabb....", 2));
  ASSERT_EQ(program(disk, 2, "cc"), IoStatus::kOk);
  ASSERT_EQ(disk.discard(BlockAddress(0), BlockCount(2)), IoStatus::kOk);
  EXPECT_EQ(cuts_of(disk, whole), (std::set<std::string>{"aabb....", "aabbcc..", "....cc.."}));
}

TEST(EpochFlashTest, AWriteThatWasCutOffIsTorn) {
  Media disk(flash_of("....", 2));
  ASSERT_EQ(program(disk, 0, "ab"), IoStatus::kOk);
  CrashPoints points(nand(), disk.state());
  const CrashPoint* point = points.next();
  ASSERT_NE(point, nullptr);
  CrashState state(point->epoch);
  EXPECT_EQ(state.survival(0), Survival::kKept);
  state.keep(0, 1);
  EXPECT_EQ(state.survival(0), Survival::kTorn);
  state.keep(0, 0);
  EXPECT_EQ(state.survival(0), Survival::kLost);
}

}  // namespace
}  // namespace sisyfs::epoch_flash_test
