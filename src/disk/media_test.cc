#include "disk/media.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace sisyfs::media_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes filled(size_t size, int value) { return Bytes(size, static_cast<std::byte>(value)); }

struct Fixture : testing::Test {
  Media disk{Image({4, BlockCount(8)})};

  Bytes content(Disk& from, uint64_t first, size_t bytes) {
    Bytes out(bytes);
    EXPECT_EQ(from.read(BlockAddress(first), out), IoStatus::kOk);
    return out;
  }
};

struct MediaTest : Fixture {};

TEST_F(MediaTest, ReadsSeeWritesAndDiscardsBeforeAnyFlush) {
  ASSERT_EQ(disk.write(BlockAddress(2), filled(8, 5)), IoStatus::kOk);
  ASSERT_EQ(disk.discard(BlockAddress(3), BlockCount(1)), IoStatus::kOk);
  EXPECT_EQ(content(disk, 2, 4), filled(4, 5));
  EXPECT_EQ(content(disk, 3, 4), filled(4, 0));
  EXPECT_EQ(disk.state().durable, Image({4, BlockCount(8)}));
  EXPECT_EQ(disk.state().log.size(), 2u);
}

TEST_F(MediaTest, DoesALogAgainOnAnotherDisk) {
  const Image before = disk.state().current;
  ASSERT_EQ(disk.write(BlockAddress(1), filled(8, 9)), IoStatus::kOk);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  ASSERT_EQ(disk.discard(BlockAddress(2), BlockCount(1)), IoStatus::kOk);
  Media other(before);
  other.redo(disk.state().log);
  EXPECT_EQ(content(other, 1, 8), content(disk, 1, 8));
  EXPECT_EQ(other.state().current, disk.state().current);
  EXPECT_EQ(other.state().digest(), disk.state().digest());
}

TEST_F(MediaTest, AStrayAccessHasNoEffectAndIsRecorded) {
  const Bytes two = filled(8, 5), odd = filled(3, 5);
  Bytes out = filled(8, 1);
  EXPECT_EQ(disk.write(BlockAddress(7), two), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.read(BlockAddress(UINT64_MAX), out), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.write(BlockAddress(0), odd), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.discard(BlockAddress(4), BlockCount(UINT64_MAX - 2)), IoStatus::kOutOfRange);
  EXPECT_EQ(out, filled(8, 1));
  EXPECT_EQ(disk.state().current, Image({4, BlockCount(8)}));
  EXPECT_EQ(disk.state().log.strays(), 4u);
  std::vector<const Event*> events;
  disk.state().log.events(events);
  EXPECT_EQ(events[0]->access, Access::kWrite);
  EXPECT_EQ(events[0]->first, BlockAddress(7));
  EXPECT_EQ(events[0]->count, BlockCount(2));
  EXPECT_EQ(events[1]->access, Access::kRead);
}

// An access that was reported as failed must not have been done.
TEST_F(MediaTest, AnAccessThatFailsHasNoEffectAndIsTheOneThatWasAskedFor) {
  const Geometry geometry{4, BlockCount(2)};
  const std::array<std::byte, 4> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  for (uint32_t fails = 1; fails <= 4; ++fails) {
    Media disk{Image(geometry)};
    disk.fail_call(fails);
    std::array<std::byte, 4> out{};
    const std::array said = {disk.write(BlockAddress(0), bytes), disk.read(BlockAddress(0), out),
                             disk.flush(), disk.discard(BlockAddress(0), BlockCount(1))};
    for (uint32_t i = 0; i < said.size(); ++i)
      EXPECT_EQ(said[i], i + 1 == fails ? IoStatus::kIoError : IoStatus::kOk) << i;
    EXPECT_TRUE(disk.call_failed());
    EXPECT_EQ(disk.state().log.size(), fails == 2 ? 3u : 2u) << "a read is not logged, what failed neither";
    const bool written = disk.state().current.block(BlockAddress(0)) != nullptr;
    EXPECT_EQ(written, fails == 4) << "written and discarded, unless one of the two failed";
    EXPECT_EQ(out[0], fails == 1 || fails == 2 ? std::byte{0} : std::byte{1});
  }
}

