// libntfs-3g through the plug-in's table: against the reference model, and what power cuts do to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/plugin/plugin_run_for_test.h"

namespace sisyfs::ntfs_plugin_test {
namespace {

using testing::Contains;
using testing::IsEmpty;

class NtfsPlugin : public testing::Test {
 protected:
  void SetUp() override {
    if (!plugin_) GTEST_SKIP() << "the plug-in is not built: ntfs-3g-dev is not installed";
  }
  LoadedPlugin plugin_{"libntfs"};
};

Bounds wide_bounds() {
  Bounds bounds;
  bounds.ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                     OpKind::kLink, OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate, OpKind::kRead,
                     OpKind::kReaddir, OpKind::kFsync, OpKind::kSync, OpKind::kRemount);
  bounds.max_files = 4;
  bounds.max_dirs = 4;
  bounds.max_links = 3;
  bounds.max_depth = 3;
  bounds.write_sizes = {1, 512, 1500, 9000};
  bounds.write_offsets = {0, 700, 4096, 14000};
  bounds.truncate_sizes = {0, 100, 4096, 20000};
  bounds.max_file_size = 30000;
  bounds.impossible = true;
  return bounds;
}

TEST_F(NtfsPlugin, AnswersAsTheReferenceModelAndLeavesAVolumeInOrder) {
  for (const uint32_t block_size : {512u, 1024u, 4096u}) {
    SCOPED_TRACE(block_size);
    PlainDisk disk(block_size, (2 << 20) / block_size);
    Walkabout w(*plugin_, &disk, wide_bounds(), block_size);
    ASSERT_EQ(w.run.format(), 0);
    ASSERT_EQ(w.run.mount(), 0);
    for (int i = 0; i < 600; ++i) {
      ASSERT_EQ(w.step(), "") << "in step " << i;
      if (i % 25 != 0) continue;
      ASSERT_EQ(w.run.walk(), walk_of(w.tree, false)) << "after step " << i;
    }
    ASSERT_EQ(w.run.unmount(), 0);
    disk.log().clear();
    const FsckAnswer repaired = w.run.fsck(true);
    EXPECT_EQ(repaired.error, 0);
    EXPECT_THAT(repaired.repaired, IsEmpty());
    EXPECT_THAT(repaired.left, IsEmpty());
    EXPECT_THAT(disk.log(), IsEmpty()) << "a volume that is in order is not written to";
  }
}

TEST_F(NtfsPlugin, WritesTheSameInEveryRun) {
  std::vector<PlainDisk::Write> first;
  for (int round = 0; round < 2; ++round) {
    PlainDisk disk(plugin_->block_size, plugin_->block_count);
    Walkabout w(*plugin_, &disk, wide_bounds(), 7);
    ASSERT_EQ(w.run.format(), 0);
    ASSERT_EQ(w.run.mount(), 0);
    for (int i = 0; i < 200; ++i) w.step();
    ASSERT_EQ(w.run.unmount(), 0);
    if (round == 0) {
      first = disk.log();
    } else {
      EXPECT_EQ(disk.log(), first);
    }
  }
}

// A name may be written before the record that it names, and ntfsfix looks at neither.
TEST_F(NtfsPlugin, APowerCutLeavesAVolumeThatMountsButMayHaveNamesThatCannotBeRead) {
  Bounds bounds = wide_bounds();
  bounds.impossible = false;
  PlainDisk disk(plugin_->block_size, plugin_->block_count);
  Walkabout w(*plugin_, &disk, bounds, 3);
  ASSERT_EQ(w.run.format(), 0);
  std::vector<char> image = disk.content();
  disk.log().clear();
  ASSERT_EQ(w.run.mount(), 0);
  for (int i = 0; i < 25; ++i) ASSERT_EQ(w.step(), "");
  size_t unreadable = 0;
  for (const PlainDisk::Write& write : disk.log()) {
    disk.replay(write, &image);
    PlainDisk after(plugin_->block_size, plugin_->block_count);
    after.content() = image;
    PluginRun run(*plugin_, &after);
    const FsckAnswer repaired = run.fsck(true);
    ASSERT_EQ(repaired.error, 0);
    ASSERT_THAT(repaired.left, IsEmpty());
    ASSERT_EQ(run.mount(), 0);
    const std::vector<std::string> lines = run.walk();
    for (const std::string& line : lines) unreadable += line.starts_with("!");
    ASSERT_EQ(run.unmount(), 0);
  }
  EXPECT_GT(unreadable, 0u);
}

TEST_F(NtfsPlugin, RefusesADiskThatHoldsNoVolume) {
  PlainDisk disk(plugin_->block_size, plugin_->block_count);
  PluginRun run(*plugin_, &disk);
  EXPECT_LT(run.mount(), 0);
  EXPECT_THAT(run.fsck(true).left, Contains("ntfsfix cannot mend the volume"));
  EXPECT_THAT(run.fsck(false).left, Contains("ntfsfix finds the volume not in order"));
}

TEST_F(NtfsPlugin, RefusesWhatDoesNotFitAndChangesNothing) {
  PlainDisk disk(plugin_->block_size, plugin_->block_count);
  PluginRun run(*plugin_, &disk);
  ASSERT_EQ(run.format(), 0);
  ASSERT_EQ(run.mount(), 0);
  ASSERT_EQ(run.apply(Op::of(OpKind::kCreate, Path("/a"))).error, 0);
  int steps = 0;
  while (run.apply(Op::append(Path("/a"), 8192)).error == 0) ASSERT_LT(++steps, 320);
  EXPECT_GT(steps, 10);
  const std::vector<std::string> before = run.walk();
  const std::vector<char> content = disk.content();
  EXPECT_EQ(run.apply(Op::append(Path("/a"), 8192)).error, ENOSPC);
  EXPECT_EQ(disk.content(), content);
  EXPECT_EQ(run.walk(), before);
  ASSERT_EQ(run.apply(Op::of(OpKind::kUnlink, Path("/a"))).error, 0);
  ASSERT_EQ(run.unmount(), 0);
  EXPECT_THAT(run.fsck(false).left, IsEmpty());
}

}  // namespace
}  // namespace sisyfs::ntfs_plugin_test
