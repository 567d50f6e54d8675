#include "crash/crash_points.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "crash/crash_states.h"
#include "crash/plain_device_for_test.h"

namespace sisyfs::crash_points_test {
namespace {

constexpr Geometry kSmall{2, BlockCount(4)};
constexpr EnumerationBound kAll{.max_states = UINT64_MAX, .edge = 0};
constexpr DeviceModel kFreeWrites{};

// A disk that a cut may leave, with the number of promises made by then.
using Outcome = std::pair<PlainDisk, size_t>;

void write(Media& disk, uint64_t block, uint8_t value, bool fua = false) {
  const std::vector<uint8_t> bytes = {value, value};
  ASSERT_EQ(disk.write(BlockAddress(block), std::as_bytes(std::span(bytes)), {.fua = fua}), IoStatus::kOk);
}

struct Seen {
  CrashPointReason reason;
  uint64_t states;
  size_t promises;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::vector<Seen> points_of(const DeviceModel& model, const MediaState& state, size_t judged = 0) {
  std::vector<Seen> seen;
  CrashPoints points(model, state, judged);
  while (const CrashPoint* point = points.next()) {
    seen.push_back(
        {point->reason, static_cast<uint64_t>(point->epoch.count().approximate()), point->promises});
  }
  return seen;
}

TEST(CrashPointsTest, AFlushAPromiseAndTheEndOfAnOpAreCrashPoints) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kOpBegin});
  write(disk, 0, 1);
  write(disk, 1, 1);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  write(disk, 2, 1);
  disk.note({BoundaryKind::kPromise});
  write(disk, 3, 1);
  disk.note({BoundaryKind::kOpEnd});
  EXPECT_EQ(points_of(kFreeWrites, disk.state()), (std::vector<Seen>{{CrashPointReason::kBeforeFlush, 4, 0},
                                                                     {CrashPointReason::kAfterPromise, 2, 1},
                                                                     {CrashPointReason::kOpEnd, 4, 1}}));
}

TEST(CrashPointsTest, WithoutAWriteOrPromiseThereIsNoCrashPoint) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kOpBegin});
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  write(disk, 0, 1);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  disk.note({BoundaryKind::kOpEnd});
  EXPECT_EQ(points_of(kFreeWrites, disk.state()),
            (std::vector<Seen>{{CrashPointReason::kBeforeFlush, 2, 0}}));
}

TEST(CrashPointsTest, APromiseWithNothingInDoubtIsACrashPoint) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kPromise});
  EXPECT_EQ(points_of(kFreeWrites, disk.state()),
            (std::vector<Seen>{{CrashPointReason::kAfterPromise, 1, 1}}));
}

TEST(CrashPointsTest, AFuaWriteMayBeLostOnlyUntilItReturns) {
  Media disk{Image(kSmall)};
  write(disk, 0, 1);
  write(disk, 1, 1, true);
  write(disk, 2, 1);
  EXPECT_EQ(points_of(kFreeWrites, disk.state()),
            (std::vector<Seen>{{CrashPointReason::kBeforeFua, 4, 0}, {CrashPointReason::kLogEnd, 4, 0}}));
}

TEST(CrashPointsTest, WritesCarryOverFromOpToOpUntilAFlush) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kOpBegin});
  write(disk, 0, 1);
  disk.note({BoundaryKind::kOpEnd});
  CrashPoints first(kFreeWrites, disk.save());
  while (first.next() != nullptr) {
  }
  disk.load(first.settled());
  const size_t judged = disk.state().log.size();
  EXPECT_EQ(judged, 1u) << "the boundaries are gone, the write is still in doubt";
  disk.note({BoundaryKind::kOpBegin});
  write(disk, 1, 1);
  disk.note({BoundaryKind::kOpEnd});
  CrashPoints second(kFreeWrites, disk.save(), judged);
  const CrashPoint* point = second.next();
  ASSERT_NE(point, nullptr);
  ASSERT_EQ(point->epoch.writes().size(), 2u);
  EXPECT_EQ(point->epoch.writes()[0].serial, 1u);
  EXPECT_EQ(point->epoch.writes()[1].serial, 4u);
  EXPECT_EQ(point->next_serial, 5u) << "the end of the op is not reached";
  EXPECT_EQ(second.next(), nullptr);
}

