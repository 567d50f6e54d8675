#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "crash/crash_points.h"
#include "crash/crash_states.h"
#include "crash/lazy_states.h"
#include "disk/wear.h"

namespace sisyfs::epoch_nor_test {
namespace {

constexpr EnumerationBound kAll{.max_states = UINT64_MAX, .edge = 0};
constexpr size_t kPage = 4;

// Two units of two pages, NOR with this program unit; after so many erases a unit is bad, 0: never.
Geometry nor(uint32_t program_bytes, uint32_t cycles = 0) {
  return {.block_size = kPage,
          .block_count = BlockCount(4),
          .erase_blocks = 2,
          .flash = {.program_bytes = program_bytes, .erase_cycles = cycles, .units_go_bad = cycles != 0}};
}
DeviceModel device(bool torn_bits) {
  DeviceModel model = *DeviceModel::preset("nand");
  model.torn_bits = torn_bits;
  return model;
}

// All bytes, and behind them the erases of each unit where they are counted.
std::string content_of(const Image& image) {
  std::string text;
  for (const std::byte b : image.bytes()) text += static_cast<char>(b);
  for (uint64_t page = 0; image.geometry().flash.units_go_bad && page < 4; page += 2)
    text += static_cast<char>('0' + erases_of(image.block(image.geometry().wear_of(BlockAddress(page)))));
  return text;
}

std::set<std::string> disks_of(const Epoch& epoch) {
  std::set<std::string> disks;
  CrashStates states(epoch, kAll);
  while (CrashState* state = states.next()) {
    EXPECT_EQ(state->digest(), state->image().digest());
    disks.insert(content_of(state->image()));
  }
  return disks;
}

Epoch epoch_of(const Media& media, bool torn_bits) {
  Epoch epoch(device(torn_bits), media.state().durable);
  std::vector<const Event*> events;
  for (const Event* event : media.state().log.events(events))
    if (event->changes_blocks()) epoch.add(*event);
  return epoch;
}

Media flash_of(const Geometry& geometry, const std::string& bytes) {
  Image image(geometry);
  image.write(BlockAddress(0), std::as_bytes(std::span(bytes)));
  return Media(image);
}

IoStatus program(Media& media, uint64_t page, const std::string& bytes) {
  return media.write(BlockAddress(page), std::as_bytes(std::span(bytes)));
}

TEST(EpochNorTest, AProgramThatIsCutOffLeavesAPrefixOfItsUnits) {
  Media media = flash_of(nor(2), std::string(16, '\xff'));
  ASSERT_EQ(program(media, 1, "abcd"), IoStatus::kOk);
  const std::string rest(8, '\xff'), before(4, '\xff');
  EXPECT_EQ(disks_of(epoch_of(media, false)),
            (std::set<std::string>{before + "\xff\xff\xff\xff" + rest, before + "ab\xff\xff" + rest,
                                   before + "abcd" + rest}));
}

TEST(EpochNorTest, AUnitThatDoesNotChangeIsNoStage) {
  Media media = flash_of(nor(1), std::string(16, '\xff'));
  ASSERT_EQ(program(media, 0, "\xff\xff\xffz"), IoStatus::kOk);
  EXPECT_EQ(epoch_of(media, false).count(), StateCount(2));
  ASSERT_EQ(program(media, 0, "\xff\xff\xffz"), IoStatus::kOk);  // nothing changes at all
  EXPECT_EQ(epoch_of(media, false).count(), StateCount(2));
}

TEST(EpochNorTest, WithTornBitsAUnitMayBeHalfCleared) {
  Media media = flash_of(nor(1), std::string(16, '\xff'));
  ASSERT_EQ(program(media, 0, std::string("\x0f\xfe\xff\xff", 4)), IoStatus::kOk);
  const std::string rest(14, '\xff');
  EXPECT_EQ(disks_of(epoch_of(media, true)),
            (std::set<std::string>{"\xff\xff" + rest, "\xaf\xff" + rest, "\x0f\xff" + rest,
                                   "\x0f\xfe" + rest}));  // of one bit there is no half
}

TEST(EpochNorTest, AnEraseThatIsCutOffLeavesOldGarbageOrErasedPages) {
  Media media = flash_of(nor(1), std::string(16, '\0'));
  ASSERT_EQ(media.discard(BlockAddress(0), BlockCount(2)), IoStatus::kOk);
  std::set<std::string> expected;
  for (const char a : {'\0', '\x55', '\xff'})
    for (const char b : {'\0', '\x55', '\xff'})
      expected.insert(std::string(4, a) + std::string(4, b) + std::string(8, '\0'));
  EXPECT_EQ(disks_of(epoch_of(media, false)), expected);
}

TEST(EpochNorTest, WithTornBitsAnEraseClearsFirst) {
  Media media = flash_of(nor(1), std::string(16, '\x33'));
  ASSERT_EQ(media.discard(BlockAddress(0), BlockCount(2)), IoStatus::kOk);
  std::set<std::string> expected;
  for (const char a : {'\x33', '\x22', '\0', '\x55', '\xff'})
    for (const char b : {'\x33', '\x22', '\0', '\x55', '\xff'})
      expected.insert(std::string(4, a) + std::string(4, b) + std::string(8, '\x33'));
  EXPECT_EQ(disks_of(epoch_of(media, true)), expected);
}

TEST(EpochNorTest, AnEraseThatHasBegunCounts) {
  Media media = flash_of(nor(1, 5), std::string(16, 'a'));
  ASSERT_EQ(media.discard(BlockAddress(0), BlockCount(2)), IoStatus::kOk);
  const Epoch epoch = epoch_of(media, false);
  for (const std::string& disk : disks_of(epoch))
    EXPECT_EQ(disk.substr(16), disk.substr(0, 16) == std::string(16, 'a') ? "00" : "10");
  EXPECT_EQ(disks_of(epoch).size(), 9u);
}

// What the words of the rules say, the slow way: one call after the other, each cut off at every stage.
class Plain {
 public:
  Plain(const Geometry& geometry, bool torn_bits, const Image& start)
      : geometry_(geometry), torn_bits_(torn_bits), now_(content_of(start)), disks_{now_} {}

