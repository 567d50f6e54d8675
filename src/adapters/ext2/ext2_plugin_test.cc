// libext2fs and e2fsck through the plug-in's table: against the reference model, and after power cuts that
// keep a beginning, or any part, of what was written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/plugin/plugin_run_for_test.h"

namespace sisyfs::ext2_plugin_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// By the name of the plug-in: the ways of flushing.
class Ext2Plugin : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!plugin_) GTEST_SKIP() << "the plug-in is not built: libext2fs-dev is not installed";
  }
  LoadedPlugin plugin_{GetParam()};
};
constexpr const char* kPlugins[] = {"libext2fs", "fuse2fs", "libext2fs_sync"};
std::string name_of(const testing::TestParamInfo<const char*>& info) { return info.param; }

Bounds wide_bounds() {
  Bounds bounds;
  bounds.ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                     OpKind::kLink, OpKind::kSymlink, OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate,
                     OpKind::kRead, OpKind::kReaddir, OpKind::kFsync, OpKind::kSync, OpKind::kRemount,
                     OpKind::kSetxattr, OpKind::kGetxattr, OpKind::kListxattr) |
               OpSet(OpKind::kRemovexattr);
  bounds.max_files = 4;
  bounds.max_dirs = 4;
  bounds.max_symlinks = 2;
  bounds.max_links = 3;
  bounds.max_depth = 3;
  bounds.write_sizes = {1, 512, 1500, 5000};
  bounds.write_offsets = {0, 700, 1024, 14000};
  bounds.truncate_sizes = {0, 100, 1024, 20000};
  bounds.max_file_size = 30000;
  bounds.impossible = true;
  return bounds;
}

TEST_P(Ext2Plugin, AnswersAsTheReferenceModelAndLeavesACleanDisk) {
  for (const uint32_t block_size : {512u, 1024u, 4096u}) {
    SCOPED_TRACE(block_size);
    PlainDisk disk(block_size, (512 << 10) * (block_size / 512) / block_size);
    Walkabout w(*plugin_, &disk, wide_bounds(), block_size);
    ASSERT_EQ(w.run.format(), 0);
    ASSERT_EQ(w.run.mount(), 0);
    for (int i = 0; i < 600; ++i) {
      ASSERT_EQ(w.step(), "") << "in step " << i;
      if (i % 25 != 0) continue;
      ASSERT_EQ(w.run.walk(), walk_of(w.tree, true)) << "after step " << i;
    }
    ASSERT_EQ(w.run.unmount(), 0);
    const FsckAnswer checked = w.run.fsck(false);
    EXPECT_EQ(checked.error, 0);
    EXPECT_THAT(checked.left, IsEmpty());

    const std::vector<char> before = disk.content();
    const FsckAnswer repaired = w.run.fsck(true);
    EXPECT_THAT(repaired.repaired, IsEmpty());
    EXPECT_THAT(repaired.left, IsEmpty());
    EXPECT_TRUE(disk.content() == before) << "a file system that is in order is not changed";
  }
}

