// Workloads with ranges of files, exchanges, direct and mapped writes, and commits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/workload.h"

namespace sisyfs::workload_files_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

Tree tree_of(std::initializer_list<const char*> lines) {
  Tree tree;
  for (const char* line : lines) EXPECT_EQ(apply(*parse_op(line), tree).error, 0) << line;
  return tree;
}

std::vector<std::string> ops_of(const Bounds& bounds, const Tree& tree) {
  Workload workload = *Workload::make(bounds);
  std::vector<Candidate> ops;
  workload.from(tree, &ops);
  std::vector<std::string> out;
  for (const Candidate& c : ops) {
    Tree after = tree;
    EXPECT_EQ(apply(c.op, after).error, c.error) << to_text(c.op);
    out.push_back(to_text(c.op) + (c.error ? " " + errno_text(c.error) : ""));
  }
  return out;
}

// Files of at most two units.
Bounds bounds_with(OpSet ops) {
  Bounds bounds;
  bounds.ops = ops;
  bounds.variety.unit = 512;
  bounds.write_sizes = {512};
  bounds.max_file_size = 1024;
  return bounds;
}

TEST(RangesTest, LieAtTheEndsOfAFile) {
  const Bounds bounds = bounds_with(kRangeOps);
  EXPECT_THAT(ops_of(bounds, tree_of({"create /a", "mkdir /d", "symlink a /s"})),
              ElementsAre("fallocate /a 0 512", "fallocate_keep /a 0 512", "zero_range /a 0 512"));
  EXPECT_THAT(ops_of(bounds, tree_of({"create /a", "append /a 512", "link /a /b"})),
              ElementsAre("fallocate /a 0 512", "fallocate /a 512 512", "fallocate_keep /a 512 512",
                          "punch_hole /a 0 512", "zero_range /a 0 512", "zero_range /a 0 1024"));
  EXPECT_THAT(ops_of(bounds, tree_of({"create /a", "append /a 1024"})),
              ElementsAre("fallocate /a 0 512", "punch_hole /a 0 512", "punch_hole /a 512 512",
                          "zero_range /a 0 512"))
      << "no file is longer than allowed";
  Bounds wide = bounds;
  wide.variety.write_steps = wide.variety.odd = true;
  wide.max_file_size = 2048;
  const auto ops = ops_of(wide, tree_of({"create /a", "append /a 1024"}));
  for (const char* op : {"fallocate /a 1536 512", "fallocate_keep /a 1536 512", "punch_hole /a 511 2",
                         "zero_range /a 511 2", "zero_range /a 512 1024"})
    EXPECT_THAT(ops, Contains(op));
}

TEST(ExchangesTest, EachPairOfNamesIsTriedOnce) {
  const Bounds bounds = bounds_with(OpSet(OpKind::kExchange));
  const Tree tree = tree_of({"create /a", "link /a /b", "mkdir /d", "create /d/f", "symlink a /s"});
  EXPECT_THAT(ops_of(bounds, tree),
              ElementsAre("exchange /a /d", "exchange /a /d/f", "exchange /a /s", "exchange /b /d",
                          "exchange /b /d/f", "exchange /b /s", "exchange /d /s", "exchange /d/f /s"))
      << "not two names of one file, and none with what lies below it";
  EXPECT_THAT(ops_of(bounds, tree_of({"mkdir /d", "mkdir /e", "create /e/f"})),
              ElementsAre("exchange /d /e", "exchange /d /e/f"));
  EXPECT_THAT(ops_of(bounds, tree_of({"mkdir /d", "create /d/a", "mkdir /e", "create /e/f"})),
              ElementsAre("exchange /d /e", "exchange /d/a /e/f"))
      << "/d has a file, which would lie too deep in the place of /e/f";
}

TEST(ExchangesTest, ARenameThatReplacesNothingGetsANewName) {
  Bounds bounds = bounds_with(OpSet(OpKind::kRenameNew));
  bounds.names = {"a", "b"};
  EXPECT_THAT(ops_of(bounds, tree_of({"create /a", "mkdir /b", "create /b/b"})),
              ElementsAre("rename_new /b/b /b/a"));
  EXPECT_THAT(ops_of(bounds, tree_of({"create /b"})), ElementsAre("rename_new /b /a"));
}

