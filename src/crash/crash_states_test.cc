#include "crash/crash_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "crash/plain_device_for_test.h"

namespace sisyfs::crash_states_test {
namespace {

constexpr Geometry kSmall{2, BlockCount(6)};
constexpr EnumerationBound kAll{.max_states = UINT64_MAX, .edge = 0};

DeviceModel model_of(WriteOrder order, uint32_t unit_bytes) {
  return {
      .unit_bytes = unit_bytes, .order = order, .cache = WriteCache::kVolatile, .tearing = unit_bytes != 0};
}

// An epoch and its plain twin, fed with the same calls.
struct Twins {
  Epoch epoch;
  PlainDevice plain_device;
  Media disk;
  bool through;

  explicit Twins(const DeviceModel& model, const Geometry& geometry = kSmall)
      : epoch(model, Image(geometry)),
        plain_device(model, geometry),
        disk{Image(geometry)},
        through(model.cache == WriteCache::kWriteThrough) {}

  void feed(const RandomCall& call) {
    call.issue(disk);
    std::vector<const Event*> events;
    const Event& event = *disk.state().log.events(events).back();
    if (call.kind == RandomCall::Kind::kFlush) {
      epoch.settle();
      plain_device.flush();
      return;
    }
    epoch.add(event);
    if (call.fua && !through) epoch.settle_last_write();
    plain_device.write(call.first, call.bytes, call.fua && !through);
  }
};

std::set<PlainDisk> disks_of(const Epoch& epoch) {
  std::set<PlainDisk> disks;
  CrashStates states(epoch, kAll);
  while (CrashState* state = states.next()) disks.insert(plain(state->image()));
  return disks;
}

Event* new_write(Media& disk, uint64_t first, std::vector<uint8_t> bytes) {
  EXPECT_EQ(disk.write(BlockAddress(first), std::as_bytes(std::span(bytes))), IoStatus::kOk);
  std::vector<const Event*> events;
  return const_cast<Event*>(disk.state().log.events(events).back());
}

class CrashStatesProperty : public testing::TestWithParam<DeviceModel> {};
INSTANTIATE_TEST_SUITE_P(Models, CrashStatesProperty, testing::ValuesIn(models_for_test()));
INSTANTIATE_TEST_SUITE_P(Scattered, CrashStatesProperty, testing::ValuesIn(scattered_models_for_test()));

TEST_P(CrashStatesProperty, CrashStatesAreThoseOfThePlainDevice) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 300; run++) {
    Twins twins(GetParam());
    for (int calls = 1 + random() % 8; calls > 0; calls--) twins.feed(RandomCall(random, kSmall));
    SCOPED_TRACE(testing::Message() << "run " << run);

    CrashStates states(twins.epoch, kAll);
    std::set<PlainDisk> disks;
    std::set<std::vector<uint32_t>> names;
    uint64_t yielded = 0;
    while (CrashState* state = states.next()) {
      const Digest before_building = state->digest();
      if (yielded++ == 0) {
        ASSERT_EQ(state->image(), twins.disk.state().current) << "everything survived comes first";
      }
      ASSERT_EQ(state->image().digest(), before_building);
      disks.insert(plain(state->image()));
      names.emplace(state->kept().begin(), state->kept().end());
    }
    ASSERT_EQ(disks, twins.plain_device.crash_disks());
    ASSERT_EQ(StateCount(yielded), twins.epoch.count());
    ASSERT_EQ(yielded, twins.plain_device.count());
    ASSERT_EQ(names.size(), yielded) << "no state comes twice";
  }
}

TEST_P(CrashStatesProperty, EqualDigestsOfEpochsMeanEqualCrashStates) {
  constexpr Geometry tiny{2, BlockCount(2)};
  std::mt19937_64 random(2);
  std::map<Digest, std::set<PlainDisk>> seen;
  int met_again = 0;
  for (int run = 0; run < 800; run++) {
    Twins twins(GetParam(), tiny);
    for (int calls = 1 + random() % 3; calls > 0; calls--) twins.feed(RandomCall(random, tiny));
    const auto [entry, fresh] = seen.emplace(twins.epoch.digest(), disks_of(twins.epoch));
    met_again += !fresh;
    ASSERT_EQ(entry->second, disks_of(twins.epoch));
  }
  EXPECT_GT(met_again, 20);
}

