#include "disk/media.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "disk/failing_disk.h"
#include "disk/trace_disk.h"

namespace sisyfs {
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

// Whoever was told that an access failed must not find it done.
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

struct FailingDiskTest : Fixture {};

TEST_F(FailingDiskTest, TheChosenCallFailsOnceAndChangesNothing) {
  FailingDisk failing(disk, {.fail_read = 2, .fail_write = 2, .fail_flush = 1, .fail_discard = 1});
  Bytes out(4);
  EXPECT_EQ(failing.write(BlockAddress(0), filled(4, 1)), IoStatus::kOk);
  EXPECT_EQ(failing.write(BlockAddress(0), filled(4, 2)), IoStatus::kIoError);
  EXPECT_EQ(failing.flush(), IoStatus::kIoError);
  EXPECT_EQ(failing.discard(BlockAddress(0), BlockCount(1)), IoStatus::kIoError);
  EXPECT_EQ(content(failing, 0, 4), filled(4, 1));
  EXPECT_EQ(failing.read(BlockAddress(0), out), IoStatus::kIoError);
  EXPECT_EQ(disk.state().log.size(), 1u) << "failed calls do not reach the disk";
  EXPECT_EQ(failing.write(BlockAddress(0), filled(4, 3)), IoStatus::kOk);
  EXPECT_EQ(content(failing, 0, 4), filled(4, 3));
}

TEST_F(FailingDiskTest, ABrokenDeviceKeepsFailing) {
  FailingDisk failing(disk, {.fail_flush = 2, .broken_after = true});
  EXPECT_EQ(failing.flush(), IoStatus::kOk);
  EXPECT_EQ(failing.flush(), IoStatus::kIoError);
  EXPECT_EQ(failing.flush(), IoStatus::kIoError);
  EXPECT_EQ(failing.write(BlockAddress(0), filled(4, 1)), IoStatus::kOk) << "only flushes are broken";
}

TEST_F(FailingDiskTest, CountsAreSavedAndLoadedWithASnapshot) {
  FailingDisk failing(disk, {.fail_flush = 2});
  EXPECT_EQ(failing.flush(), IoStatus::kOk);
  const CallCounts saved = failing.save();
  EXPECT_EQ(failing.flush(), IoStatus::kIoError);
  failing.load(saved);
  EXPECT_EQ(failing.flush(), IoStatus::kIoError);
}

struct TraceDiskTest : Fixture {};

TEST_F(TraceDiskTest, TheObserverSeesEachCallAndWhatTheTargetWasTold) {
  FailingDisk failing(disk, {.fail_flush = 1});
  std::vector<DiskCall> calls;
  TraceDisk traced(failing, [&](const DiskCall& call) { calls.push_back(call); });
  const Bytes bytes = filled(8, 5);
  traced.note({BoundaryKind::kOpBegin, 1});
  EXPECT_EQ(traced.write(BlockAddress(3), bytes, {.fua = true}), IoStatus::kOk);
  EXPECT_EQ(traced.flush(), IoStatus::kIoError);
  EXPECT_EQ(traced.discard(BlockAddress(9), BlockCount(1)), IoStatus::kOutOfRange);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].boundary.number, 1u);
  EXPECT_EQ(calls[1].kind, DiskCall::Kind::kWrite);
  EXPECT_EQ(calls[1].first, BlockAddress(3));
  EXPECT_EQ(calls[1].bytes.size(), 8u);
  EXPECT_TRUE(calls[1].flags.fua);
  EXPECT_EQ(calls[2].status, IoStatus::kIoError);
  EXPECT_EQ(calls[3].status, IoStatus::kOutOfRange);
  EXPECT_EQ(content(traced, 3, 8), bytes);
  EXPECT_EQ(calls.back().kind, DiskCall::Kind::kRead);
}

TEST_F(MediaTest, WhatDiscardedBlocksReadAsIsTheDevicesChoice) {
  ASSERT_EQ(disk.write(BlockAddress(2), filled(4, 5)), IoStatus::kOk);
  const MediaState written = disk.save();
  const auto discarded = [&](DiscardReads reads) {
    disk.load(written);
    disk.set_discard(reads);
    EXPECT_EQ(disk.discard(BlockAddress(2), BlockCount(1)), IoStatus::kOk);
    Media again(written);
    again.redo(disk.state().log);
    EXPECT_EQ(again.state().current, disk.state().current);
    return content(disk, 2, 4);
  };
  EXPECT_EQ(discarded(DiscardReads::kZeros), filled(4, 0));
  EXPECT_EQ(discarded(DiscardReads::kOld), filled(4, 5));
  EXPECT_EQ(discarded(DiscardReads::kGarbage), filled(4, 0xDB));
}

struct ScratchTest : Fixture {};

TEST_F(ScratchTest, ReadsSeeWritesAndTheStateDoesNot) {
  ASSERT_EQ(disk.write(BlockAddress(1), filled(4, 3)), IoStatus::kOk);
  const MediaState before = disk.save();
  disk.begin_scratch(Media::Keep::kNothing);
  ASSERT_EQ(disk.write(BlockAddress(2), filled(8, 5)), IoStatus::kOk);
  ASSERT_EQ(disk.discard(BlockAddress(3), BlockCount(1)), IoStatus::kOk);
  ASSERT_EQ(disk.flush(), IoStatus::kOk);
  disk.note({BoundaryKind::kPromise, 1});
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

// Blocks that are open: each holds a value of its own, once somebody asks.
struct OddBlocksOpen : Decider {
  bool decide(BlockAddress address, BlockRef* block) override {
    asked.push_back(address.value);
    if (address.value % 2 == 0) return false;
    *block = filled_block(4, static_cast<std::byte>(100 + address.value));
    return true;
  }
  std::vector<uint64_t> asked;
};

// Nobody who uses a disk can tell whether it is in scratch: by what is read, by what is asked for, by the
// log.
TEST_F(ScratchTest, IsUsedLikeAnyDisk) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Image start({4, BlockCount(8)});
    for (uint64_t b = 0; b < 8; b += 1 + random() % 3) start.write(BlockAddress(b), filled(4, 50));
    Media plain{start}, scratch{start};
    OddBlocksOpen of_plain, of_scratch;
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

// A disk that leaves discarded blocks alone makes the log depend on what was there.
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
  EXPECT_EQ(disk.read(BlockAddress(4), out), IoStatus::kIoError);
  EXPECT_EQ(out, filled(8, 1));
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
  EXPECT_EQ(disk.read(BlockAddress(6), out), IoStatus::kIoError);
  EXPECT_EQ(disk.discard(BlockAddress(4), BlockCount(4)), IoStatus::kOk);
  const std::vector<BlockAddress> expected = {BlockAddress(2), BlockAddress(6)};
  EXPECT_EQ(std::vector(reads.addresses().begin(), reads.addresses().end()), expected);
}

// Everything holds sevens, once somebody asks.
struct Sevens : Decider {
  bool decide(BlockAddress address, BlockRef* block) override {
    asked.push_back(address.value);
    *block = filled_block(4, std::byte{7});
    return true;
  }
  std::vector<uint64_t> asked;
};

// Regression: what an erase leaves when it is cut off was taken from the newest content that an earlier power
// cut might have left, whatever that had in fact left.
TEST_F(RawFlashTest, AnEraseDecidesWhatAPowerCutLeftOpen) {
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

// What is open holds something already, so to look is no change, and whether a write is one depends on it.
TEST_F(MediaTest, WhatIsOpenIsComparedAsItIsDecided) {
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
}  // namespace sisyfs