TEST_P(Ext2Plugin, WritesTheSameInEveryRun) {
  std::vector<PlainDisk::Write> first;
  for (int round = 0; round < 2; ++round) {
    PlainDisk disk(1024, 256);
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

// What a repair is good for: all is repaired at once, and what is left can be mounted, read, used and
// checked.
void expect_repaired(const sisyfs_plugin& plugin, std::vector<char> image) {
  PlainDisk disk(plugin.block_size, plugin.block_count);
  disk.content() = std::move(image);
  PluginRun run(plugin, &disk);
  const FsckAnswer repaired = run.fsck(true);
  ASSERT_EQ(repaired.error, 0);
  ASSERT_THAT(repaired.left, IsEmpty());
  ASSERT_EQ(run.mount(), 0);
  ASSERT_THAT(run.walk(), Not(Contains(StartsWith("!"))));
  ASSERT_EQ(run.apply(Op::of(OpKind::kCreate, Path("/new"))), OpResult());
  ASSERT_EQ(run.apply(Op::write(Path("/new"), 0, 2000)), (OpResult{0, 2000, {}}));
  ASSERT_EQ(run.unmount(), 0);
  const FsckAnswer checked = run.fsck(false);
  ASSERT_EQ(checked.error, 0);
  ASSERT_THAT(checked.left, IsEmpty());
}

class Ext2Cuts : public Ext2Plugin {
 protected:
  // Fills log and image with what some ops write.
  void record(int steps, uint64_t seed) {
    Bounds bounds = wide_bounds();
    bounds.impossible = false;
    PlainDisk disk(plugin_->block_size, plugin_->block_count);
    Walkabout w(*plugin_, &disk, bounds, seed);
    ASSERT_EQ(w.run.format(), 0);
    image_ = disk.content();
    disk.log().clear();
    ASSERT_EQ(w.run.mount(), 0);
    for (int i = 0; i < steps; ++i) ASSERT_EQ(w.step(), "");
    log_ = disk.log();
  }
  void replay(const PlainDisk::Write& write, std::vector<char>* image) const {
    std::copy(write.bytes.begin(), write.bytes.end(),
              image->begin() + static_cast<ptrdiff_t>(write.block * plugin_->block_size));
  }

  std::vector<char> image_;
  std::vector<PlainDisk::Write> log_;
};

TEST_P(Ext2Cuts, EachBeginningOfWhatWasWrittenIsRepaired) {
  record(20, 3);
  for (size_t i = 0; i < log_.size(); ++i) {
    SCOPED_TRACE("cut after write " + std::to_string(i));
    replay(log_[i], &image_);
    if (!log_[i].bytes.empty()) expect_repaired(*plugin_, image_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Ext2Cuts, AnyPartOfAnEpochIsRepaired) {
  record(40, 5);
  std::mt19937_64 random(5);
  for (size_t begin = 0; begin < log_.size();) {
    size_t end = begin;
    while (end < log_.size() && !log_[end].bytes.empty()) ++end;
    for (int round = 0; round < 5 && begin != end; ++round) {
      SCOPED_TRACE("epoch from write " + std::to_string(begin) + ", round " + std::to_string(round));
      std::vector<char> image = image_;
      for (size_t i = begin; i < end; ++i) {
        if (random() % 2 != 0) replay(log_[i], &image);
      }
      expect_repaired(*plugin_, image);
      if (HasFatalFailure()) return;
    }
    for (; begin < end; ++begin) replay(log_[begin], &image_);
    ++begin;
  }
}

TEST_P(Ext2Plugin, TellsWhatIsWrongAndChangesNothingWhenItOnlyLooks) {
  PlainDisk disk(1024, 256);
  PluginRun run(*plugin_, &disk);
  ASSERT_EQ(run.format(), 0);
  ASSERT_EQ(run.mount(), 0);
  ASSERT_EQ(run.apply(Op::of(OpKind::kCreate, Path("/a"))).error, 0);
  ASSERT_EQ(run.apply(Op::write(Path("/a"), 0, 1024)).error, 0);
  ASSERT_EQ(run.unmount(), 0);
  // Takes the file's inode away: number 12, in the second block of the table.
  char name[64] = "";
  for (uint64_t block = 0; block < 256; ++block) {
    if (plugin_->name_block(disk.callbacks(), block, name, sizeof name) != 0) continue;
    if (std::string(name) == "inodes 9 to 16")
      std::fill_n(disk.content().begin() + 1024 * block + 384, 128, 0);
  }
  const std::vector<char> before = disk.content();
  const FsckAnswer checked = run.fsck(false);
  EXPECT_EQ(checked.error, 0);
  EXPECT_THAT(checked.lost, Contains(HasSubstr("Entry 'a' in / (2) has deleted/unused inode 12")));
  EXPECT_THAT(checked.left, Contains("Block bitmap differences"));
  EXPECT_THAT(checked.lost, Not(Contains("Block bitmap differences"))) << "a block that nobody uses";
  EXPECT_EQ(disk.content(), before);

  const FsckAnswer repaired = run.fsck(true);
  EXPECT_THAT(repaired.repaired, Contains(HasSubstr("Entry 'a' in / (2) has deleted/unused inode 12")));
  EXPECT_THAT(repaired.left, IsEmpty());
  EXPECT_THAT(run.fsck(false).left, IsEmpty());
}

TEST_P(Ext2Plugin, NamesBlocksByWhatHasThem) {
  PlainDisk disk(1024, 256);
  PluginRun run(*plugin_, &disk);
  ASSERT_EQ(run.format(), 0);
  ASSERT_EQ(run.mount(), 0);
  ASSERT_EQ(run.apply(Op::of(OpKind::kCreate, Path("/a"))).error, 0);
  ASSERT_EQ(run.apply(Op::write(Path("/a"), 0, 14000)).error, 0);
  ASSERT_EQ(run.unmount(), 0);
  std::vector<std::string> names;
  for (uint64_t block = 0; block < 256; ++block) {
    char name[64];
    if (plugin_->name_block(disk.callbacks(), block, name, sizeof name) != 0) continue;
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  EXPECT_THAT(names,
              testing::IsSupersetOf({"boot block", "superblock", "group descriptors",
                                     "block bitmap of group 0", "inode bitmap of group 0", "inodes 1 to 8",
                                     "inodes 57 to 64", "directory of inode 2", "directory of inode 11",
                                     "data of inode 12", "pointers of inode 12"}));
}

TEST_P(Ext2Plugin, GivesUpOnADiskThatHoldsNoFileSystem) {
  PlainDisk disk(1024, 256);
  PluginRun run(*plugin_, &disk);
  EXPECT_THAT(run.fsck(true).left, Contains("e2fsck gave up"));
  EXPECT_LT(run.mount(), 0);
  char name[64];
  EXPECT_LT(plugin_->name_block(disk.callbacks(), 1, name, sizeof name), 0);
}

TEST_P(Ext2Plugin, RefusesWhatDoesNotFitAndChangesNothing) {
  PlainDisk disk(1024, 64);
  PluginRun run(*plugin_, &disk);
  ASSERT_EQ(run.format(), 0);
  ASSERT_EQ(run.mount(), 0);
  ASSERT_EQ(run.apply(Op::of(OpKind::kCreate, Path("/a"))).error, 0);
  int steps = 0;
  while (run.apply(Op::append(Path("/a"), 1024)).error == 0) ASSERT_LT(++steps, 64);
  const std::vector<std::string> before = run.walk();
  const std::vector<char> content = disk.content();
  EXPECT_EQ(run.apply(Op::append(Path("/a"), 1024)).error, ENOSPC);
  EXPECT_EQ(disk.content(), content);
  EXPECT_EQ(run.walk(), before);
  ASSERT_EQ(run.apply(Op::of(OpKind::kUnlink, Path("/a"))).error, 0);
  ASSERT_EQ(run.unmount(), 0);
  EXPECT_THAT(run.fsck(false).left, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Each, Ext2Plugin, testing::ValuesIn(kPlugins), name_of);
INSTANTIATE_TEST_SUITE_P(Each, Ext2Cuts, testing::ValuesIn(kPlugins), name_of);

}  // namespace
}  // namespace sisyfs::ext2_plugin_test