  void program(size_t page, const std::string& whole) {
    const size_t size = geometry_.flash.program_bytes, end = kPage * (page + 1);
    for (size_t at = kPage * page; at < end; at += size) {
      const std::string to = whole.substr(at % kPage, size);
      if (now_.compare(at, size, to) == 0) continue;
      if (torn_bits_) cut_at(at, half(now_.substr(at, size), to));
      now_.replace(at, size, to);
      disks_.insert(now_);
    }
  }
  void erase(size_t unit) {
    if (geometry_.flash.units_go_bad) ++now_[16 + unit];
    const size_t at = 2 * kPage * unit;
    const std::string blank(kPage, '\xff'), zeros(kPage, '\0');
    std::vector<std::string> contents[2];
    for (size_t p = 0; p < 2; ++p) {
      const std::string old = now_.substr(at + p * kPage, kPage);
      contents[p] = {old, half(torn_bits_ ? zeros : old, blank), blank};
      if (torn_bits_) contents[p].insert(contents[p].end(), {half(old, zeros), zeros});
    }
    // An erase that has left both pages alone has not begun.
    for (size_t a = 0; a < contents[0].size(); ++a)
      for (size_t b = 0; b < contents[1].size(); ++b)
        if (a + b != 0) cut_at(at, contents[0][a] + contents[1][b]);
    now_.replace(at, 2 * kPage, blank + blank);
  }
  std::set<std::string> disks() const { return disks_; }

 private:
  void cut_at(size_t at, const std::string& bytes) {
    std::string disk = now_;
    disks_.insert(disk.replace(at, bytes.size(), bytes));
  }
  // Each other bit that differs is changed.
  static std::string half(std::string from, const std::string& to) {
    unsigned changed = 0;
    for (size_t bit = 0; bit < 8 * from.size(); ++bit) {
      const auto mask = static_cast<char>(1u << bit % 8);
      if (((from[bit / 8] ^ to[bit / 8]) & mask) != 0 && changed++ % 2 == 0) from[bit / 8] ^= mask;
    }
    return from;
  }

