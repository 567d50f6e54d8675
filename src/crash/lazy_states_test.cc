#include "crash/lazy_states.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "crash/crash_states.h"
#include "crash/plain_device_for_test.h"

namespace sisyfs::lazy_states_test {
namespace {

constexpr Geometry kSmall{2, BlockCount(6)};
constexpr EnumerationBound kAll{.max_states = UINT64_MAX, .edge = 0};

// What a reader saw: the digest of each block, in the order in which it read them.
using Transcript = std::vector<Digest>;

// A deterministic reader whose next address depends on all that it has read, up to a number of reads.
template <class ReadBlock>
Transcript read_on(uint64_t seed, int reads, ReadBlock read_block) {
  Transcript seen;
  uint64_t at = seed;
  for (int i = 0; i < reads; ++i) {
    const Block* block = read_block(BlockAddress(at % kSmall.block_count.value));
    seen.push_back(identity(BlockAddress(0), block));
    at = mul_fold(at + 1, seen.back().lo | 1);
  }
  return seen;
}

void feed(Epoch& epoch, Media& disk, const RandomCall& call) {
  call.issue(disk);
  std::vector<const Event*> events;
  const Event& event = *disk.state().log.events(events).back();
  if (event.kind == EventKind::kFlush) return epoch.settle();
  epoch.add(event);
  if (call.fua && epoch.model().cache != WriteCache::kWriteThrough) epoch.settle_last_write();
}

// Calls with power cuts between them, after which nothing was read.
Epoch random_epoch(std::mt19937_64& random, const DeviceModel& model, int cuts) {
  Epoch epoch(model, Image(kSmall));
  Media disk{Image(kSmall)};
  for (int cut = 0; cut <= cuts; ++cut) {
    if (cut != 0) epoch.freeze();
    for (int calls = 1 + static_cast<int>(random() % (5 - cuts)); calls > 0; calls--)
      feed(epoch, disk, RandomCall(random, kSmall));
  }
  return epoch;
}

std::map<Transcript, std::set<PlainDisk>> eagerly(const Epoch& epoch, uint64_t seed, int reads) {
  std::map<Transcript, std::set<PlainDisk>> seen;
  CrashStates states(epoch, kAll);
  while (CrashState* state = states.next()) {
    const Image& image = state->image();
    seen[read_on(seed, reads, [&](BlockAddress at) { return image.block(at); })].insert(plain(image));
  }
  return seen;
}

std::set<PlainDisk> disks_of(const Epoch& epoch) {
  std::set<PlainDisk> disks;
  CrashStates states(epoch, kAll);
  while (CrashState* state = states.next()) disks.insert(plain(state->image()));
  return disks;
}

class LazyStatesProperty : public testing::TestWithParam<DeviceModel> {};
INSTANTIATE_TEST_SUITE_P(Models, LazyStatesProperty, testing::ValuesIn(models_for_test()));

TEST_P(LazyStatesProperty, ReadersSeeWhatTheySeeOnAllCrashStates) {
  std::mt19937_64 random(1);
  uint64_t runs = 0, states = 0, settled = 0;
  for (int round = 0; round < 150; round++) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const Epoch epoch = random_epoch(random, GetParam(), round % 3);
    const uint64_t seed = random();
    const int reads = static_cast<int>(random() % 5);
    const auto expected = eagerly(epoch, seed, reads);

    std::map<Transcript, std::set<PlainDisk>> seen;
    LazyStates lazy(epoch);
    StateCount stood_for = 0;
    Epoch rest(GetParam(), Image(kSmall)), other = rest;
    while (lazy.next()) {
      const Transcript now = read_on(seed, reads, [&](BlockAddress at) { return lazy.block(at); });
      stood_for += lazy.stands_for();
      epoch.narrow(lazy.known(), rest);
      EXPECT_EQ(epoch.narrowed_digest(lazy.known(), other), rest.digest());
      settled += rest.pieces().empty() ? 1 : 0;
      for (const PlainDisk& disk : disks_of(rest)) seen[now].insert(disk);
      runs++;
    }
    ASSERT_EQ(stood_for, epoch.count());
    ASSERT_EQ(seen, expected) << "the same transcripts, and behind each the same disks";
    states += epoch.count().low();
  }
  EXPECT_LT(runs, states);
  EXPECT_GT(settled, 0u) << "sometimes nothing is left undecided";
}

TEST_P(LazyStatesProperty, WhatIsReadOnceStaysAsItWas) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 100; round++) {
    const Epoch epoch = random_epoch(random, GetParam(), 1);
    LazyStates lazy(epoch);
    while (lazy.next()) {
      std::vector<Digest> first;
      for (uint64_t at = 0; at < kSmall.block_count.value; at++)
        first.push_back(identity(BlockAddress(at), lazy.block(BlockAddress(at))));
      for (uint64_t at = kSmall.block_count.value; at-- > 0;)
        ASSERT_EQ(identity(BlockAddress(at), lazy.block(BlockAddress(at))), first[at]);
    }
  }
}