TEST(CrashPointsTest, WhatWasJudgedIsNoCrashPointAgain) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kOpBegin});
  write(disk, 0, 1);
  disk.note({BoundaryKind::kPromise});
  disk.note({BoundaryKind::kOpEnd});
  const size_t judged = disk.state().log.size();
  disk.note({BoundaryKind::kOpBegin});
  disk.note({BoundaryKind::kOpEnd});
  EXPECT_EQ(points_of(kFreeWrites, disk.state(), judged), std::vector<Seen>{});
  write(disk, 1, 1);
  EXPECT_EQ(points_of(kFreeWrites, disk.state(), judged),
            (std::vector<Seen>{{CrashPointReason::kLogEnd, 4, 1}}));
}

TEST(CrashPointsTest, AWriteThroughDeviceLosesOnlyWhatWasNotJudgedYet) {
  constexpr DeviceModel through{.cache = WriteCache::kWriteThrough};
  Media disk{Image(kSmall)};
  write(disk, 0, 1);
  write(disk, 1, 1);
  EXPECT_EQ(points_of(through, disk.state()), (std::vector<Seen>{{CrashPointReason::kLogEnd, 3, 0}}));
  const size_t judged = disk.state().log.size();
  write(disk, 2, 1);
  EXPECT_EQ(points_of(through, disk.state(), judged), (std::vector<Seen>{{CrashPointReason::kLogEnd, 2, 0}}));
}

class CrashPointsProperty : public testing::TestWithParam<DeviceModel> {};
INSTANTIATE_TEST_SUITE_P(Models, CrashPointsProperty, testing::ValuesIn(models_for_test()));
INSTANTIATE_TEST_SUITE_P(Scattered, CrashPointsProperty, testing::ValuesIn(scattered_models_for_test()));

// The plain way has a crash point at each moment: while each write is on its way, after it, and after each
// promise.
class PlainPoints {
 public:
  PlainPoints(const DeviceModel& model, const Geometry& geometry)
      : media_(model, geometry), through_(model.cache == WriteCache::kWriteThrough) {}

  void call(uint32_t disk, const RandomCall& call) {
    if (call.kind == RandomCall::Kind::kFlush) {
      media_.flush(disk);
    } else {
      media_.write(disk, call.first, call.bytes, false);
      add_outcomes();  // on its way
      if (call.fua || through_) media_.make_last_durable(disk);
      add_outcomes();
    }
  }
  void promise() {
    promises_++;
    add_outcomes();
  }
  const std::set<Outcome>& outcomes() const { return outcomes_; }

 private:
  void add_outcomes() {
    for (const PlainDisk& disk : media_.crash_disks()) outcomes_.emplace(disk, promises_);
  }
  PlainMedia media_;
  bool through_;
  size_t promises_ = 0;
  std::set<Outcome> outcomes_;
};

void compare_with_plain(const DeviceModel& model, const Geometry& geometry) {
  std::mt19937_64 random(6);
  for (int run = 0; run < 300; run++) {
    SCOPED_TRACE(testing::Message() << "run " << run);
    PlainPoints plain_points(model, geometry);
    Media disk{Image(geometry)};
    std::set<Outcome> outcomes;
    size_t judged = 0, promises_before = 0, promises = 0;
    // Judges what is new, and sometimes goes on from the settled state.
    const auto judge = [&] {
      CrashPoints points(model, disk.save(), judged);
      while (const CrashPoint* point = points.next()) {
        CrashStates states(point->epoch, kAll);
        while (CrashState* state = states.next()) {
          outcomes.emplace(plain(state->image()), promises_before + point->promises);
        }
      }
      if (random() % 2 == 0) {
        const Image current = disk.state().current;
        disk.load(points.settled());
        promises_before = promises;
        ASSERT_EQ(disk.state().current, current);
      }
      judged = disk.state().log.size();
    };
    for (int step = 4 + random() % 8; step > 0; step--) {
      const uint64_t dice = random() % 8;
      if (dice == 0) {
        disk.note({BoundaryKind::kPromise});
        plain_points.promise();
        promises++;
      } else if (dice == 1) {
        disk.note({BoundaryKind::kOpEnd});
      } else {
        const uint32_t on = geometry.disks == 1 ? 0 : static_cast<uint32_t>(random() % geometry.disks);
        const RandomCall call(random, disk.geometry());
        call.issue(disk.disk(on));
        plain_points.call(on, call);
      }
      if (random() % 4 == 0) judge();
    }
    judge();

    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(plain_points.outcomes().contains(outcome)) << "a disk that no cut leaves";
    }
    for (const auto& [image, made] : plain_points.outcomes()) {
      // It may have been judged under later promises, if it was still possible then.
      bool judged_at_all = false;
      for (size_t later = made; later <= promises; later++)
        judged_at_all |= outcomes.contains({image, later});
      ASSERT_TRUE(judged_at_all) << "a disk that a cut may leave was not judged";
    }
  }
}