TEST_P(CrashStatesProperty, APendingLogStandsForWhatIsInDoubt) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 200; run++) {
    Twins twins(GetParam());
    for (int calls = 1 + random() % 8; calls > 0; calls--) twins.feed(RandomCall(random, kSmall));
    const Log pending = twins.epoch.pending_log();
    std::vector<const Event*> events;
    Epoch again(GetParam(), twins.epoch.durable());
    for (const Event* event : pending.events(events)) again.add(*event);
    ASSERT_EQ(again.digest(), twins.epoch.digest());
    ASSERT_EQ(again.count(), twins.epoch.count());
    ASSERT_EQ(again.writes().size(), twins.epoch.writes().size());
  }
}

TEST_P(CrashStatesProperty, BeyondTheBoundExactlyTheEdgesAreYielded) {
  std::mt19937_64 random(4);
  for (int run = 0; run < 100; run++) {
    Twins twins(GetParam());
    for (int calls = 3 + random() % 5; calls > 0; calls--) twins.feed(RandomCall(random, kSmall));
    const uint32_t edge = random() % 4;
    std::set<std::vector<uint32_t>> expected;
    CrashStates all(twins.epoch, kAll);
    while (CrashState* state = all.next()) {
      const uint64_t lost = state->lost_pieces(), kept = twins.epoch.pieces().size() - lost;
      if (lost <= edge || kept <= edge) expected.emplace(state->kept().begin(), state->kept().end());
    }
    CrashStates edges(twins.epoch, {.max_states = 0, .edge = edge, .samples = 0});
    EXPECT_EQ(edges.complete(), StateCount(expected.size()) == twins.epoch.count());
    std::set<std::vector<uint32_t>> yielded;
    uint64_t steps = 0, lost_before = 0;
    while (CrashState* state = edges.next()) {
      yielded.emplace(state->kept().begin(), state->kept().end());
      ASSERT_EQ(state->digest(), state->image().digest());
      if (steps++ == 0) {
        ASSERT_EQ(state->lost_pieces(), 0u);
      }
      if (state->lost_pieces() <= edge) {
        ASSERT_GE(state->lost_pieces(), lost_before) << "few losses come first";
        lost_before = state->lost_pieces();
      }
    }
    ASSERT_EQ(yielded, expected);
    ASSERT_EQ(steps, yielded.size()) << "no state comes twice";
    ASSERT_EQ(edges.planned(), StateCount(steps));
    ASSERT_EQ(edges.cut_off() + edges.planned(), twins.epoch.count());
  }
}

using Names = std::vector<std::vector<uint32_t>>;

// The samples of an epoch by their names, after its edges.
Names samples_of(const Epoch& epoch, const EnumerationBound& bound) {
  Names names;
  CrashStates states(epoch, bound);
  const uint64_t edges = states.planned().low() - states.samples();
  for (uint64_t n = 0; CrashState* state = states.next(); n++) {
    EXPECT_EQ(state->digest(), state->image().digest());
    EXPECT_EQ(states.is_sample(), n >= edges);
    if (n >= edges) names.emplace_back(state->kept().begin(), state->kept().end());
  }
  return names;
}