// A reader may want to go on from what it knew before its last reads: those were only a trial.
TEST_P(LazyStatesProperty, WhatWasKnownAfterSomeReadsIsKnownLater) {
  std::mt19937_64 random(5);
  const auto ranges = [](std::span<const Epoch::KeptRange> known) {
    std::vector<std::pair<uint32_t, uint32_t>> all;
    for (const Epoch::KeptRange& kept : known) all.emplace_back(kept.least, kept.most);
    return all;
  };
  for (int round = 0; round < 100; round++) {
    const Epoch epoch = random_epoch(random, GetParam(), round % 2);
    LazyStates lazy(epoch);
    // What a run knows from the start it has from choices that it comes by later, so only the first is plain.
    ASSERT_TRUE(lazy.next());
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> after = {ranges(lazy.known())};
    for (uint64_t at = 0; at < kSmall.block_count.value; at++) {
      (void)lazy.block(BlockAddress(at));
      after.push_back(ranges(lazy.known()));
    }
    for (uint32_t reads = 0; reads < after.size(); reads++)
      ASSERT_EQ(ranges(lazy.known_after(reads)), after[reads]) << reads;
  }
}

// The same writes, on this or on that side of a power cut: a flush settles only the one.
TEST_P(LazyStatesProperty, TheDigestKnowsWhatIsBehindAPowerCut) {
  std::mt19937_64 random(6);
  int in_doubt = 0;
  for (int round = 0; round < 50; round++) {
    Epoch epoch = random_epoch(random, GetParam(), 0);
    Media disk{Image(kSmall)};
    const std::vector<uint8_t> byte(2, 9);
    ASSERT_EQ(disk.write(BlockAddress(random() % 6), std::as_bytes(std::span(byte))), IoStatus::kOk);
    std::vector<const Event*> events;
    const Event& write = *disk.state().log.events(events).back();
    Epoch cut = epoch;
    cut.freeze();
    in_doubt += !epoch.empty();
    const bool differ = !epoch.empty();
    epoch.add(write);
    cut.add(write);
    ASSERT_EQ(epoch.digest() != cut.digest(), differ);
  }
  EXPECT_GT(in_doubt, 10);
}