TEST_F(MediaTest, ASavedStateIsAValue) {
  ASSERT_EQ(disk.write(BlockAddress(2), filled(4, 5)), IoStatus::kOk);
  const MediaState saved = disk.save();
  ASSERT_EQ(disk.write(BlockAddress(2), filled(4, 6)), IoStatus::kOk);
  EXPECT_NE(disk.state().digest(), saved.digest());
  disk.load(saved);
  EXPECT_EQ(content(disk, 2, 4), filled(4, 5));
  EXPECT_EQ(disk.state().digest(), saved.digest());
}

TEST_F(MediaTest, WhatIsDurableIsPartOfTheState) {
  ASSERT_EQ(disk.write(BlockAddress(2), filled(4, 5)), IoStatus::kOk);
  const MediaState all_durable(disk.state().current);
  EXPECT_EQ(all_durable.current, disk.state().current);
  EXPECT_NE(all_durable.digest(), disk.state().digest());
}

TEST_F(MediaTest, WhatDiscardedBlocksReadAsIsTheDevicesChoice) {
  ASSERT_EQ(disk.write(BlockAddress(2), filled(4, 5)), IoStatus::kOk);
  const MediaState written = disk.save();
  const auto discarded = [&](DiscardReads reads) {
    disk.load(written);
    disk.set_discard(reads);
    EXPECT_EQ(disk.discard(BlockAddress(2), BlockCount(1)), IoStatus::kOk);
    Media again(written.durable);
    again.redo(disk.state().log);
    EXPECT_EQ(again.state().current, disk.state().current);
    return content(disk, 2, 4);
  };
  EXPECT_EQ(discarded(DiscardReads::kZeros), filled(4, 0));
  EXPECT_EQ(discarded(DiscardReads::kOld), filled(4, 5));
  EXPECT_EQ(discarded(DiscardReads::kGarbage), filled(4, 0xDB));
}

TEST_F(MediaTest, ARedoneLogGoesOnInSerialNumbers) {
  ASSERT_EQ(disk.write(BlockAddress(1), filled(8, 9)), IoStatus::kOk);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  Media other(MediaState(Image({4, BlockCount(8)}), 50));
  other.redo(disk.state().log);
  ASSERT_EQ(other.write(BlockAddress(3), filled(4, 1)), IoStatus::kOk);
  std::vector<const Event*> events;
  const Log& log = other.state().log;
  log.events(events);
  ASSERT_EQ(events.size(), 3u);
  for (uint64_t i = 0; i < 3; i++) EXPECT_EQ(log.serial_of(*events[i]), 50 + i);
  EXPECT_EQ(disk.state().log.serial_of(*events[0]), 0u) << "the event itself is shared and unchanged";
}

// Two disks of 8 blocks.
struct TwoDisksTest : Fixture {
  TwoDisksTest() { disk = Media(Image({.block_size = 4, .block_count = BlockCount(16), .disks = 2})); }
};

TEST_F(TwoDisksTest, EachDiskHasItsOwnBlocks) {
  Disk& second = disk.disk(1);
  EXPECT_EQ(&disk.disk(0), &disk);
  EXPECT_EQ(disk.geometry(), (Geometry{4, BlockCount(8)}));
  EXPECT_EQ(second.geometry(), disk.geometry());
  ASSERT_EQ(disk.write(BlockAddress(5), filled(4, 1)), IoStatus::kOk);
  ASSERT_EQ(second.write(BlockAddress(5), filled(8, 2)), IoStatus::kOk);
  ASSERT_EQ(second.discard(BlockAddress(6), BlockCount(1)), IoStatus::kOk);
  EXPECT_EQ(content(disk, 4, 12),
            (Bytes{{}, {}, {}, {}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}, {}, {}, {}, {}}));
  EXPECT_EQ(content(second, 5, 4), filled(4, 2));
  EXPECT_EQ(content(second, 6, 4), filled(4, 0));
  EXPECT_EQ(disk.state().current.block(BlockAddress(13))->bytes()[0], std::byte{2});
  std::vector<const Event*> events;
  disk.state().log.events(events);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]->disk, 0u);
  EXPECT_EQ(events[1]->disk, 1u);
  EXPECT_EQ(events[1]->first, BlockAddress(13)) << "in the address space of both";
  EXPECT_EQ(events[2]->disk, 1u);
}