TEST_P(CrashStatesProperty, SamplesAreCrashStatesBetweenTheEdgesEachOnce) {
  std::mt19937_64 random(6);
  int sampled = 0, complete = 0;
  for (int run = 0; run < 200; run++) {
    Twins twins(GetParam());
    for (int calls = 3 + random() % 5; calls > 0; calls--) twins.feed(RandomCall(random, kSmall));
    const EnumerationBound bound{.max_states = 0,
                                 .edge = static_cast<uint32_t>(random() % 3),
                                 .samples = 1 + static_cast<uint32_t>(random() % 9),
                                 .seed = random() % 4};
    std::set<std::vector<uint32_t>> between;
    CrashStates all(twins.epoch, kAll);
    while (CrashState* state = all.next()) {
      const uint64_t lost = state->lost_pieces(), kept = twins.epoch.pieces().size() - lost;
      if (lost > bound.edge && kept > bound.edge) between.emplace(state->kept().begin(), state->kept().end());
    }
    CrashStates states(twins.epoch, bound);
    ASSERT_EQ(states.complete(), between.size() <= bound.samples);
    const Names drawn = samples_of(twins.epoch, bound);
    const std::set<std::vector<uint32_t>> distinct(drawn.begin(), drawn.end());
    ASSERT_EQ(drawn.size(), states.samples());
    ASSERT_EQ(distinct.size(), drawn.size()) << "none comes twice";
    for (const auto& name : drawn) ASSERT_EQ(between.count(name), 1u);
    ASSERT_EQ(drawn, samples_of(twins.epoch, bound)) << "the same again";
    ASSERT_EQ(states.cut_off() + states.planned(), twins.epoch.count());
    uint64_t yielded = 0;
    while (states.next() != nullptr) yielded++;
    ASSERT_EQ(StateCount(yielded), states.planned());
    sampled += !drawn.empty();
    complete += states.complete();
  }
  EXPECT_GT(sampled, 10);
  EXPECT_GT(complete, 5);
}

// 24 writes to as many blocks; the samples of another seed are others, and those of another order of the same
// writes are the same disks.
// One crash state instead of all, and the rest is counted as cut off.
TEST(CrashStatesTest, OnlyTheNewestIsYieldedOnRequest) {
  const Image blank(Geometry{16, BlockCount(8)});
  Epoch epoch(DeviceModel{}, blank);
  Media media(blank);
  for (const uint64_t at : {1, 2, 3}) {
    const std::vector<std::byte> bytes(16, std::byte{1});
    ASSERT_EQ(media.write(BlockAddress(at), bytes), IoStatus::kOk);
  }
  std::vector<const Event*> events;
  const Log log = media.state().log;
  for (const Event* event : log.events(events)) epoch.add(*event);
  CrashStates states(epoch, {.newest_only = true});
  EXPECT_EQ(states.planned(), StateCount(1));
  EXPECT_EQ(states.cut_off(), StateCount(7));
  EXPECT_FALSE(states.complete());
  const CrashState* newest = states.next();
  ASSERT_NE(newest, nullptr);
  EXPECT_EQ(newest->lost_pieces(), 0u);
  EXPECT_EQ(states.next(), nullptr);
  EXPECT_EQ(states.next(), nullptr);
  epoch.settle();
  states.restart(epoch, {.newest_only = true});
  EXPECT_TRUE(states.complete()) << "nothing was in doubt";
  EXPECT_NE(states.next(), nullptr);
  EXPECT_EQ(states.next(), nullptr);
}

TEST(CrashStatesTest, SamplesDependOnTheSeedAndOnWhatWasWritten) {
  constexpr Geometry wide{1, BlockCount(24)};
  const auto epoch_of = [&](bool backwards) {
    Media disk{Image(wide)};
    Epoch epoch(model_of(WriteOrder::kFree, 0), Image(wide));
    std::vector<const Event*> events;
    for (uint64_t i = 0; i < 24; i++) {
      const uint64_t at = backwards ? 23 - i : i;
      const std::vector<uint8_t> byte = {static_cast<uint8_t>(at + 1)};
      EXPECT_EQ(disk.write(BlockAddress(at), std::as_bytes(std::span(byte))), IoStatus::kOk);
      epoch.add(*disk.state().log.events(events).back());
    }
    return epoch;
  };
  const auto disks = [](const Epoch& epoch, uint64_t seed) {
    std::vector<PlainDisk> drawn;
    CrashStates states(epoch, {.max_states = 1000, .edge = 1, .samples = 40, .seed = seed});
    for (uint64_t n = 0; CrashState* state = states.next(); n++)
      if (n >= 50) drawn.push_back(plain(state->image()));
    return drawn;
  };
  const Epoch forwards = epoch_of(false), backwards = epoch_of(true);
  ASSERT_EQ(forwards.digest(), backwards.digest());
  EXPECT_EQ(disks(forwards, 1).size(), 40u);
  EXPECT_EQ(disks(forwards, 1), disks(backwards, 1));
  EXPECT_NE(disks(forwards, 1), disks(forwards, 2));
  // They are spread: some lose few writes and some many.
  std::set<size_t> lost;
  for (const auto& name : samples_of(forwards, {.max_states = 1000, .edge = 1, .samples = 40, .seed = 1}))
    lost.insert(static_cast<size_t>(std::count(name.begin(), name.end(), 0u)));
  EXPECT_GT(lost.size(), 12u);
  EXPECT_LT(*lost.begin(), 6u);
  EXPECT_GT(*lost.rbegin(), 18u);
}

