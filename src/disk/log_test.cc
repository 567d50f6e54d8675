#include "disk/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace sisyfs {
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

TEST(LogTest, EventsComeInIssueOrderWithTheirOpAndContent) {
  Log log;
  log.add_boundary({BoundaryKind::kOpBegin, 7});
  add(log, 3, {1, 0}, {.fua = true, .block_kind = BlockKind{5}});
  log.add_boundary({BoundaryKind::kOpEnd, 7});
  std::vector<BlockRef> discarded(2);
  discarded[0] = block(9);
  log.add_discard(BlockAddress(8), discarded);
  log.add_flush();
  std::vector<const Event*> events;
  ASSERT_EQ(log.events(events).size(), 5u);
  EXPECT_EQ(events[0]->boundary, (Boundary{BoundaryKind::kOpBegin, 7}));
  const Event& write = *events[1];
  EXPECT_EQ(write.kind, EventKind::kWrite);
  EXPECT_EQ(write.op, 7u);
  EXPECT_TRUE(write.flags.fua);
  EXPECT_EQ(write.flags.block_kind, BlockKind{5});
  EXPECT_EQ(write.first, BlockAddress(3));
  EXPECT_EQ(write.count, BlockCount(2));
  EXPECT_EQ(write.block(0)->bytes()[0], std::byte{1});
  EXPECT_EQ(write.block(1), nullptr) << "zero";
  EXPECT_EQ(events[2]->op, 7u) << "the end of an op belongs to it";
  EXPECT_EQ(events[3]->op, kNoOp);
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

TEST(LogTest, DigestSeesEffectsAndTheirOrderButNotMarks) {
  Log a, b, c, d, e, f;
  add(a, 1, {1});
  add(a, 2, {2});
  b.add_boundary({BoundaryKind::kOpBegin, 1});
  add(b, 1, {1}, {.block_kind = BlockKind{3}});
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
}

TEST(LogTest, ALongLogIsDroppedWithoutDeepRecursion) {
  Log log;
  for (int i = 0; i < 300000; i++) log.add_flush();
  EXPECT_EQ(log.size(), 300000u);
}

}  // namespace
}  // namespace sisyfs