  Geometry geometry_;
  bool torn_bits_;
  std::string now_;
  std::set<std::string> disks_;
};

struct History {
  Media media;
  Plain plain;
  bool torn_bits;
};

// A few random calls, none of them settled.
History random_history(std::mt19937_64& random) {
  const Geometry geometry = nor(1u << random() % 3, random() % 2 == 0 ? 0 : 9);
  const bool torn_bits = random() % 2 == 0;
  Media media = flash_of(geometry, std::string(16, random() % 2 == 0 ? '\xff' : 'x'));
  Plain plain(geometry, torn_bits, media.state().durable);
  for (int call = 0; call < 5; ++call) {
    if (random() % 3 == 0) {
      const uint64_t unit = random() % 2;
      EXPECT_EQ(media.discard(BlockAddress(2 * unit), BlockCount(2)), IoStatus::kOk);
      plain.erase(unit);
      continue;
    }
    const uint64_t page = random() % 4;
    std::string bytes(kPage, '\xff');
    for (char& b : bytes)
      if (random() % 3 != 0) b = static_cast<char>(random());
    EXPECT_EQ(program(media, page, bytes), IoStatus::kOk);
    plain.program(page, content_of(media.state().current).substr(kPage * page, kPage));
  }
  return {media, plain, torn_bits};
}

TEST(EpochNorTest, AnyHistoryLeavesWhatThePlainRulesSay) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const History history = random_history(random);
    EXPECT_EQ(disks_of(epoch_of(history.media, history.torn_bits)), history.plain.disks());
    CrashPoints points(device(history.torn_bits), history.media.state());
    while (points.next() != nullptr) {
    }
    EXPECT_EQ(points.settled().durable, history.media.state().current) << "raw flash has no cache";
  }
}

// Told apart only as pages are read, in any order, the same disks are left; that the runs stand for each
// crash state once, and that each run has read what it decided, is asserted inside.
TEST(EpochNorTest, LazilyTheSameDisksAreLeft) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 150; ++round) {
    const History history = random_history(random);
    const Epoch epoch = epoch_of(history.media, history.torn_bits);
    const uint64_t blocks = epoch.durable().geometry().stored_blocks(), first = random() % blocks;
    std::set<std::string> disks;
    LazyStates lazy(epoch);
    while (lazy.next()) {
      Image image(epoch.durable().geometry());
      for (uint64_t i = 0; i < blocks; ++i) {
        const BlockAddress address((first + i) % blocks);
        image.set(address, BlockRef::share(lazy.block(address)));
      }
      disks.insert(content_of(image));
    }
    EXPECT_EQ(disks, disks_of(epoch));
  }
}

TEST(EpochNorTest, WhatACutLeftUndecidedComesBackFromItsLog) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 150; ++round) {
    const History history = random_history(random);
    const Epoch epoch = epoch_of(history.media, history.torn_bits);
    if (epoch.empty()) continue;
    const uint32_t length = epoch.chains()[0].length;
    const auto least = static_cast<uint32_t>(random() % (length + 1));
    const Epoch::KeptRange known{least, least + static_cast<uint32_t>(random() % (length - least + 1))};
    Epoch undecided(device(history.torn_bits), history.media.state().durable), again(undecided);
    epoch.narrow(std::span(&known, 1), undecided);
    again.restart(undecided.durable(), undecided.undecided_log());
    EXPECT_EQ(again.digest(), undecided.digest());
    EXPECT_EQ(again.count(), undecided.count());
    EXPECT_EQ(disks_of(again), disks_of(undecided));
  }
}

// Where programs and erases are whole, a cut falls between two calls, and an erase counts with its effect.
TEST(EpochNorTest, WithoutInterruptionsWearGoesWithTheErase) {
  DeviceModel whole = device(false);
  whole.flash = false;
  Media media = flash_of(nor(1, 5), std::string(16, 'a'));
  ASSERT_EQ(media.discard(BlockAddress(0), BlockCount(2)), IoStatus::kOk);
  std::vector<const Event*> events;
  Epoch epoch(whole, media.state().durable);
  epoch.add(*media.state().log.events(events).back());
  EXPECT_EQ(disks_of(epoch),
            (std::set<std::string>{std::string(16, 'a') + "00", std::string(8, '\xff') + "aaaaaaaa10"}));
}

TEST(EpochNorTest, WhatDoesNotFitTheFlashIsRefused) {
  EXPECT_TRUE(device(true).check(nor(2)));
  EXPECT_FALSE(device(false).check(nor(3)));
  Geometry nand = nor(2);
  nand.flash = {};
  EXPECT_FALSE(device(true).check(nand));
  Geometry disk = nor(2);
  disk.erase_blocks = 0;
  EXPECT_FALSE(DeviceModel().check(disk));
}

}  // namespace
}  // namespace sisyfs::epoch_nor_test