// A block that comes back to what it was: three runs, of which two see the same and stand for different
// disks.
TEST(LazyStates, RunsThatSeeTheSameHaveReadDifferentVersions) {
  constexpr Geometry geometry{2, BlockCount(2)};
  Epoch epoch(DeviceModel{.unit_bytes = 2, .tearing = true}, Image(geometry));
  Media disk{Image(geometry)};
  std::vector<const Event*> events;
  for (const uint8_t value : {1, 0}) {
    const std::vector<uint8_t> bytes(2, value);
    ASSERT_EQ(disk.write(BlockAddress(0), std::as_bytes(std::span(bytes))), IoStatus::kOk);
    epoch.add(*disk.state().log.events(events).back());
  }
  LazyStates lazy(epoch);
  std::vector<bool> zero;
  std::vector<uint32_t> kept;
  while (lazy.next()) {
    zero.push_back(lazy.block(BlockAddress(0)) == nullptr);
    ASSERT_EQ(lazy.known()[0].least, lazy.known()[0].most);
    kept.push_back(lazy.known()[0].least);
  }
  EXPECT_EQ(zero, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(kept, (std::vector<uint32_t>{2, 1, 0}));
}

// The second identity: a choice that the reader does not come by again is a run for nothing.
TEST(LazyStatesDeathTest, AReaderThatReadsSomethingElseIsNoticed) {
  Epoch epoch(DeviceModel{}, Image(kSmall));
  Media disk{Image(kSmall)};
  std::vector<const Event*> events;
  for (const uint64_t at : {1, 2}) {
    const std::vector<uint8_t> bytes(2, 7);
    ASSERT_EQ(disk.write(BlockAddress(at), std::as_bytes(std::span(bytes))), IoStatus::kOk);
    epoch.add(*disk.state().log.events(events).back());
  }
  LazyStates lazy(epoch);
  ASSERT_TRUE(lazy.next());
  (void)lazy.block(BlockAddress(1));
  ASSERT_TRUE(lazy.next());
  EXPECT_DEATH((void)lazy.next(), "indistinguishable");
  // A look-up of a known recovery may stray, if its choices are forgotten.
  (void)lazy.block(BlockAddress(2));
  EXPECT_DEATH((void)lazy.next(), "reads the same next");
  lazy.forget(1);
  (void)lazy.block(BlockAddress(1));
  EXPECT_FALSE(lazy.next());
}

TEST_P(LazyStatesProperty, WhatIsUndecidedComesBackFromItsLog) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; round++) {
    Epoch epoch = random_epoch(random, GetParam(), 2);
    Epoch again(GetParam(), Image(kSmall));
    again.restart(epoch.durable(), epoch.undecided_log());
    std::vector<const Event*> events;
    const Log pending = epoch.pending_log();
    for (const Event* event : pending.events(events)) again.add(*event);
    ASSERT_EQ(again.digest(), epoch.digest());
    ASSERT_EQ(again.count(), epoch.count());
    ASSERT_EQ(again.frozen_pieces(), epoch.frozen_pieces());
  }
}

TEST_P(LazyStatesProperty, AFlushSettlesOnlyWhatCameAfterTheCut) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; round++) {
    Epoch epoch = random_epoch(random, GetParam(), 1);
    const auto before = disks_of(epoch);
    Epoch flushed = epoch;
    flushed.settle();
    ASSERT_TRUE(flushed.pending_log().empty());
    // The disks on which all of the newest layer was kept.
    std::set<PlainDisk> expected;
    CrashStates states(epoch, kAll);
    while (CrashState* state = states.next()) {
      bool all = true;
      for (uint32_t p = epoch.frozen_pieces(); p < epoch.pieces().size(); p++) all &= state->piece_kept(p);
      if (all) expected.insert(plain(state->image()));
    }
    ASSERT_EQ(disks_of(flushed), expected);
  }
}

TEST(LazyStates, SixtyBlocksThatNobodyReadsAreOneRun) {
  constexpr Geometry geometry{16, BlockCount(64)};
  Epoch epoch(DeviceModel{.unit_bytes = 16, .tearing = true}, Image(geometry));
  Media disk{Image(geometry)};
  const std::vector<uint8_t> bytes(16 * 60, 7);
  ASSERT_EQ(disk.write(BlockAddress(2), std::as_bytes(std::span(bytes))), IoStatus::kOk);
  std::vector<const Event*> events;
  epoch.add(*disk.state().log.events(events).back());
  LazyStates lazy(epoch);
  StateCount stood_for = 0;
  while (lazy.next()) {
    (void)lazy.block(BlockAddress(0));
    (void)lazy.block(BlockAddress(5));
    stood_for += lazy.stands_for();
  }
  EXPECT_EQ(lazy.runs(), 3u) << "two runs, and one call that said that there is no more";
  EXPECT_EQ(stood_for.low(), uint64_t{1} << 60);
}

TEST(LazyStates, EqualContentsAreNotToldApart) {
  constexpr Geometry geometry{2, BlockCount(2)};
  Epoch epoch(DeviceModel{}, Image(geometry));
  Media disk{Image(geometry)};
  const std::vector<uint8_t> zeros(2, 0);
  ASSERT_EQ(disk.write(BlockAddress(0), std::as_bytes(std::span(zeros))), IoStatus::kOk);
  std::vector<const Event*> events;
  epoch.add(*disk.state().log.events(events).back());
  LazyStates lazy(epoch);
  ASSERT_TRUE(lazy.next());
  EXPECT_EQ(lazy.block(BlockAddress(0)), nullptr);
  EXPECT_FALSE(lazy.decided());
  EXPECT_FALSE(lazy.next());
}

}  // namespace
}  // namespace sisyfs::lazy_states_test