TEST_F(TwoDisksTest, FlushesAndBoundariesGoToOneLog) {
  ASSERT_EQ(disk.disk(1).flush(), IoStatus::kOk);
  disk.disk(1).note({BoundaryKind::kOpEnd});
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  std::vector<const Event*> events;
  disk.state().log.events(events);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]->kind, EventKind::kFlush);
  EXPECT_EQ(events[0]->disk, 1u);
  EXPECT_EQ(events[1]->kind, EventKind::kBoundary);
  EXPECT_EQ(events[2]->disk, 0u);
}

TEST_F(TwoDisksTest, AnAccessBeyondTheEndOfADiskIsAStrayOfThatDisk) {
  const Bytes two = filled(8, 5);
  Bytes out(4);
  EXPECT_EQ(disk.write(BlockAddress(7), two), IoStatus::kOutOfRange) << "not the first block of disk 1";
  EXPECT_EQ(disk.read(BlockAddress(8), out), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.disk(1).write(BlockAddress(7), two), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.disk(1).discard(BlockAddress(8), BlockCount(1)), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.disk(1).read(BlockAddress(7), out), IoStatus::kOk);
  EXPECT_EQ(disk.state().current, Image({.block_size = 4, .block_count = BlockCount(16), .disks = 2}));
  std::vector<const Event*> events;
  disk.state().log.events(events);
  ASSERT_EQ(events.size(), 4u);
  const std::array<std::pair<uint32_t, uint64_t>, 4> expected = {{{0, 7}, {0, 8}, {1, 7}, {1, 8}}};
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(events[i]->kind, EventKind::kStray);
    EXPECT_EQ(events[i]->disk, expected[i].first) << i;
    EXPECT_EQ(events[i]->first, BlockAddress(expected[i].second)) << i << ": the address on the disk";
  }
}

TEST_F(TwoDisksTest, MisuseOfTheSecondRawFlashNamesIt) {
  disk = Media(Image({4, BlockCount(16), 4, 2}));
  ASSERT_EQ(disk.disk(1).discard(BlockAddress(4), BlockCount(4)), IoStatus::kOk);
  ASSERT_EQ(disk.disk(1).write(BlockAddress(5), filled(4, 3)), IoStatus::kOk);
  EXPECT_EQ(disk.disk(1).write(BlockAddress(5), filled(4, 3)), IoStatus::kMisuse);
  EXPECT_EQ(disk.write(BlockAddress(5), filled(4, 3)), IoStatus::kMisuse) << "never erased";
  std::vector<const Event*> events;
  disk.state().log.events(events);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[2]->disk, 1u);
  EXPECT_EQ(events[2]->first, BlockAddress(5));
  EXPECT_EQ(events[3]->disk, 0u);
}

TEST_F(TwoDisksTest, FailingCallsAreCountedOverAllDisks) {
  disk.fail_call(3);
  EXPECT_EQ(disk.write(BlockAddress(0), filled(4, 1)), IoStatus::kOk);
  EXPECT_EQ(disk.disk(1).write(BlockAddress(0), filled(4, 1)), IoStatus::kOk);
  EXPECT_FALSE(disk.call_failed());
  EXPECT_EQ(disk.disk(1).flush(), IoStatus::kIoError);
  EXPECT_TRUE(disk.call_failed());
  EXPECT_EQ(disk.disk(1).flush(), IoStatus::kOk);
}

