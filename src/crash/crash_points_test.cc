#include "crash/crash_points.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "crash/crash_states.h"
#include "crash/plain_device_for_test.h"

namespace sisyfs {
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

TEST(CrashPointsTest, AFlushAndAPromiseAndTheEndOfAnOpAreLookedAt) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kOpBegin, 0});
  write(disk, 0, 1);
  write(disk, 1, 1);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  write(disk, 2, 1);
  disk.note({BoundaryKind::kPromise, 0});
  write(disk, 3, 1);
  disk.note({BoundaryKind::kOpEnd, 0});
  EXPECT_EQ(points_of(kFreeWrites, disk.state()), (std::vector<Seen>{{CrashPointReason::kBeforeFlush, 4, 0},
                                                                     {CrashPointReason::kAfterPromise, 2, 1},
                                                                     {CrashPointReason::kOpEnd, 4, 1}}));
}

TEST(CrashPointsTest, WhenNothingIsNewThereIsNoLook) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kOpBegin, 0});
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  write(disk, 0, 1);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  disk.note({BoundaryKind::kOpEnd, 0});
  EXPECT_EQ(points_of(kFreeWrites, disk.state()),
            (std::vector<Seen>{{CrashPointReason::kBeforeFlush, 2, 0}}));
}

TEST(CrashPointsTest, APromiseWithNothingInDoubtIsStillLookedAt) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kPromise, 0});
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
  disk.note({BoundaryKind::kOpBegin, 0});
  write(disk, 0, 1);
  disk.note({BoundaryKind::kOpEnd, 0});
  CrashPoints first(kFreeWrites, disk.save());
  while (first.next() != nullptr) {
  }
  disk.load(first.settled());
  const size_t judged = disk.state().log.size();
  EXPECT_EQ(judged, 1u) << "the marks are gone, the write is still in doubt";
  disk.note({BoundaryKind::kOpBegin, 1});
  write(disk, 1, 1);
  disk.note({BoundaryKind::kOpEnd, 1});
  CrashPoints second(kFreeWrites, disk.save(), judged);
  const CrashPoint* point = second.next();
  ASSERT_NE(point, nullptr);
  EXPECT_EQ(point->op, 1u);
  ASSERT_EQ(point->epoch.writes().size(), 2u);
  EXPECT_EQ(point->epoch.writes()[0].op, 0u);
  EXPECT_EQ(point->epoch.writes()[1].op, 1u);
  EXPECT_EQ(second.next(), nullptr);
}

TEST(CrashPointsTest, WhatWasJudgedIsNotLookedAtAgain) {
  Media disk{Image(kSmall)};
  disk.note({BoundaryKind::kOpBegin, 0});
  write(disk, 0, 1);
  disk.note({BoundaryKind::kPromise, 0});
  disk.note({BoundaryKind::kOpEnd, 0});
  const size_t judged = disk.state().log.size();
  disk.note({BoundaryKind::kOpBegin, 1});
  disk.note({BoundaryKind::kOpEnd, 1});
  EXPECT_EQ(points_of(kFreeWrites, disk.state(), judged), std::vector<Seen>{});
  write(disk, 1, 1);
  EXPECT_EQ(points_of(kFreeWrites, disk.state(), judged),
            (std::vector<Seen>{{CrashPointReason::kLogEnd, 4, 1}}));
}

TEST(CrashPointsTest, AWriteThroughDeviceLosesOnlyWhatWasWrittenSinceTheLastWalk) {
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

// The plain way looks at each moment: while each write is on its way, after it, and after each promise.
class PlainPoints {
 public:
  explicit PlainPoints(const DeviceModel& model)
      : device_(model, kSmall), through_(model.cache == WriteCache::kWriteThrough) {}

  void call(const RandomCall& call) {
    if (call.kind == RandomCall::Kind::kFlush) {
      device_.flush();
    } else {
      device_.write(call.first, call.bytes, false);
      look();  // on its way
      if (call.fua || through_) device_.make_last_durable();
      look();
    }
  }
  void promise() {
    promises_++;
    look();
  }
  const std::set<Outcome>& outcomes() const { return outcomes_; }

 private:
  void look() {
    for (const PlainDisk& disk : device_.crash_disks()) outcomes_.emplace(disk, promises_);
  }
  PlainDevice device_;
  bool through_;
  size_t promises_ = 0;
  std::set<Outcome> outcomes_;
};

TEST_P(CrashPointsProperty, LooksMissNothingAndInventNothing) {
  std::mt19937_64 random(6);
  for (int run = 0; run < 300; run++) {
    SCOPED_TRACE(testing::Message() << "run " << run);
    PlainPoints plain_points(GetParam());
    Media disk{Image(kSmall)};
    std::set<Outcome> outcomes;
    size_t judged = 0, promises_before = 0, promises = 0;
    // Walks over what is new, and now and then goes on from the settled state.
    const auto judge = [&] {
      CrashPoints points(GetParam(), disk.save(), judged);
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
        disk.note({BoundaryKind::kPromise, 0});
        plain_points.promise();
        promises++;
      } else if (dice == 1) {
        disk.note({BoundaryKind::kOpEnd, 0});
      } else {
        const RandomCall call(random, kSmall);
        call.issue(disk);
        plain_points.call(call);
      }
      if (random() % 4 == 0) judge();
    }
    judge();

    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(plain_points.outcomes().contains(outcome)) << "a disk that no cut leaves";
    }
    for (const auto& [image, made] : plain_points.outcomes()) {
      // Judged under later promises it was judged more strictly, and rightly so: it was possible then.
      bool judged_at_all = false;
      for (size_t later = made; later <= promises; later++)
        judged_at_all |= outcomes.contains({image, later});
      ASSERT_TRUE(judged_at_all) << "a disk that a cut may leave was not looked at";
    }
  }
}

}  // namespace
}  // namespace sisyfs