TEST_P(CrashPointsProperty, CrashPointsMissNothingAndInventNothing) {
  compare_with_plain(GetParam(), kSmall);
}

TEST_P(CrashPointsProperty, OfTwoDisksTooTheyMissNothingAndInventNothing) {
  compare_with_plain(GetParam(), two_disks_for_test(GetParam()));
}

TEST(CrashPointsTest, AFlushOfOneDiskLeavesTheOtherInDoubt) {
  Media disk{Image({.block_size = 2, .block_count = BlockCount(8), .disks = 2})};
  const std::vector<uint8_t> bytes = {1, 1};
  write(disk, 0, 1);
  ASSERT_EQ(disk.disk(1).write(BlockAddress(0), std::as_bytes(std::span(bytes))), IoStatus::kOk);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  disk.note({BoundaryKind::kPromise});
  ASSERT_EQ(disk.disk(1).flush(), IoStatus::kOk);
  EXPECT_EQ(
      points_of(kFreeWrites, disk.state()),
      (std::vector<Seen>{{CrashPointReason::kBeforeFlush, 4, 0}, {CrashPointReason::kAfterPromise, 2, 1}}))
      << "before the second flush there is nothing new";
}

// Serial numbers identify writes in reports, so a write must have the same one as long as it is in doubt.
TEST(CrashPointsTest, SerialNumbersSurviveSettling) {
  Media disk{Image({.block_size = 2, .block_count = BlockCount(8), .disks = 2})};
  const std::vector<uint8_t> bytes = {1, 1};
  const auto raw = std::as_bytes(std::span(bytes));
  const auto settle = [&] {
    CrashPoints points(kFreeWrites, disk.save());
    while (points.next() != nullptr) {
    }
    disk.load(points.settled());
  };
  const auto serials = [&] {
    std::vector<uint64_t> all;
    std::vector<const Event*> events;
    for (const Event* event : disk.state().log.events(events))
      all.push_back(disk.state().log.serial_of(*event));
    return all;
  };
  disk.note({BoundaryKind::kOpBegin});                                         // 0
  write(disk, 0, 1);                                                           // 1
  ASSERT_EQ(disk.disk(1).write(BlockAddress(0), raw), IoStatus::kOk);          // 2
  ASSERT_EQ(disk.flush(), IoStatus::kOk);                                      // 3
  ASSERT_EQ(disk.disk(1).write(BlockAddress(9), raw), IoStatus::kOutOfRange);  // 4
  write(disk, 1, 1);                                                           // 5
  disk.note({BoundaryKind::kOpEnd});                                           // 6
  settle();
  EXPECT_EQ(serials(), (std::vector<uint64_t>{2, 5}));
  EXPECT_EQ(disk.state().log.next_serial(), 7u);
  settle();
  EXPECT_EQ(serials(), (std::vector<uint64_t>{2, 5}));
  write(disk, 2, 1);                               // 7
  ASSERT_EQ(disk.disk(1).flush(), IoStatus::kOk);  // 8
  settle();
  EXPECT_EQ(serials(), (std::vector<uint64_t>{5, 7}));
  ASSERT_EQ(disk.flush(), IoStatus::kOk);  // 9
  settle();
  EXPECT_TRUE(disk.state().log.empty());
  write(disk, 3, 1);
  EXPECT_EQ(serials(), (std::vector<uint64_t>{10})) << "an empty log goes on where it was";
}

}  // namespace
}  // namespace sisyfs::crash_points_test
