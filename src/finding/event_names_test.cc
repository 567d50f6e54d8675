#include "finding/event_names.h"

#include <gtest/gtest.h>

#include "disk/media.h"

namespace sisyfs::event_names_test {
namespace {

TEST(EventNamesTest, CountsWritesAndFlushesAndNoBoundaries) {
  const Geometry geometry{.block_size = 4, .block_count = BlockCount(8), .erase_blocks = 0, .disks = 2};
  Media media{Image(geometry)};
  const std::byte block[4] = {std::byte{1}};
  media.note({BoundaryKind::kOpBegin, 0});
  ASSERT_EQ(media.disk(0).write(BlockAddress(2), block), IoStatus::kOk);
  ASSERT_EQ(media.disk(1).write(BlockAddress(3), block), IoStatus::kOk);
  ASSERT_EQ(media.disk(1).flush(), IoStatus::kOk);
  EventNames names(geometry);
  names.add(media.state().log, 0, 100, 7, 0);
  EXPECT_EQ(names.at(101), (EventName{7, 0, 1, 0, 2})) << "the boundary has serial number 100 and no name";
  EXPECT_EQ(names.at(102), (EventName{7, 0, 2, 1, 3})) << "the address is that on its disk";
  EXPECT_EQ(names.address(102), 7u) << "and this one that of all disks";
  EXPECT_EQ(names.find({7, 0, 3, 1, 0}), 103u);
  EXPECT_EQ(names.find({7, 1, 3, 1, 0}), std::nullopt) << "of a recovery";
}

}  // namespace
}  // namespace sisyfs::event_names_test