TEST_F(TwoDisksTest, ACopyHasDisksOfItsOwn) {
  ASSERT_EQ(disk.disk(1).write(BlockAddress(0), filled(4, 1)), IoStatus::kOk);
  Media copy = disk;
  ASSERT_EQ(copy.disk(1).write(BlockAddress(0), filled(4, 2)), IoStatus::kOk);
  EXPECT_EQ(content(disk.disk(1), 0, 4), filled(4, 1));
  EXPECT_EQ(content(copy.disk(1), 0, 4), filled(4, 2));
}

TEST_F(TwoDisksTest, ScratchAndFirstReadsKnowTheSecondDisk) {
  ASSERT_EQ(disk.disk(1).write(BlockAddress(2), filled(4, 1)), IoStatus::kOk);
  FirstReads reads;
  reads.restart(disk.state().current.geometry().block_count);
  disk.watch(&reads);
  disk.begin_scratch(Media::Keep::kNothing);
  EXPECT_EQ(content(disk.disk(1), 2, 4), filled(4, 1));
  ASSERT_EQ(disk.disk(1).write(BlockAddress(2), filled(4, 9)), IoStatus::kOk);
  EXPECT_EQ(content(disk.disk(1), 2, 4), filled(4, 9));
  EXPECT_EQ(content(disk, 2, 4), filled(4, 0));
  ASSERT_EQ(reads.addresses().size(), 2u);
  EXPECT_EQ(reads.addresses()[0], BlockAddress(10));
  EXPECT_EQ(reads.addresses()[1], BlockAddress(2));
}

TEST(GeometryTest, SeveralDisksShareOneAddressSpace) {
  const Geometry three{.block_size = 4, .block_count = BlockCount(12), .disks = 3};
  EXPECT_EQ(three.blocks_per_disk(), 4u);
  EXPECT_EQ(three.first_block_of(2), BlockAddress(8));
  EXPECT_EQ(three.disk_of(BlockAddress(7)), 1u);
  EXPECT_EQ(three.disk_of(BlockAddress(8)), 2u);
  EXPECT_EQ(three.one_disk(), (Geometry{4, BlockCount(4)}));
  EXPECT_NE(three.digest(), (Geometry{4, BlockCount(12)}).digest());
  EXPECT_NE(three.digest(), (Geometry{4, BlockCount(12), 2}).digest());
}

// The digest of one disk is part of every fingerprint, so it must not change.
TEST(GeometryTest, TheDigestOfOneDiskIsPinned) {
  const auto pinned = [](const Geometry& g) {
    return digest_at(g.block_size,
                     digest_at(g.block_count.value, Digest{0x67656f6d65747279u, 1 + g.erase_blocks}));
  };
  for (const Geometry& one : {Geometry{512, BlockCount(64)}, Geometry{128, BlockCount(32), 4}})
    EXPECT_EQ(one.digest(), pinned(one));
}

struct ScratchTest : Fixture {};

TEST_F(ScratchTest, ReadsSeeWritesAndTheStateDoesNot) {
  ASSERT_EQ(disk.write(BlockAddress(1), filled(4, 3)), IoStatus::kOk);
  const MediaState before = disk.save();
  disk.begin_scratch(Media::Keep::kNothing);
  ASSERT_EQ(disk.write(BlockAddress(2), filled(8, 5)), IoStatus::kOk);
  ASSERT_EQ(disk.discard(BlockAddress(3), BlockCount(1)), IoStatus::kOk);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  disk.note({BoundaryKind::kPromise});
  EXPECT_EQ(content(disk, 1, 4), filled(4, 3));
  EXPECT_EQ(content(disk, 2, 4), filled(4, 5));
  EXPECT_EQ(content(disk, 3, 4), filled(4, 0));
  EXPECT_EQ(disk.state().current, before.current);
  EXPECT_EQ(disk.state().log.size(), before.log.size());
  EXPECT_EQ(disk.write(BlockAddress(7), filled(8, 5)), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.state().log.strays(), 1u);
  disk.load(before);
  EXPECT_EQ(content(disk, 2, 4), filled(4, 0)) << "a load ends it";
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  EXPECT_EQ(disk.state().log.size(), before.log.size() + 1);
}

