#include "finding/write_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crash/crash_points.h"
#include "disk/media.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::write_text_test {
namespace {

// The words and the bytes of a write of these blocks, each filled with its value.
std::string content(uint64_t first, const std::vector<uint8_t>& values) {
  Media media{Image(toy_kind().disks)};
  std::vector<std::byte> bytes;
  for (const uint8_t value : values) bytes.insert(bytes.end(), ToyTarget::kBlockSize, std::byte{value});
  EXPECT_EQ(media.write(BlockAddress(first), bytes), IoStatus::kOk);
  std::vector<const Event*> events;
  ToyTarget target({});
  const Event& event = *media.state().log.events(events).at(0);
  return words_of(target, event, toy_kind().disks) + "; " + bytes_of(event, toy_kind().disks);
}

TEST(WriteTextTest, ContentIsToldInTheWordsOfTheTargetAndAsItsFirstBytes) {
  EXPECT_THAT(content(1, {7}), testing::StartsWith("7; 07 07 "));
  EXPECT_EQ(content(4, {0xab}), "; ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab")
      << "the toy has no words";
  EXPECT_THAT(content(3, {1, 2}), testing::EndsWith("01 01 ...")) << "the first bytes";
}

TEST(WriteTextTest, ADiscardHasNoContent) {
  Media media{Image(toy_kind().disks)};
  ASSERT_EQ(media.discard(BlockAddress(1), BlockCount(1)), IoStatus::kOk);
  std::vector<const Event*> events;
  ToyTarget target({});
  Geometry geometry = toy_kind().disks;
  EXPECT_EQ(words_of(target, *media.state().log.events(events).at(0), geometry), "discarded");
  geometry.erase_blocks = 1;
  EXPECT_EQ(words_of(target, *media.state().log.events(events).at(0), geometry), "erased");
}

StrayText stray(Access access, uint64_t first, uint64_t count = 1) {
  Log log;
  log.add_stray(access, BlockAddress(first), BlockCount(count));
  std::vector<const Event*> events;
  Geometry geometry = toy_kind().disks;
  geometry.erase_blocks = 5;
  return text_of_stray(*log.events(events).at(0), geometry);
}

TEST(WriteTextTest, EachAccessThatIsNotAllowedHasItsWords) {
  EXPECT_EQ(stray(Access::kRead, 9).observed, "reads block 9 of a disk of 5");
  EXPECT_EQ(stray(Access::kWrite, 9).observed, "writes block 9 of a disk of 5");
  EXPECT_EQ(stray(Access::kRead, 9).kind, FindingKind::kOutOfRange);
  EXPECT_EQ(stray(Access::kProgramAgain, 2).observed, "programs page 2, which is not erased");
  EXPECT_EQ(stray(Access::kErasePart, 2).observed,
            "erases 1 page from page 2 on, with erase units of 5 pages");
  EXPECT_EQ(stray(Access::kErasePart, 2, 3).observed,
            "erases 3 pages from page 2 on, with erase units of 5 pages");
  EXPECT_EQ(stray(Access::kErasePart, 2).kind, FindingKind::kFlashMisuse);
  EXPECT_EQ(stray(Access::kSetBits, 2).observed, "programs bits of page 2 to 1 that are 0");
  EXPECT_EQ(stray(Access::kSetBits, 2).kind, FindingKind::kFlashMisuse);
}

TEST(WriteTextTest, ATornWriteSaysWhichBlocksItKept) {
  const DeviceModel device{.unit_bytes = ToyTarget::kBlockSize, .tearing = true};
  Media media{Image(toy_kind().disks)};
  const std::vector<std::byte> bytes(3 * size_t{ToyTarget::kBlockSize}, std::byte{1});
  ASSERT_EQ(media.write(BlockAddress(2), bytes), IoStatus::kOk);
  CrashPoints points(device, media.state());
  const CrashPoint* point = points.next();
  ASSERT_NE(point, nullptr);
  CrashState state(point->epoch);
  ASSERT_EQ(point->epoch.chains().size(), 3u) << "one for each block";
  state.keep(1, 0);
  EXPECT_EQ(torn_text(state, 0), "torn: of blocks 2 to 4 it kept 2, 4");
}

TEST(WriteTextTest, AProblemIsTold) {
  ToyTarget target({});
  const Problem problem{.kind = 0, .repaired = false, .context = {4}};
  EXPECT_EQ(problem_text(target, problem, kToyProblems), "M2 lost-block: block 4 holds a hint");
}

}  // namespace
}  // namespace sisyfs::write_text_test