TEST(ExchangesTest, OpenFilesOfModelsKeepTheirNames) {
  Bounds bounds = bounds_with(
      OpSet(OpKind::kExchange, OpKind::kRenameNew, OpKind::kOpen, OpKind::kClose, OpKind::kMsync) |
      kRangeOps);
  bounds.handles = true;
  const auto ops = ops_of(bounds, tree_of({"create /a", "append /a 512", "open /a", "create /b"}));
  for (const char* op : {"exchange /a /b", "rename_new /a /c", "fallocate /b 0 512"})
    EXPECT_THAT(ops, Not(Contains(op)));
  for (const char* op : {"rename_new /b /c", "punch_hole /a 0 512", "msync /a"})
    EXPECT_THAT(ops, Contains(op));
}

TEST(DirectWritesTest, AreTheWritesOfWholeUnits) {
  Bounds bounds = bounds_with(OpSet(OpKind::kWrite, OpKind::kAppend, OpKind::kWriteDirect));
  const Tree tree = tree_of({"create /a", "append /a 512"});
  EXPECT_THAT(ops_of(bounds, tree), ElementsAre("write /a 0 512 v1", "append /a 512",
                                                "write_direct /a 0 512 v1", "write_direct /a 512 512"));
  bounds.write_offsets = {0, 511};
  bounds.write_sizes = {2, 512};
  EXPECT_THAT(ops_of(bounds, tree), Contains("write /a 511 2 v1"));
  EXPECT_THAT(ops_of(bounds, tree), Not(Contains("write_direct /a 511 2 v1")));
  EXPECT_THAT(ops_of(bounds, tree), Not(Contains("write_direct /a 0 2 v1")));
  EXPECT_EQ(direct_unit(1), 512u) << "a system that takes any byte has a device that does not";
  EXPECT_EQ(direct_unit(4096), 4096u);
}

TEST(MappedWritesTest, LieWithinTheFile) {
  Bounds bounds = bounds_with(OpSet(OpKind::kWrite, OpKind::kAppend, OpKind::kWriteMapped, OpKind::kMsync));
  bounds.write_sizes = {512, 1024};
  EXPECT_THAT(ops_of(bounds, tree_of({"create /a", "create /b", "append /b 512"})),
              ElementsAre("write /b 0 512 v1", "write /b 0 1024 v1", "append /a 512", "append /a 1024",
                          "append /b 512", "write_mapped /b 0 512 v1", "msync /b"));
  bounds.one_write = true;
  const auto one = ops_of(bounds, tree_of({"create /b", "append /b 512"}));
  EXPECT_THAT(one, Contains("write_mapped /b 0 512 v1")) << "the one is chosen among those that are possible";
}

TEST(CommitsTest, AreTriedLikeSync) {
  EXPECT_THAT(ops_of(bounds_with(OpSet(OpKind::kSync, OpKind::kSyncfs, OpKind::kCommit)), Tree()),
              ElementsAre("sync", "syncfs", "commit"));
}

TEST(ImpossibleFilesTest, CallsThatMustFailAreGenerated) {
  Bounds bounds = bounds_with(kRangeOps | OpSet(OpKind::kExchange, OpKind::kRenameNew, OpKind::kWriteDirect,
                                                OpKind::kWriteMapped, OpKind::kMsync, OpKind::kMkdir));
  bounds.impossible = true;
  const auto ops = ops_of(bounds, tree_of({"create /a", "mkdir /d", "create /d/f"}));
  for (const char* op :
       {"exchange /a /b ENOENT", "exchange /b /a ENOENT", "exchange /d /d/f EINVAL", "exchange / /a EBUSY",
        "rename_new /a /d EEXIST", "rename_new /a /a EEXIST", "fallocate /d 0 512 EISDIR",
        "fallocate_keep /b 0 512 ENOENT", "punch_hole /a/a 0 512 ENOTDIR", "zero_range /d 0 512 EISDIR",
        "write_direct /d 0 512 EISDIR", "write_mapped /d 0 512 EISDIR", "msync /d EISDIR"})
    EXPECT_THAT(ops, Contains(op));
  for (const char* op : {"write_mapped /a 0 512 EINVAL", "msync /a EINVAL"})
    EXPECT_THAT(ops, Not(Contains(op))) << "a mapping is not even tried";
}

}  // namespace
}  // namespace sisyfs::workload_files_test
