#include "machine/settler.h"

#include <gtest/gtest.h>

#include "machine/toy_target_for_test.h"

namespace sisyfs::settler_test {
namespace {

class SettlerTest : public testing::Test {
 protected:
  void put(uint64_t block, uint8_t value) {
    const std::byte bytes[ToyTarget::kBlockSize] = {static_cast<std::byte>(value)};
    ASSERT_EQ(media.write(BlockAddress(block), bytes), IoStatus::kOk);
  }
  void flush() { ASSERT_EQ(media.flush(), IoStatus::kOk); }

  const Image blank{toy_kind().disks};
  const DeviceModel device;
  Media media{blank};
  Settler settler{device, blank};
};

TEST_F(SettlerTest, WhatWasFlushedIsDurableAndLeavesTheLog) {
  put(1, 1);
  flush();
  const MediaState settled = settler.settle(media.state());
  EXPECT_TRUE(settled.log.empty());
  EXPECT_EQ(settled.durable.digest(), media.state().current.digest());
  EXPECT_EQ(settled.log.next_serial(), media.state().log.next_serial());
}

TEST_F(SettlerTest, WhatWasNotFlushedStaysInTheLog) {
  put(1, 1);
  flush();
  put(2, 1);
  const MediaState settled = settler.settle(media.state());
  EXPECT_EQ(settled.log.size(), 1u);
  EXPECT_NE(settled.durable.digest(), settled.current.digest());
  EXPECT_EQ(settled.current.digest(), media.state().current.digest());
}

TEST_F(SettlerTest, ADeviceThatWritesThroughHasNothingInDoubt) {
  DeviceModel through;
  through.cache = WriteCache::kWriteThrough;
  put(1, 1);
  EXPECT_TRUE(Settler(through, blank).settle(media.state()).log.empty());
}

TEST_F(SettlerTest, DisksThatCannotBeToldApartHaveOneFingerprint) {
  put(1, 1);
  put(2, 1);
  const Digest one = settler.print_of(settler.settle(media.state()));
  media.load(MediaState(blank));
  put(2, 1);
  put(1, 1);
  const Digest other_order = settler.print_of(settler.settle(media.state()));
  EXPECT_EQ(one, other_order) << "writes to two blocks come in any order";
  flush();
  EXPECT_NE(settler.print_of(settler.settle(media.state())), one) << "now they are durable";
}

TEST_F(SettlerTest, VersionsOfOneBlockKeepTheirOrder) {
  put(1, 1);
  put(1, 2);
  const Digest one = settler.print_of(settler.settle(media.state()));
  media.load(MediaState(blank));
  put(1, 2);
  put(1, 1);
  EXPECT_NE(settler.print_of(settler.settle(media.state())), one);
}

// A flush makes what is in the cache durable. It does nothing to what a power cut left undecided.
TEST_F(SettlerTest, WhatAPowerCutLeftUndecidedIsNotWhatIsPending) {
  put(1, 1);
  const MediaState pending = settler.settle(media.state());
  Log undecided = pending.log;
  undecided.add_boundary({BoundaryKind::kPowerCut, 0});
  const MediaState after_cut(blank, blank, Log(pending.log.next_serial()), undecided);
  EXPECT_NE(settler.print_of(after_cut), settler.print_of(pending));
  EXPECT_NE(settler.print_of(after_cut), settler.print_of(MediaState(blank)));
}

}  // namespace
}  // namespace sisyfs::settler_test