TEST_F(ScratchTest, WhatIsWrittenBackIsNoChange) {
  for (const bool scratch : {false, true}) {
    disk.load(MediaState(Image({4, BlockCount(8)})));
    ASSERT_EQ(disk.write(BlockAddress(1), filled(4, 3)), IoStatus::kOk);
    if (scratch) disk.begin_scratch(Media::Keep::kNothing);
    ASSERT_EQ(disk.write(BlockAddress(2), filled(4, 4)), IoStatus::kOk);
    disk.remember();
    EXPECT_FALSE(disk.has_changed());
    for (const uint64_t block : {1, 2}) {
      ASSERT_EQ(disk.write(BlockAddress(block), filled(4, 9)), IoStatus::kOk);
      ASSERT_EQ(disk.write(BlockAddress(block), filled(4, 8)), IoStatus::kOk);
      EXPECT_TRUE(disk.has_changed());
      ASSERT_EQ(disk.write(BlockAddress(block), filled(4, static_cast<int>(block) + 2)), IoStatus::kOk);
      EXPECT_FALSE(disk.has_changed());
    }
    ASSERT_EQ(disk.discard(BlockAddress(2), BlockCount(1)), IoStatus::kOk);
    EXPECT_TRUE(disk.has_changed());
    disk.remember();
    EXPECT_FALSE(disk.has_changed());
  }
}

// Decides each odd block to hold a value of its own.
struct OddBlocksUndecided : Decider {
  bool decide(BlockAddress address, BlockRef* block) override {
    asked.push_back(address.value);
    if (address.value % 2 == 0) return false;
    *block = filled_block(4, static_cast<std::byte>(100 + address.value));
    return true;
  }
  std::vector<uint64_t> asked;
};

// Scratch is not visible to a user of the disk: reads, questions to the Decider and the log are the same.
TEST_F(ScratchTest, IsUsedLikeAnyDisk) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Image start({4, BlockCount(8)});
    for (uint64_t b = 0; b < 8; b += 1 + random() % 3) start.write(BlockAddress(b), filled(4, 50));
    Media plain{start}, scratch{start};
    OddBlocksUndecided of_plain, of_scratch;
    FirstReads plain_reads, scratch_reads;
    plain_reads.restart(BlockCount(8));
    scratch_reads.restart(BlockCount(8));
    plain.watch(&plain_reads, &of_plain);
    scratch.watch(&scratch_reads, &of_scratch);
    const auto discards = static_cast<DiscardReads>(round % 3);
    plain.set_discard(discards);
    scratch.set_discard(discards);
    scratch.begin_scratch(Media::Keep::kLog);
    for (int call = 0; call < 12; ++call) {
      const BlockAddress first(random() % 8);
      const size_t count = 1 + random() % 2, kind = random() % 4;
      if (kind == 0) {
        const Bytes bytes = filled(4 * count, static_cast<int>(random() % 3));
        EXPECT_EQ(plain.write(first, bytes), scratch.write(first, bytes));
      } else if (kind == 1) {
        EXPECT_EQ(plain.discard(first, BlockCount(count)), scratch.discard(first, BlockCount(count)));
      } else {
        Bytes out(4 * count), other(4 * count);
        EXPECT_EQ(plain.read(first, out), scratch.read(first, other));
        EXPECT_EQ(out, other);
      }
    }
    EXPECT_EQ(of_plain.asked, of_scratch.asked);
    EXPECT_EQ(plain.state().log.digest(), scratch.state().log.digest());
    EXPECT_EQ(plain.state().log.size(), scratch.state().log.size());
    EXPECT_EQ(scratch.state().current, start);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