TEST(CrashStatesTest, ADeviceModelThatForgetsTheOrderIsNoticedByTheComparison) {
  // The comparison above is only worth something if wrong rules fail it: here the epoch is built with
  // the wrong order, tying or durability, and each time the crash states differ from the plain ones.
  const DeviceModel ordered = model_of(WriteOrder::kInOrder, 0), free = model_of(WriteOrder::kFree, 0),
                    torn = model_of(WriteOrder::kFree, 2);
  Media disk{Image(kSmall)};
  const Event* first = new_write(disk, 0, {1, 1, 2, 2});
  PlainDevice plain_ordered(ordered, kSmall), plain_free(free, kSmall), plain_torn(torn, kSmall);
  for (PlainDevice* device : {&plain_ordered, &plain_free, &plain_torn}) {
    device->write(0, {1, 1, 2, 2}, false);
    device->write(1, {3, 3}, false);
  }
  const auto built_as = [&](const DeviceModel& model, bool flush_between) {
    Media own = disk;
    const Event* second = new_write(own, 1, {3, 3});
    Epoch epoch(model, Image(kSmall));
    epoch.add(*first);
    if (flush_between) epoch.settle();
    epoch.add(*second);
    return disks_of(epoch);
  };
  EXPECT_EQ(built_as(ordered, false), plain_ordered.crash_disks());
  EXPECT_EQ(built_as(free, false), plain_free.crash_disks());
  EXPECT_EQ(built_as(torn, false), plain_torn.crash_disks());
  EXPECT_NE(built_as(free, false), plain_ordered.crash_disks());
  EXPECT_NE(built_as(torn, false), plain_free.crash_disks());
  EXPECT_NE(built_as(free, false), plain_torn.crash_disks());
  EXPECT_NE(built_as(free, true), plain_free.crash_disks());
}

TEST(CrashStatesTest, ATornWriteKeepsSomeOfItsUnitsAndSaysSo) {
  Media disk{Image(kSmall)};
  Epoch epoch(model_of(WriteOrder::kFree, 2), Image(kSmall));
  epoch.add(*new_write(disk, 1, {1, 1, 2, 2}));
  CrashStates states(epoch, kAll);
  std::vector<Survival> survived;
  while (CrashState* state = states.next()) survived.push_back(state->survival(0));
  EXPECT_EQ(survived, (std::vector{Survival::kKept, Survival::kTorn, Survival::kTorn, Survival::kLost}));
}

TEST(CrashStatesTest, OrderOfWritesCountsOnlyWhereItCanBeSeen) {
  Media disk{Image(kSmall)};
  const Event *a = new_write(disk, 1, {1, 1}), *b = new_write(disk, 3, {2, 2}),
              *c = new_write(disk, 1, {3, 3});
  const MediaState keep_alive = disk.save();
  const auto digest = [](WriteOrder order, uint32_t unit, std::initializer_list<const Event*> events) {
    Epoch epoch(model_of(order, unit), Image(kSmall));
    for (const Event* event : events) epoch.add(*event);
    return epoch.digest();
  };
  for (uint32_t unit : {0u, 2u}) {
    EXPECT_EQ(digest(WriteOrder::kFree, unit, {a, b}), digest(WriteOrder::kFree, unit, {b, a}));
    EXPECT_NE(digest(WriteOrder::kFree, unit, {a, c}), digest(WriteOrder::kFree, unit, {c, a}))
        << "one block";
    EXPECT_NE(digest(WriteOrder::kInOrder, unit, {a, b}), digest(WriteOrder::kInOrder, unit, {b, a}));
  }
}

