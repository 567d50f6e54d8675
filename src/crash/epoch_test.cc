#include "crash/epoch.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "crash/crash_states.h"
#include "crash/lazy_states.h"
#include "crash/plain_device_for_test.h"

namespace sisyfs::epoch_test {
namespace {

constexpr EnumerationBound kAll{.max_states = UINT64_MAX, .edge = 0};

std::set<PlainDisk> disks_of(const Epoch& epoch) {
  std::set<PlainDisk> disks;
  CrashStates states(epoch, kAll);
  while (CrashState* state = states.next()) disks.insert(plain(state->image()));
  return disks;
}

// The images that a reader of all blocks sees, in some order of reading.
std::set<PlainDisk> lazy_disks_of(const Epoch& epoch, uint64_t first) {
  std::set<PlainDisk> disks;
  const uint64_t blocks = epoch.durable().geometry().block_count.value;
  LazyStates lazy(epoch);
  while (lazy.next()) {
    Image image(epoch.durable().geometry());
    for (uint64_t i = 0; i < blocks; i++) {
      const BlockAddress address((first + i) % blocks);
      image.set(address, BlockRef::share(lazy.block(address)));
    }
    disks.insert(plain(image));
  }
  return disks;
}

// An epoch over two disks, and its plain twin.
struct TwoDisks {
  Epoch epoch;
  PlainMedia plain_media;
  Media media;
  bool through;

  explicit TwoDisks(const DeviceModel& model) : TwoDisks(model, two_disks_for_test(model)) {}
  TwoDisks(const DeviceModel& model, const Geometry& geometry)
      : epoch(model, Image(geometry)),
        plain_media(model, geometry),
        media{Image(geometry)},
        through(model.cache == WriteCache::kWriteThrough) {}

  const Event& last_event() { return *media.state().log.events(events).back(); }
  void feed(uint32_t disk, const RandomCall& call) {
    call.issue(media.disk(disk));
    if (call.kind == RandomCall::Kind::kFlush) {
      epoch.settle(disk);
      plain_media.flush(disk);
      return;
    }
    epoch.add(last_event());
    if (call.fua && !through) epoch.settle_last_write();
    plain_media.write(disk, call.first, call.bytes, call.fua && !through);
  }
  void feed(std::mt19937_64& random) {
    const uint32_t disk = random() % 2;
    feed(disk, RandomCall(random, media.geometry()));
  }
  void write(uint32_t disk, uint64_t first, PlainDisk bytes) {
    ASSERT_EQ(media.disk(disk).write(BlockAddress(first), std::as_bytes(std::span(bytes))), IoStatus::kOk);
    epoch.add(last_event());
    plain_media.write(disk, first, bytes, false);
  }

  std::vector<const Event*> events;
};

class EpochProperty : public testing::TestWithParam<DeviceModel> {};
INSTANTIATE_TEST_SUITE_P(Models, EpochProperty, testing::ValuesIn(models_for_test()));
INSTANTIATE_TEST_SUITE_P(Scattered, EpochProperty, testing::ValuesIn(scattered_models_for_test()));

TEST_P(EpochProperty, TwoDisksLeaveWhatThePlainDevicesLeaveEagerlyAndLazily) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 200; run++) {
    SCOPED_TRACE(testing::Message() << "run " << run);
    TwoDisks two(GetParam());
    for (int calls = 1 + random() % 7; calls > 0; calls--) two.feed(random);
    const std::set<PlainDisk> disks = disks_of(two.epoch);
    ASSERT_EQ(disks, two.plain_media.crash_disks());
    ASSERT_EQ(two.epoch.count(), StateCount(two.plain_media.count()));
    ASSERT_EQ(lazy_disks_of(two.epoch, random() % 4), disks);
  }
}

TEST_P(EpochProperty, WhatIsInDoubtOnTwoDisksComesBackFromItsLog) {
  std::mt19937_64 random(2);
  for (int run = 0; run < 200; run++) {
    TwoDisks two(GetParam());
    const bool cuts = !GetParam().scattered;
    for (int calls = 1 + random() % 7; calls > 0; calls--) {
      two.feed(random);
      if (cuts && random() % 4 == 0) two.epoch.freeze();
    }
    Epoch again(GetParam(), Image(two.epoch.durable().geometry()));
    again.restart(two.epoch.durable(), two.epoch.undecided_log());
    const Log pending = two.epoch.pending_log();
    std::vector<const Event*> events;
    for (const Event* event : pending.events(events)) again.add(*event, pending.base());
    ASSERT_EQ(again.digest(), two.epoch.digest());
    ASSERT_EQ(again.count(), two.epoch.count());
    ASSERT_EQ(again.frozen_pieces(), two.epoch.frozen_pieces());
    ASSERT_EQ(again.writes().size(), two.epoch.writes().size());
    for (size_t w = 0; w < again.writes().size(); w++) {
      ASSERT_EQ(again.writes()[w].serial, two.epoch.writes()[w].serial);
      ASSERT_EQ(again.writes()[w].disk, two.epoch.writes()[w].disk);
    }
  }
}

