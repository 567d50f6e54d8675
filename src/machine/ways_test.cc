#include "machine/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/toy_target_for_test.h"

namespace sisyfs::ways_test {
namespace {

using Kind = InjectedFailure::Kind;
using testing::ElementsAre;

// The failures of all ways of an op with so many accesses and allocations, as "d1" and "a1"; "" is none.
std::vector<std::string> ways_of(const DiskSetup& setup, bool can_fail_allocations, uint32_t accesses,
                                 uint32_t allocations, bool may_fail = true) {
  const Image blank(setup.kind.disks);
  Ways ways(setup, blank, can_fail_allocations);
  ways.begin_state(MediaState(blank));
  EXPECT_FALSE(ways.has_undecided());
  ways.begin_op(may_fail);
  std::vector<std::string> all;
  do {
    const InjectedFailure& failure = ways.failure();
    const bool failed = failure.nth <= (failure.kind == Kind::kDiskAccess ? accesses : allocations);
    if (failure.kind == Kind::kNone) {
      all.emplace_back("");
    } else if (failed) {
      all.push_back((failure.kind == Kind::kDiskAccess ? "d" : "a") + std::to_string(failure.nth));
      ways.note_failed(true);
    }
  } while (ways.next());
  return all;
}

TEST(WaysTest, WithoutFailuresThereIsOneWay) {
  EXPECT_THAT(ways_of(toy_setup(), true, 3, 3, false), ElementsAre(""));
}

TEST(WaysTest, EachAccessAndEachAllocationFailsOnce) {
  EXPECT_THAT(ways_of(toy_setup(), true, 2, 1), ElementsAre("", "d1", "d2", "a1"));
  EXPECT_THAT(ways_of(toy_setup(), true, 0, 1), ElementsAre("", "a1"));
  EXPECT_THAT(ways_of(toy_setup(), true, 2, 0), ElementsAre("", "d1", "d2"));
}

TEST(WaysTest, OnlyWhatTheSetupAllowsFails) {
  DiskSetup setup = toy_setup();
  setup.failures.memory = false;
  EXPECT_THAT(ways_of(setup, true, 2, 1), ElementsAre("", "d1", "d2"));
  setup.failures.memory = true;
  setup.failures.disk = false;
  EXPECT_THAT(ways_of(setup, true, 2, 1), ElementsAre("", "a1"));
  EXPECT_THAT(ways_of(setup, false, 2, 1), ElementsAre("")) << "the target cannot make allocations fail";
}

TEST(WaysTest, ANamedFailureIsTheOnlyWay) {
  const DiskSetup setup = toy_setup();
  Ways ways(setup, Image(setup.kind.disks), true);
  ways.begin_state(MediaState(Image(setup.kind.disks)));
  ways.begin_op(InjectedFailure{Kind::kDiskAccess, 2});
  EXPECT_EQ(ways.failure(), (InjectedFailure{Kind::kDiskAccess, 2}));
  ways.note_failed(true);
  EXPECT_FALSE(ways.next());
}

// Block 1 was in the cache when the power went.
TEST(WaysTest, AnUndecidedBlockThatIsReadGivesOneWayForEachContent) {
  const DiskSetup setup = toy_setup();
  const Image blank(setup.kind.disks);
  Media media(blank);
  const std::byte bytes[ToyTarget::kBlockSize] = {std::byte{1}};
  ASSERT_EQ(media.write(BlockAddress(1), bytes), IoStatus::kOk);
  Log undecided = media.state().log;
  undecided.add_boundary({BoundaryKind::kPowerCut, 0});
  const MediaState disk(blank, blank, Log(undecided.next_serial()), undecided);
  Ways ways(setup, blank, false);
  ways.begin_state(disk);
  ASSERT_TRUE(ways.has_undecided());

  ways.begin_op(false);
  EXPECT_FALSE(ways.next()) << "nothing was read";
  EXPECT_FALSE(ways.narrowed().undecided_log().empty());

  ways.begin_op(false);
  std::vector<bool> written;
  do {
    BlockRef block;
    EXPECT_FALSE(ways.undecided().decide(BlockAddress(2), &block)) << "that block was never in doubt";
    ASSERT_TRUE(ways.undecided().decide(BlockAddress(1), &block));
    written.push_back(block.get() != nullptr);
    EXPECT_TRUE(ways.narrowed().undecided_log().empty()) << "nothing is in doubt any more";
  } while (ways.next());
  EXPECT_THAT(written, testing::UnorderedElementsAre(false, true));
}

}  // namespace
}  // namespace sisyfs::ways_test
