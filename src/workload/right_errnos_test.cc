#include "workload/right_errnos.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace sisyfs::right_errnos_test {
namespace {

// /d/e with /d/e/f below it, an empty directory /n, and a file /a.
Tree some_tree() {
  Tree tree;
  EXPECT_EQ(tree.mkdir("/d"), 0);
  EXPECT_EQ(tree.mkdir("/d/e"), 0);
  EXPECT_EQ(tree.create("/d/e/f"), 0);
  EXPECT_EQ(tree.mkdir("/n"), 0);
  EXPECT_EQ(tree.create("/a"), 0);
  return tree;
}

// All errnos that are right for the op, which must fail.
std::set<int> right(const std::string& text) {
  const Tree tree = some_tree();
  Tree scratch = tree;
  const Op op = *parse_op(text);
  const int expected = apply(op, scratch).error;
  EXPECT_NE(expected, 0) << text;
  std::set<int> errnos;
  for (int answer = 0; answer < 134; ++answer)
    if (is_right_errno(op, tree, expected, answer)) errnos.insert(answer);
  EXPECT_TRUE(errnos.contains(expected)) << text;
  EXPECT_FALSE(errnos.contains(0)) << text;
  return errnos;
}

using Errnos = std::set<int>;
const Errnos kRoot = {EBUSY, EINVAL, EPERM, EACCES, EISDIR, ENOTEMPTY, EEXIST};

TEST(RightErrnosTest, PosixNamesTwoErrnos) {
  EXPECT_EQ(right("unlink /d"), (Errnos{EISDIR, EPERM}));
  EXPECT_EQ(right("rmdir /d"), (Errnos{ENOTEMPTY, EEXIST}));
  EXPECT_EQ(right("rename /n /d"), (Errnos{ENOTEMPTY, EEXIST}));
}

TEST(RightErrnosTest, OfAnExchangeEachMissingNameIsAReason) {
  EXPECT_EQ(right("exchange /a /b"), (Errnos{ENOENT}));
  EXPECT_EQ(right("exchange /a/x /b"), (Errnos{ENOTDIR, ENOENT}));
  EXPECT_EQ(right("exchange /d /d/e"), (Errnos{EINVAL}));
  EXPECT_EQ(right("exchange /d/e/f /d"), (Errnos{EINVAL}));
  EXPECT_TRUE(right("exchange / /a").contains(EINVAL));
}

TEST(RightErrnosTest, ANameInUseIsAReasonAgainstARenameThatReplacesNothing) {
  EXPECT_EQ(right("rename_new /a /d/e/f"), (Errnos{EEXIST}));
  EXPECT_EQ(right("rename_new /b /a"), (Errnos{ENOENT, EEXIST}));
  EXPECT_EQ(right("rename_new /d /d/e"), (Errnos{EEXIST, EINVAL, ENOTEMPTY}));
  EXPECT_EQ(right("rename_new /d /d/x"), (Errnos{EINVAL}));
}

TEST(RightErrnosTest, OnlyTheKernelSeesCallsOnTheRoot) {
  EXPECT_EQ(right("rmdir /"), kRoot);
  EXPECT_EQ(right("unlink /"), kRoot);
  EXPECT_TRUE(right("rename / /b").contains(EINVAL));
  EXPECT_TRUE(right("rename /a /").contains(EISDIR));
  EXPECT_FALSE(right("rename / /b").contains(EIO));
  EXPECT_FALSE(right("rename / /b").contains(ENOENT));
}

TEST(RightErrnosTest, WhereSeveralErrorsApplyEachIsRight) {
  EXPECT_EQ(right("rename /a /d"), (Errnos{EISDIR, ENOTEMPTY, EEXIST}));
  EXPECT_EQ(right("rename /d/e/f /d"), (Errnos{EISDIR, ENOTEMPTY, EEXIST}));
  EXPECT_EQ(right("rename /d/e /d"), (Errnos{ENOTEMPTY, EEXIST}));
  EXPECT_EQ(right("rename /d /d/e"), (Errnos{EINVAL, ENOTEMPTY, EEXIST}));
  EXPECT_EQ(right("rename /d /d/e/f"), (Errnos{EINVAL, ENOTDIR}));
  EXPECT_EQ(right("rename /b /a/c"), (Errnos{ENOENT, ENOTDIR}));
  EXPECT_EQ(right("rename /d /d/b"), (Errnos{EINVAL}));
  EXPECT_EQ(right("link /d /a"), (Errnos{EPERM, EEXIST}));
  EXPECT_EQ(right("link /b /a"), (Errnos{ENOENT, EEXIST}));
}

TEST(RightErrnosTest, WhereOneErrorAppliesOneErrnoIsRight) {
  EXPECT_EQ(right("create /a"), Errnos{EEXIST});
  EXPECT_EQ(right("mkdir /a"), Errnos{EEXIST});
  EXPECT_EQ(right("unlink /b"), Errnos{ENOENT});
  EXPECT_EQ(right("rmdir /a"), Errnos{ENOTDIR});
  EXPECT_EQ(right("rename /b /c"), Errnos{ENOENT});
  EXPECT_EQ(right("rename /a /b/c"), Errnos{ENOENT});
  EXPECT_EQ(right("rename /n /a"), Errnos{ENOTDIR});
  EXPECT_EQ(right("link /a /d"), Errnos{EEXIST});
  EXPECT_EQ(right("read /d 0 1"), Errnos{EISDIR});
}

TEST(RightErrnosTest, SuccessAndFailureAreNeverAsRight) {
  const Tree tree = some_tree();
  const Op op = *parse_op("create /b");
  EXPECT_FALSE(is_right_errno(op, tree, 0, EEXIST));
  EXPECT_FALSE(is_right_errno(op, tree, 0, 0));
  EXPECT_FALSE(is_right_errno(*parse_op("unlink /d"), tree, EISDIR, 0));
}

}  // namespace
}  // namespace sisyfs::right_errnos_test
