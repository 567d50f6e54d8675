// Workloads with handles, with one write for each file, and the complete list of ops for a small tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "workload/workload.h"

namespace sisyfs::handles_test {
namespace {

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
  for (const Candidate& c : ops) out.push_back(to_text(c.op) + (c.error ? " " + errno_text(c.error) : ""));
  return out;
}

bool has(const std::vector<std::string>& ops, const char* op) {
  return std::count(ops.begin(), ops.end(), op) == 1;
}

Bounds with_handles(OpSet ops) {
  Bounds bounds;
  bounds.ops = ops | OpSet(OpKind::kOpen, OpKind::kClose);
  bounds.handles = true;
  return bounds;
}

TEST(HandleWorkloadTest, ClosedFilesAreOpenedMovedAndRemovedOpenOnesWrittenAndClosed) {
  const Bounds bounds =
      with_handles(OpSet(OpKind::kUnlink, OpKind::kWrite, OpKind::kFsync, OpKind::kFdatasync, OpKind::kLink,
                         OpKind::kTruncate, OpKind::kAppend, OpKind::kRemount));
  EXPECT_EQ(ops_of(bounds, tree_of({"create /a"})),
            (std::vector<std::string>{"unlink /a", "link /a /b", "fsync /", "remount", "open /a"}));
  EXPECT_EQ(ops_of(bounds, tree_of({"create /a", "append /a 1", "open /a"})),
            (std::vector<std::string>{"write /a 0 1 v1", "append /a 1", "truncate /a 0", "fsync /",
                                      "fsync /a", "fdatasync /a", "close /a"}));
}

TEST(HandleWorkloadTest, DirectoryIsRenamedOverItsOpenFilesButNoOpenFileIsReplaced) {
  Bounds bounds = with_handles(OpSet(OpKind::kRename));
  bounds.names = {"a", "b", "d"};
  const auto ops = ops_of(bounds, tree_of({"mkdir /d", "create /d/a", "create /b", "open /d/a"}));
  EXPECT_EQ(ops, (std::vector<std::string>{"rename /b /a", "rename /b /d/b", "rename /d /a", "open /b",
                                           "close /d/a"}));
}

TEST(HandleWorkloadTest, NoMoreFilesAreOpenThanAllowed) {
  Bounds bounds = with_handles({});
  const Tree tree = tree_of({"create /a", "create /b", "create /c", "open /b", "open /c"});
  EXPECT_EQ(ops_of(bounds, tree), (std::vector<std::string>{"close /b", "close /c"}));
  bounds.max_open = 3;
  EXPECT_EQ(ops_of(bounds, tree), (std::vector<std::string>{"open /a", "close /b", "close /c"}));
}

TEST(HandleWorkloadTest, ImpossibleOpsDoNotTryWhatOnlyTheReferenceRefuses) {
  Bounds bounds = with_handles(OpSet(OpKind::kUnlink, OpKind::kRename, OpKind::kMkdir));
  bounds.max_dirs = 0;
  bounds.impossible = true;
  const auto ops = ops_of(bounds, tree_of({"create /a", "create /b", "open /a"}));
  EXPECT_TRUE(has(ops, "open / EISDIR"));
  EXPECT_TRUE(has(ops, "open /c ENOENT"));
  EXPECT_TRUE(has(ops, "open /a/a ENOTDIR"));
  EXPECT_FALSE(has(ops, "open /a EBUSY"));
  EXPECT_FALSE(has(ops, "unlink /a EBUSY"));
  EXPECT_FALSE(has(ops, "rename /b /a EBUSY"));
  EXPECT_TRUE(has(ops, "rename /b / EBUSY"));
}

TEST(HandleWorkloadTest, SenselessBoundsAreRefused) {
  Bounds bounds = with_handles({});
  bounds.max_open = 0;
  EXPECT_EQ(Workload::make(bounds).error().message,
            "max-open 0 leaves no file to write; with handles it starts at 1");
  bounds = Bounds();
  bounds.handles = true;
  EXPECT_EQ(Workload::make(bounds).error().message, "handles need the ops open and close");
}

TEST(OneWriteTest, EachFileGetsOneWriteThatFollowsFromTheTree) {
  Bounds bounds;
  bounds.ops = OpSet(OpKind::kWrite, OpKind::kAppend);
  bounds.write_sizes = {1, 2, 3};
  bounds.write_offsets = {0, 1, 4};
  bounds.max_file_size = 20;
  const Bounds all = bounds;
  bounds.one_write = true;
  std::set<std::string> seen;
  for (int size = 0; size < 16; ++size) {
    Tree tree = tree_of({"create /a", "create /b"});
    ASSERT_EQ(tree.truncate("/a", static_cast<uint64_t>(size)), 0);
    const auto ops = ops_of(bounds, tree), more = ops_of(all, tree);
    ASSERT_EQ(ops.size(), 2u) << "one for each file";
    for (const std::string& op : ops) {
      EXPECT_TRUE(has(more, op.c_str())) << op;
      seen.insert(op.substr(0, op.find(" v")));
    }
    EXPECT_EQ(ops_of(bounds, tree), ops);
  }
  EXPECT_GT(seen.size(), 6u) << "different sizes get different writes";
}

TEST(WorkloadPinnedTest, RenamesHolesAndSizesAreGivenInOrder) {
  Bounds bounds;
  bounds.ops = OpSet(OpKind::kRename, OpKind::kWrite, OpKind::kTruncate, OpKind::kFsync, OpKind::kFdatasync,
                     OpKind::kSync, OpKind::kRemount);
  bounds.names = {"a", "b", "d", "e"};
  bounds.write_offsets = {0, 3};
  bounds.truncate_sizes = {0, 4};
  const Tree tree = tree_of({"mkdir /d", "mkdir /e", "create /a", "append /a 1", "create /d/b"});
  EXPECT_EQ(
      ops_of(bounds, tree),
      (std::vector<std::string>{"rename /a /b",     "rename /a /d/a", "rename /a /d/b",
                                "rename /a /e/a",                    // also across, and onto
                                "rename /d /b",     "rename /d /e",  // onto an empty directory
                                "rename /d/b /b",   "rename /d/b /a", "rename /d/b /d/a",
                                "rename /d/b /e/a",                    //
                                "rename /e /b",     "rename /e /d/a",  //
                                "write /a 0 1 v1",  "write /a 3 1",   "write /d/b 0 1",
                                "write /d/b 3 1",                                         // 3: a hole
                                "truncate /a 0",    "truncate /a 4",  "truncate /d/b 4",  // shrinks and grows
                                "fsync /",          "fsync /a",       "fsync /d",
                                "fsync /d/b",       "fsync /e",  //
                                "fdatasync /a",     "fdatasync /d/b", "sync",
                                "remount"}));
  bounds.impossible = true;
  const auto ops = ops_of(bounds, tree);
  EXPECT_EQ(std::set<std::string>(ops.begin(), ops.end()).size(), ops.size()) << "each once";
  EXPECT_TRUE(has(ops, "rename /d /d/a EINVAL"));
}

}  // namespace
}  // namespace sisyfs::handles_test
