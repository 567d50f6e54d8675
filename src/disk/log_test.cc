#include "disk/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace sisyfs::log_test {
namespace {

BlockRef block(int value) {
  const std::vector<std::byte> bytes(4, static_cast<std::byte>(value));
  return make_block(bytes);
}

void add(Log& log, uint64_t first, std::vector<int> values, WriteFlags flags = {}) {
  std::vector<BlockRef> blocks;
  for (int value : values) blocks.push_back(block(value));
  log.add_write(BlockAddress(first), blocks, flags);
}

TEST(LogTest, EventsComeInIssueOrderWithTheirContent) {
  Log log;
  log.add_boundary({BoundaryKind::kOpBegin});
  add(log, 3, {1, 0}, {.fua = true});
  log.add_boundary({BoundaryKind::kOpEnd});
  std::vector<BlockRef> discarded(2);
  discarded[0] = block(9);
  log.add_discard(BlockAddress(8), discarded);
  log.add_flush();
  std::vector<const Event*> events;
  ASSERT_EQ(log.events(events).size(), 5u);
  EXPECT_EQ(events[0]->boundary, (Boundary{BoundaryKind::kOpBegin}));
  const Event& write = *events[1];
  EXPECT_EQ(write.kind, EventKind::kWrite);
  EXPECT_TRUE(write.flags.fua);
  EXPECT_EQ(write.first, BlockAddress(3));
  EXPECT_EQ(write.count, BlockCount(2));
  EXPECT_EQ(write.block(0)->bytes()[0], std::byte{1});
  EXPECT_EQ(write.block(1), nullptr) << "zero";
  EXPECT_EQ(events[3]->kind, EventKind::kDiscard);
  EXPECT_EQ(events[3]->block(0)->bytes()[0], std::byte{9});
  EXPECT_EQ(events[3]->block(1), nullptr);
  EXPECT_EQ(events[4]->kind, EventKind::kFlush);
}

TEST(LogTest, CopiesShareThePastAndGrowApart) {
  Log a;
  add(a, 1, {1});
  Log b = a;
  add(b, 2, {2});
  add(a, 3, {3});
  a = Log(a);
  std::vector<const Event*> in_a, in_b;
  a.events(in_a);
  b.events(in_b);
  ASSERT_EQ(in_a.size(), 2u);
  ASSERT_EQ(in_b.size(), 2u);
  EXPECT_EQ(in_a[0], in_b[0]);
  EXPECT_EQ(in_a[1]->first, BlockAddress(3));
  EXPECT_EQ(in_b[1]->first, BlockAddress(2));
}

TEST(LogTest, DigestSeesEffectsAndTheirOrderButNotBoundaries) {
  Log a, b, c, d, e, f;
  add(a, 1, {1});
  add(a, 2, {2});
  b.add_boundary({BoundaryKind::kOpBegin});
  add(b, 1, {1});
  b.add_stray(Access::kRead, BlockAddress(99), BlockCount(1));
  add(b, 2, {2});
  EXPECT_EQ(a.digest(), b.digest());
  add(c, 2, {2});
  add(c, 1, {1});
  EXPECT_NE(a.digest(), c.digest()) << "order";
  add(d, 1, {1, 2});
  EXPECT_NE(a.digest(), d.digest()) << "one write, not two";
  add(e, 1, {1});
  add(e, 2, {2}, {.fua = true});
  EXPECT_NE(a.digest(), e.digest()) << "FUA";
  f = a;
  f.add_flush();
  EXPECT_NE(a.digest(), f.digest()) << "flush";
  Log g = a, h(100);
  g.add_flush(1);
  EXPECT_NE(f.digest(), g.digest()) << "the disk of a flush";
  add(h, 1, {1});
  add(h, 2, {2});
  EXPECT_EQ(a.digest(), h.digest()) << "serial numbers do not count";
}

TEST(LogTest, EventsOfAllKindsHaveSerialNumbers) {
  Log log(40);
  log.add_boundary({BoundaryKind::kOpBegin});
  add(log, 1, {1});
  log.add_stray(Access::kRead, BlockAddress(99), BlockCount(1), 1);
  log.add_flush(1);
  std::vector<const Event*> events;
  log.events(events);
  for (uint64_t i = 0; i < events.size(); i++) EXPECT_EQ(log.serial_of(*events[i]), 40 + i);
  EXPECT_EQ(log.next_serial(), 44u);
  EXPECT_EQ(events[2]->disk, 1u);
  EXPECT_EQ(events[3]->disk, 1u);
}

TEST(LogTest, RunsOfOneWriteShareItsSerialNumber) {
  Log log;
  log.set_next_serial(7);
  add(log, 1, {1});
  std::vector<BlockRef> further;
  further.push_back(block(2));
  log.add_write(BlockAddress(5), further, {}, 0, true);
  log.set_next_serial(20);
  add(log, 2, {3});
  std::vector<const Event*> events;
  log.events(events);
  EXPECT_EQ(log.serial_of(*events[0]), 7u);
  EXPECT_EQ(log.serial_of(*events[1]), 7u);
  EXPECT_EQ(log.serial_of(*events[2]), 20u);
  EXPECT_EQ(log.next_serial(), 21u);
}

TEST(LogTest, ARebasedLogSharesItsEventsAndGoesOnInSerialNumbers) {
  Log recorded;
  add(recorded, 1, {1});
  recorded.add_flush();
  Log later = recorded;
  later.rebase(1000);
  add(later, 2, {2});
  std::vector<const Event*> before, after;
  recorded.events(before);
  later.events(after);
  EXPECT_EQ(before[0], after[0]) << "no event is copied";
  EXPECT_EQ(recorded.serial_of(*before[1]), 1u);
  EXPECT_EQ(later.serial_of(*after[1]), 1001u);
  EXPECT_EQ(later.serial_of(*after[2]), 1002u);
  EXPECT_EQ(recorded.next_serial(), 2u);
}

TEST(LogTest, ALongLogIsDroppedWithoutDeepRecursion) {
  Log log;
  for (int i = 0; i < 300000; i++) log.add_flush();
  EXPECT_EQ(log.size(), 300000u);
}

}  // namespace
}  // namespace sisyfs::log_test