TEST_P(EpochProperty, EqualDigestsOfTwoDisksMeanEqualCrashStates) {
  std::mt19937_64 random(3);
  std::map<Digest, std::set<PlainDisk>> seen;
  int met_again = 0;
  for (int run = 0; run < 800; run++) {
    TwoDisks two(GetParam(),
                 {.block_size = 2, .block_count = two_disks_for_test(GetParam()).block_count, .disks = 2});
    for (int calls = 1 + random() % 2; calls > 0; calls--) two.feed(random);
    const auto [entry, fresh] = seen.emplace(two.epoch.digest(), disks_of(two.epoch));
    met_again += !fresh;
    ASSERT_EQ(entry->second, disks_of(two.epoch));
  }
  EXPECT_GT(met_again, 20);
}

TEST_P(EpochProperty, AFlushOfOneDiskSettlesNothingOnTheOther) {
  const Geometry geometry = two_disks_for_test(GetParam());
  TwoDisks two(GetParam(), geometry);
  two.write(0, 0, {1, 1});
  two.write(1, 0, {2, 2});
  two.write(0, 1, {3, 3});
  two.epoch.settle(0);
  const auto content = [&](uint64_t block) { return two.epoch.durable().block(BlockAddress(block)); };
  EXPECT_NE(content(0), nullptr);
  EXPECT_NE(content(1), nullptr);
  const uint64_t second = geometry.first_block_of(1).value;
  if (two.through) {
    EXPECT_NE(content(second), nullptr) << "it was durable when it returned";
    return;
  }
  EXPECT_EQ(content(second), nullptr);
  EXPECT_EQ(two.epoch.count(), StateCount(2));
  ASSERT_EQ(two.epoch.writes().size(), 1u);
  EXPECT_EQ(two.epoch.writes()[0].disk, 1u);
  EXPECT_EQ(two.epoch.writes()[0].serial, 1u);
  two.epoch.settle(1);
  EXPECT_TRUE(two.epoch.empty());
  EXPECT_EQ(two.epoch.durable(), two.media.state().current);
}

TEST(EpochTest, OrderIsKeptPerDiskUnlessWritesAreDurableAsTheyReturn) {
  DeviceModel ordered{.order = WriteOrder::kInOrder};
  TwoDisks two(ordered);
  two.write(0, 0, {1, 1});
  two.write(1, 0, {2, 2});
  two.write(0, 1, {3, 3});
  EXPECT_EQ(two.epoch.count(), StateCount(6)) << "prefixes of 2 writes and of 1 write";
  EXPECT_TRUE(disks_of(two.epoch).contains({0, 0, 0, 0, 2, 2, 0, 0})) << "only the second write";
  EXPECT_FALSE(disks_of(two.epoch).contains({0, 0, 3, 3, 2, 2, 0, 0})) << "the third without the first";

  ordered.cache = WriteCache::kWriteThrough;
  TwoDisks through(ordered);
  through.write(0, 0, {1, 1});
  through.write(1, 0, {2, 2});
  through.write(0, 1, {3, 3});
  EXPECT_EQ(through.epoch.count(), StateCount(4));
  EXPECT_FALSE(disks_of(through.epoch).contains({0, 0, 0, 0, 2, 2, 0, 0})) << "the first was durable by then";
}

TEST(EpochTest, AFuaWriteSettlesItsDiskAloneWhereOrderIsKept) {
  const DeviceModel ordered{.order = WriteOrder::kInOrder};
  TwoDisks two(ordered);
  two.write(0, 0, {1, 1});
  two.write(1, 0, {2, 2});
  two.write(0, 1, {3, 3});
  two.epoch.settle_last_write();
  EXPECT_EQ(disks_of(two.epoch), (std::set<PlainDisk>{{1, 1, 3, 3, 0, 0, 0, 0}, {1, 1, 3, 3, 2, 2, 0, 0}}));
}

// After a power cut the chains of both disks are undecided, and reading one disk decides nothing on the
// other.
TEST(EpochTest, ReadingOneDiskDecidesNothingOnTheOther) {
  for (const char* name : {"ordered", "torn", "disk", "scattered", "hostile"}) {
    const Geometry geometry{.block_size = 2, .block_count = BlockCount(8), .disks = 2};
    TwoDisks two(DeviceModel::preset(name)->fitted_to(geometry), geometry);
    two.write(0, 0, {1, 1});
    two.write(1, 0, {2, 2});
    LazyStates lazy(two.epoch);
    int runs = 0;
    while (lazy.next()) {
      (void)lazy.block(BlockAddress(0));
      EXPECT_EQ(lazy.stands_for(), StateCount(2)) << name;
      runs++;
    }
    EXPECT_EQ(runs, 2) << name;
  }
}