// If discarded blocks keep their content, the log depends on that content.
TEST_F(MediaTest, ADiscardThatKeepsTheOldContentIsARead) {
  FirstReads reads;
  reads.restart(disk.geometry().block_count);
  disk.watch(&reads);
  ASSERT_EQ(disk.discard(BlockAddress(3), BlockCount(1)), IoStatus::kOk);
  EXPECT_TRUE(reads.addresses().empty());
  disk.set_discard(DiscardReads::kOld);
  ASSERT_EQ(disk.discard(BlockAddress(4), BlockCount(1)), IoStatus::kOk);
  ASSERT_EQ(reads.addresses().size(), 1u);
  EXPECT_EQ(reads.addresses()[0], BlockAddress(4));
}

struct RawFlashTest : Fixture {
  RawFlashTest() { disk = Media(Image({4, BlockCount(8), 4})); }
};

TEST_F(RawFlashTest, APageIsProgrammedOnceAndErasedWithItsUnit) {
  EXPECT_EQ(disk.write(BlockAddress(0), filled(4, 1)), IoStatus::kMisuse) << "a new flash holds rubbish";
  ASSERT_EQ(disk.discard(BlockAddress(0), BlockCount(4)), IoStatus::kOk);
  EXPECT_EQ(content(disk, 0, 16), filled(16, 0xFF));
  ASSERT_EQ(disk.write(BlockAddress(1), filled(8, 7)), IoStatus::kOk);
  EXPECT_EQ(content(disk, 1, 8), filled(8, 7));
  EXPECT_EQ(disk.state().log.misuses(), 1u);
  EXPECT_EQ(disk.write(BlockAddress(0), filled(8, 3)), IoStatus::kMisuse) << "page 1 is programmed";
  EXPECT_EQ(content(disk, 0, 4), filled(4, 0xFF)) << "a misuse has no effect";
  ASSERT_EQ(disk.discard(BlockAddress(0), BlockCount(4)), IoStatus::kOk);
  EXPECT_EQ(disk.write(BlockAddress(1), filled(4, 3)), IoStatus::kOk);
  EXPECT_EQ(disk.state().log.misuses(), 2u);
  EXPECT_EQ(disk.state().log.strays(), 0u);
}

TEST_F(RawFlashTest, OnlyWholeUnitsAreErased) {
  EXPECT_EQ(disk.discard(BlockAddress(4), BlockCount(3)), IoStatus::kMisuse);
  EXPECT_EQ(disk.discard(BlockAddress(2), BlockCount(4)), IoStatus::kMisuse);
  EXPECT_EQ(disk.discard(BlockAddress(8), BlockCount(4)), IoStatus::kOutOfRange);
  EXPECT_EQ(disk.state().log.misuses(), 2u);
  EXPECT_EQ(disk.state().log.strays(), 1u);
  EXPECT_EQ(disk.discard(BlockAddress(0), BlockCount(8)), IoStatus::kOk);
}

TEST_F(RawFlashTest, AnUnreadablePageIsAnErrorUntilItIsErased) {
  Image image({4, BlockCount(8), 4});
  const Image before = image;
  image.set(BlockAddress(5), unreadable_block(4));
  EXPECT_NE(image, before);
  disk.load(MediaState(image));
  Bytes out = filled(8, 1);
  EXPECT_EQ(disk.read(BlockAddress(4), out), IoStatus::kUncorrectable);
  EXPECT_EQ(out, filled(8, 1));
  disk.fail_call(1);
  EXPECT_EQ(disk.read(BlockAddress(4), out), IoStatus::kIoError)
      << "the device failed: that is another error";
  disk.fail_call(0);
  EXPECT_EQ(disk.write(BlockAddress(5), filled(4, 1)), IoStatus::kMisuse);
  EXPECT_EQ(content(disk, 4, 4), filled(4, 0));
  ASSERT_EQ(disk.discard(BlockAddress(4), BlockCount(4)), IoStatus::kOk);
  EXPECT_EQ(content(disk, 4, 8), filled(8, 0xFF));
}

