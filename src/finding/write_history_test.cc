#include "finding/write_history.h"

#include <gtest/gtest.h>

#include "crash/crash_points.h"
#include "disk/media.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::write_history_test {
namespace {

struct WriteHistoryTest : testing::Test {
  void write(uint64_t block, uint8_t value, bool fua = false) {
    const std::vector<std::byte> bytes(ToyTarget::kBlockSize, std::byte{value});
    WriteFlags flags;
    flags.fua = fua;
    ASSERT_EQ(media.write(BlockAddress(block), bytes, flags), IoStatus::kOk);
  }
  std::vector<uint32_t> add(size_t from = 0) {
    return history.add(media.state().log, from, "op", Image(geometry));
  }

  const Geometry geometry = toy_kind().disks;
  ToyTarget target{{}};
  Media media{Image(geometry)};
  WriteHistory history{geometry, target};
};

TEST_F(WriteHistoryTest, WritesAreNumberedAndSayWhatTheyLieOver) {
  write(1, 1);
  write(2, 1);
  EXPECT_EQ(add(), (std::vector<uint32_t>{1, 2}));
  write(1, 0);
  EXPECT_EQ(add(2), (std::vector<uint32_t>{3}));
  const std::vector<WriteRecord> writes = history.take();
  EXPECT_EQ(writes[0].label, "file a");
  EXPECT_EQ(writes[0].content, "1");
  EXPECT_FALSE(writes[0].is_bytes);
  EXPECT_EQ(writes[2].over, 1u);
}

// Story: a write with FUA was told as one that is still in the cache.
TEST_F(WriteHistoryTest, AWriteWithFuaIsDurableWhenItReturns) {
  write(1, 1);
  write(2, 1, true);
  add();
  CrashPoints points({}, media.state());
  while (points.next() != nullptr) {
  }
  history.persist_all_but(points.settled().log);
  const std::vector<WriteRecord> writes = history.take();
  EXPECT_EQ(writes[0].status, WriteStatus::kPending);
  EXPECT_EQ(writes[1].status, WriteStatus::kPersisted);
  EXPECT_TRUE(writes[1].fua);
}

// The power goes before the write with FUA returns, which has reached the medium.
TEST_F(WriteHistoryTest, AWriteWithFuaThatWasKeptIsNotLost) {
  write(1, 1);
  write(2, 1, true);
  write(4, 1);
  add();
  CrashPoints points({}, media.state());
  const CrashPoint* const point = points.next();
  ASSERT_NE(point, nullptr);
  ASSERT_EQ(point->reason, CrashPointReason::kBeforeFua);
  CrashState state(point->epoch);
  state.keep(0, 0);
  StoryStep step;
  history.cut(state, point->next_serial, step);
  EXPECT_EQ(step.lost, (std::vector<uint32_t>{1, 3})) << "the last one was not issued";
  EXPECT_EQ(history.take()[1].status, WriteStatus::kPersisted);
}

TEST_F(WriteHistoryTest, ABlockHasTheLastWriteThatWasNotLost) {
  write(1, 1);
  ASSERT_EQ(media.flush(), IoStatus::kOk);
  write(1, 0);
  add();
  EXPECT_EQ(history.history_of(BlockAddress(2)), "");
  EXPECT_EQ(history.history_of(BlockAddress(1)),
            "; last written by write 2 of 'op', over write 1 of 'op': 1");
  CrashPoints points({}, media.state());
  (void)points.next();
  const CrashPoint* const point = points.next();
  ASSERT_NE(point, nullptr);
  CrashState state(point->epoch);
  state.keep(0, 0);
  StoryStep step;
  history.cut(state, point->next_serial, step);
  EXPECT_EQ(history.history_of(BlockAddress(1)),
            "; last written by write 1 of 'op', over what was there at the start");
  const std::vector<WriteRecord> writes = history.take();
  EXPECT_TRUE(writes[0].is_named && writes[1].is_named);
  EXPECT_EQ(writes[1].status, WriteStatus::kLost);
}

TEST_F(WriteHistoryTest, DescribedWritesAreNoPartOfTheHistory) {
  write(1, 1);
  write(2, 1);
  const auto described = history.describe(media.state().log, 1, 2, Image(geometry), 7);
  ASSERT_EQ(described.size(), 1u);
  EXPECT_EQ(described[0].number, 7u);
  EXPECT_EQ(described[0].label, "file b");
  EXPECT_TRUE(history.take().empty());
}

}  // namespace
}  // namespace sisyfs::write_history_test