TEST(CrashStatesTest, CountsBeyondAnyWordAreKnownAndEdgesStillEnumerable) {
  constexpr Geometry wide{1, BlockCount(1000)};
  Media disk{Image(wide)};
  for (uint64_t i = 0; i < 200; i++) {
    const std::vector<uint8_t> byte = {1};
    ASSERT_EQ(disk.write(BlockAddress(i), std::as_bytes(std::span(byte))), IoStatus::kOk);
  }
  Epoch epoch(model_of(WriteOrder::kFree, 0), Image(wide));
  std::vector<const Event*> events;
  disk.state().log.events(events);
  for (size_t i = 0; i < 100; i++) epoch.add(*events[i]);
  EXPECT_EQ(epoch.count().text(), "1267650600228229401496703205376") << "2 to the power of 100";
  for (size_t i = 100; i < 200; i++) epoch.add(*events[i]);
  EXPECT_TRUE(epoch.count().saturated());
  CrashStates states(epoch, {.max_states = 1000, .edge = 2, .samples = 3});
  uint64_t yielded = 0;
  while (states.next() != nullptr) yielded++;
  EXPECT_EQ(yielded, 2u * (1 + 200 + 200 * 199 / 2) + 3);
  EXPECT_TRUE(states.cut_off().saturated());
}

TEST(CrashStatesTest, AnEpochWithNothingInDoubtHasOneCrashState) {
  const Epoch epoch(model_of(WriteOrder::kFree, 0), Image(kSmall));
  for (const EnumerationBound& bound : {kAll, EnumerationBound{.max_states = 0, .edge = 2}}) {
    CrashStates states(epoch, bound);
    ASSERT_NE(states.next(), nullptr);
    EXPECT_EQ(states.next(), nullptr);
    EXPECT_EQ(states.next(), nullptr);
    EXPECT_EQ(states.planned(), StateCount(1));
  }
}

TEST(CrashStatesTest, RestartingIsLikeConstructing) {
  std::mt19937_64 random(5);
  const DeviceModel model = model_of(WriteOrder::kFree, 2);
  const Epoch nothing(model, Image(kSmall));
  CrashStates reused(nothing);
  for (int run = 0; run < 50; run++) {
    Twins twins(model);
    for (int calls = random() % 6; calls > 0; calls--) twins.feed(RandomCall(random, kSmall));
    CrashStates fresh(twins.epoch, kAll);
    reused.restart(twins.epoch, kAll);
    EXPECT_EQ(reused.total(), fresh.total());
    while (CrashState* state = fresh.next()) {
      CrashState* same = reused.next();
      ASSERT_NE(same, nullptr);
      ASSERT_EQ(same->digest(), state->digest());
      if (random() % 2) {
        ASSERT_EQ(same->image(), state->image());
      }
    }
    EXPECT_EQ(reused.next(), nullptr);
  }
}

TEST(DeviceModelTest, AUnitSmallerThanTheBlockIsRefusedWithAdvice) {
  const DeviceModel sectors = model_of(WriteOrder::kFree, 512);
  EXPECT_TRUE(sectors.check({512, BlockCount(8)}));
  EXPECT_TRUE(sectors.check({128, BlockCount(8)}));
  const Status refused = sectors.check({4096, BlockCount(8)});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("512"), std::string::npos);
}

// Blocks can be had without the image, and are those that it has.
TEST(CrashStatesTest, ABlockIsKnownBeforeTheImageIsBuilt) {
  std::mt19937_64 random(5);
  for (const uint32_t unit : {0u, 2u}) {
    Twins twins(model_of(WriteOrder::kFree, unit));
    for (unsigned i = 0; i < 5; ++i) twins.feed(RandomCall(random, kSmall));
    CrashStates states(twins.epoch, kAll);
    while (CrashState* state = states.next()) {
      std::array<const Block*, 6> blocks;
      for (uint64_t a = 0; a < 6; ++a) blocks[a] = state->block(BlockAddress(a));
      const Image& image = state->image();
      for (uint64_t a = 0; a < 6; ++a)
        EXPECT_TRUE(same_content(blocks[a], image.block(BlockAddress(a)))) << "block " << a;
    }
  }
}

}  // namespace
}  // namespace sisyfs::crash_states_test