// Raw flash writes through: of two flashes a cut leaves the calls before it done, one interrupted, on
// whichever flash it is.
TEST(EpochTest, OnTwoRawFlashesOneCallIsInterrupted) {
  const Geometry geometry{2, BlockCount(4), 2, 2};
  const DeviceModel nand = *DeviceModel::preset("nand");
  Media media{Image(geometry)};
  Epoch epoch(nand, Image(geometry));
  std::vector<const Event*> events;
  for (const uint32_t disk : {1, 0}) {
    ASSERT_EQ(media.disk(disk).discard(BlockAddress(0), BlockCount(2)), IoStatus::kOk);
    epoch.add(*media.state().log.events(events).back());
  }
  EXPECT_EQ(epoch.count(), StateCount(1 + 8 + 8));
  EXPECT_EQ(lazy_disks_of(epoch, 1), disks_of(epoch));
  for (const PlainDisk& disk : disks_of(epoch)) {
    const bool second_erased = disk[4] == 0xFF && disk[6] == 0xFF;
    const bool first_touched = disk[0] != 0 || disk[2] != 0;
    EXPECT_TRUE(second_erased || !first_touched);
  }
  // The pieces of an erase are logged one by one, and belong to one write all the same.
  Epoch rest(nand, Image(geometry)), again = rest;
  const Epoch::KeptRange known{2, 12};
  epoch.narrow(std::span(&known, 1), rest);
  again.restart(rest.durable(), rest.undecided_log());
  EXPECT_EQ(again.digest(), rest.digest());
  ASSERT_EQ(again.writes().size(), 2u);
  EXPECT_EQ(again.writes()[0].serial, 0u);
  EXPECT_EQ(again.writes()[0].disk, 1u);
  EXPECT_EQ(again.writes()[0].first, BlockAddress(2));
  EXPECT_EQ(again.writes()[0].count, BlockCount(2));
  EXPECT_EQ(again.writes()[1].serial, 1u);
}

TEST(EpochTest, SerialNumbersSurviveAPowerCut) {
  const DeviceModel free{};
  TwoDisks two(free);
  two.write(0, 0, {1, 1});
  ASSERT_EQ(two.media.flush(), IoStatus::kOk);  // number 1, not told to the epoch
  two.write(1, 0, {2, 2});
  two.epoch.freeze();
  two.write(0, 1, {3, 3});
  const Log undecided = two.epoch.undecided_log(), pending = two.epoch.pending_log();
  std::vector<const Event*> events;
  undecided.events(events);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(undecided.serial_of(*events[0]), 0u);
  EXPECT_EQ(undecided.serial_of(*events[1]), 2u);
  EXPECT_EQ(events[1]->disk, 1u);
  EXPECT_EQ(events[2]->boundary.kind, BoundaryKind::kPowerCut);
  pending.events(events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(pending.serial_of(*events[0]), 3u);
}

TEST(EpochTest, ASettledPartOfAWriteKeepsItsSerialNumber) {
  constexpr Geometry geometry{2, BlockCount(4)};
  Epoch epoch(DeviceModel{}, Image(geometry));
  Media media(MediaState(Image(geometry), 90));
  std::vector<const Event*> events;
  const std::vector<uint8_t> three(6, 1), one(2, 2);
  ASSERT_EQ(media.write(BlockAddress(0), std::as_bytes(std::span(three))), IoStatus::kOk);
  epoch.add(*media.state().log.events(events).back(), media.state().log.base());
  ASSERT_EQ(media.write(BlockAddress(1), std::as_bytes(std::span(one)), {.fua = true}), IoStatus::kOk);
  epoch.add(*media.state().log.events(events).back(), media.state().log.base());
  epoch.settle_last_write();
  const Log pending = epoch.pending_log();
  pending.events(events);
  ASSERT_EQ(events.size(), 2u) << "two runs with a gap";
  EXPECT_TRUE(events[1]->tied_to_previous);
  EXPECT_EQ(pending.serial_of(*events[0]), 90u);
  EXPECT_EQ(pending.serial_of(*events[1]), 90u);
}

TEST(EpochTest, AUnitDoesNotLieOnTwoDisks) {
  const DeviceModel torn{.unit_bytes = 4, .tearing = true};
  EXPECT_TRUE(torn.check({.block_size = 2, .block_count = BlockCount(3)})) << "one disk may end with a part";
  EXPECT_TRUE(torn.check({.block_size = 2, .block_count = BlockCount(8), .disks = 2}));
  EXPECT_FALSE(torn.check({.block_size = 2, .block_count = BlockCount(6), .disks = 2}));
  EXPECT_FALSE(torn.check({.block_size = 2, .block_count = BlockCount(5), .disks = 2}));
}

}  // namespace
}  // namespace sisyfs::epoch_test