// Whether a program works depends on what the page held.
TEST_F(RawFlashTest, AProgramAndAFailedReadAreReads) {
  Image image({4, BlockCount(8), 4});
  image.set(BlockAddress(6), unreadable_block(4));
  disk.load(MediaState(image));
  ASSERT_EQ(disk.discard(BlockAddress(0), BlockCount(4)), IoStatus::kOk);
  disk.load(MediaState(disk.state().current));
  FirstReads reads;
  reads.restart(disk.geometry().block_count);
  disk.watch(&reads);
  EXPECT_EQ(disk.write(BlockAddress(2), filled(4, 1)), IoStatus::kOk);
  Bytes out(4);
  EXPECT_EQ(disk.read(BlockAddress(6), out), IoStatus::kUncorrectable);
  EXPECT_EQ(disk.discard(BlockAddress(4), BlockCount(4)), IoStatus::kOk);
  const std::vector<BlockAddress> expected = {BlockAddress(2), BlockAddress(6)};
  EXPECT_EQ(std::vector(reads.addresses().begin(), reads.addresses().end()), expected);
}

// Decides each block to hold sevens.
struct Sevens : Decider {
  bool decide(BlockAddress address, BlockRef* block) override {
    asked.push_back(address.value);
    *block = filled_block(4, std::byte{7});
    return true;
  }
  std::vector<uint64_t> asked;
};

// Regression: an interrupted erase left the newest content that an earlier power cut might have left,
// although that cut had lost it.
TEST_F(RawFlashTest, AnEraseDecidesWhatAPowerCutLeftUndecided) {
  disk.load(MediaState(Image({4, BlockCount(8), 4})));
  FirstReads reads;
  reads.restart(disk.geometry().block_count);
  Sevens sevens;
  disk.watch(&reads, &sevens);
  Bytes out(4);
  EXPECT_EQ(disk.read(BlockAddress(5), out), IoStatus::kOk);
  EXPECT_EQ(disk.discard(BlockAddress(4), BlockCount(4)), IoStatus::kOk);
  EXPECT_EQ(sevens.asked, (std::vector<uint64_t>{5, 4, 6, 7})) << "each once";
  EXPECT_EQ(content(disk, 4, 16), filled(16, 0xFF));
}

// Deciding an undecided block is no change, and whether a write changes it depends on what was decided.
TEST_F(MediaTest, AnUndecidedBlockIsComparedAsItIsDecided) {
  enum class Way { kFlash, kPlain, kScratch };
  for (const Way way : {Way::kFlash, Way::kPlain, Way::kScratch}) {
    disk = Media(Image({4, BlockCount(8), way == Way::kFlash ? 4u : 0u}));
    FirstReads reads;
    reads.restart(disk.geometry().block_count);
    Sevens sevens;
    disk.watch(&reads, &sevens);
    if (way == Way::kScratch) disk.begin_scratch(Media::Keep::kNothing);
    disk.remember();
    EXPECT_EQ(content(disk, 1, 4), filled(4, 7));
    EXPECT_FALSE(disk.has_changed());
    if (way == Way::kFlash) continue;
    ASSERT_EQ(disk.write(BlockAddress(2), filled(4, 7)), IoStatus::kOk);
    EXPECT_FALSE(disk.has_changed());
    EXPECT_EQ(sevens.asked, (std::vector<uint64_t>{1, 2}));
    ASSERT_EQ(disk.write(BlockAddress(3), filled(4, 0)), IoStatus::kOk);
    EXPECT_TRUE(disk.has_changed());
  }
}

}  // namespace
}  // namespace sisyfs::media_test
