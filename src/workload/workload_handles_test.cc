// Workloads with numbered handles and with modes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "workload/workload.h"

namespace sisyfs::workload_handles_test {
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
  for (const Candidate& c : ops) out.push_back(to_text(c.op) + (c.error ? " " + errno_text(c.error) : ""));
  return out;
}

Bounds numbered(OpSet more = {}) {
  Bounds bounds;
  bounds.ops = (kHandleOps - OpSet(OpKind::kReadHandle, OpKind::kStatHandle)) | more;
  bounds.variety.max_handles = 2;
  return bounds;
}

TEST(NumberedHandlesTest, FilesAreOpenedUnderTheLowestFreeNumber) {
  const Tree tree = tree_of({"create /a", "link /a /b", "create /c", "mkdir /d", "symlink a /s"});
  EXPECT_THAT(ops_of(numbered(), tree), ElementsAre("open /a @1", "open /c @1"));
  EXPECT_THAT(ops_of(numbered(), tree_of({"create /a", "open /a @1"})),
              ElementsAre("open /a @2", "append @1 1", "fsync @1", "fdatasync @1", "close @1"));
  EXPECT_THAT(ops_of(numbered(), tree_of({"create /a", "open /a @1", "open /a @2", "close @1"})),
              Contains("open /a @1"));
}

TEST(NumberedHandlesTest, NoMoreAreOpenThanAllowed) {
  const Tree tree = tree_of({"create /a", "open /a @1", "open /a @2"});
  EXPECT_THAT(ops_of(numbered(), tree), Not(Contains("open /a @3")));
  Bounds three = numbered();
  three.variety.max_handles = 3;
  EXPECT_THAT(ops_of(three, tree), Contains("open /a @3"));
}

// Each has handles of its own, and the first one begins.
TEST(NumberedHandlesTest, TwoProcessesOpenFiles) {
  Bounds two = numbered();
  two.variety.processes = 2;
  EXPECT_THAT(ops_of(two, tree_of({"create /a"})), ElementsAre("open /a @1"));
  EXPECT_THAT(ops_of(two, tree_of({"create /a", "open /a @1"})),
              ElementsAre("open /a @3", "append @1 1", "fsync @1", "fdatasync @1", "close @1"));
  EXPECT_THAT(ops_of(two, tree_of({"create /a", "open /a @1", "open /a @3"})),
              ElementsAre("append @1 1", "append @3 1", "fsync @1", "fdatasync @1", "close @1", "fsync @3",
                          "fdatasync @3", "close @3"));
  two.variety.max_handles = 4;
  EXPECT_THAT(ops_of(two, tree_of({"create /a", "open /a @1", "open /a @3"})),
              testing::IsSupersetOf({"open /a @2", "open /a @4"}));
}

TEST(NumberedHandlesTest, AHandleSaysWhichProcessItIs) {
  for (const auto& [text, process] :
       {std::pair{"write @2 0 1", 0u}, std::pair{"write @3 0 1", 1u}, std::pair{"open /a @4", 1u},
        std::pair{"open /a @1", 0u}, std::pair{"fsync /a", 0u}}) {
    EXPECT_EQ(process_of(*parse_op(text), 2), process) << text;
    EXPECT_EQ(process_of(*parse_op(text), 1), 0u) << text;
  }
}

TEST(NumberedHandlesTest, AFileWithoutANameIsUsedUntilItIsClosed) {
  Bounds bounds = numbered(OpSet(OpKind::kReadHandle, OpKind::kStatHandle, OpKind::kRemount));
  EXPECT_THAT(ops_of(bounds, tree_of({"create /a", "append /a 2", "open /a @1", "unlink /a"})),
              ElementsAre("write @1 0 1", "append @1 1", "truncate @1 0", "read @1 0 2", "stat @1",
                          "fsync @1", "fdatasync @1", "close @1"))
      << "and nothing is unmounted";
}

TEST(NumberedHandlesTest, NamesOfOpenFilesAreRemovedRenamedAndReplaced) {
  const Bounds bounds = numbered(OpSet(OpKind::kUnlink, OpKind::kRename, OpKind::kAppend));
  const auto ops = ops_of(bounds, tree_of({"create /a", "create /b", "open /a @1", "open /b @2"}));
  for (const char* op : {"unlink /a", "rename /a /b", "rename /b /a", "rename /a /c", "append /a 1"})
    EXPECT_THAT(ops, Contains(op));
}

TEST(NumberedHandlesTest, OnlyWhatMustFailIsImpossible) {
  Bounds bounds = numbered(OpSet(OpKind::kMkdir));
  bounds.impossible = true;
  const auto ops = ops_of(bounds, tree_of({"create /a", "open /a @1"}));
  EXPECT_THAT(ops, Contains("open / @4 EISDIR"));
  EXPECT_THAT(ops, Contains("open /b @4 ENOENT"));
  EXPECT_THAT(ops, Not(Contains("open /a @4 EBUSY")));
}

TEST(ModesTest, EachOtherModeIsSet) {
  Bounds bounds;
  bounds.ops = OpSet(OpKind::kChmod);
  bounds.variety.modes = {0644, 0600};
  const Tree tree = tree_of({"create /a", "link /a /b", "mkdir /d", "symlink a /s"});
  EXPECT_THAT(ops_of(bounds, tree), ElementsAre("chmod / 700", "chmod /a 600", "chmod /d 700"));
  Tree changed = tree;
  ASSERT_EQ(changed.chmod("/s", 0600), 0) << "follows the link";
  EXPECT_THAT(ops_of(bounds, changed), Contains("chmod /a 644"));
  bounds.impossible = true;
  EXPECT_THAT(ops_of(bounds, tree), Contains("chmod /c 600 ENOENT"));
}

}  // namespace
}  // namespace sisyfs::workload_handles_test
