// Numbered handles of a tree, files without a name, and modes.
#include <gtest/gtest.h>

#include <cerrno>

#include "tree/tree.h"
#include "tree/tree_text.h"

namespace sisyfs::handles_test {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string content(const Tree& tree, std::string_view path) {
  Stat stat;
  if (tree.stat(path, &stat) != 0) return "?";
  return tree.node(stat.node).data.text();
}

TEST(TreeHandleTest, AFileWithoutANameLivesUntilItsLastHandleIsClosed) {
  Tree tree;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.open("/a", "@1"), 0);
  ASSERT_EQ(tree.open("/a", "@2"), 0);
  const NodeId node = tree.behind(0);
  ASSERT_EQ(tree.unlink("/a"), 0);
  EXPECT_TRUE(tree.is_nameless(node));
  EXPECT_FALSE(tree.has_node(node)) << "it has no name";
  ASSERT_EQ(tree.write("@1", 0, bytes("data")), 0);
  EXPECT_EQ(content(tree, "@2"), "data");
  Stat stat;
  ASSERT_EQ(tree.stat("@2", &stat), 0);
  EXPECT_EQ(stat.links, 0u);
  ASSERT_EQ(tree.create("/a"), 0);
  EXPECT_EQ(content(tree, "/a"), "") << "its place is not used again";
  EXPECT_EQ(content(tree, "@1"), "data");
  ASSERT_EQ(tree.close("@1"), 0);
  EXPECT_EQ(content(tree, "@2"), "data");
  EXPECT_EQ(tree.count(FileType::kFile), 2u);
  ASSERT_EQ(tree.truncate("@2", 1), 0);
  ASSERT_EQ(tree.close("@2"), 0);
  EXPECT_EQ(tree.close("@2"), EBADF);
  EXPECT_EQ(tree.write("@2", 0, bytes("x")), EBADF);
  EXPECT_EQ(tree.count(FileType::kFile), 1u);
  EXPECT_EQ(tree.open_count(), 0u);
  Tree plain;
  ASSERT_EQ(plain.create("/a"), 0);
  EXPECT_EQ(tree, plain);
  EXPECT_EQ(tree.shape(), plain.shape());
}

TEST(TreeHandleTest, RenamesMoveAndReplaceOpenFiles) {
  Tree tree;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.create("/b"), 0);
  ASSERT_EQ(tree.write("/b", 0, bytes("old")), 0);
  ASSERT_EQ(tree.open("/a", "@1"), 0);
  ASSERT_EQ(tree.open("/b", "@2"), 0);
  ASSERT_EQ(tree.rename("/a", "/b"), 0);
  ASSERT_EQ(tree.write("@1", 0, bytes("new")), 0);
  EXPECT_EQ(content(tree, "/b"), "new");
  EXPECT_EQ(content(tree, "@2"), "old");
  EXPECT_TRUE(tree.is_nameless(tree.behind(1)));
  EXPECT_FALSE(tree.is_nameless(tree.behind(0)));
}

TEST(TreeHandleTest, AHandleInUseIsNotGivenAgain) {
  Tree tree;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.mkdir("/d"), 0);
  ASSERT_EQ(tree.open("/a", "@3"), 0);
  EXPECT_EQ(tree.open("/a", "@3"), EBUSY);
  EXPECT_EQ(tree.open("/d", "@1"), EISDIR);
  EXPECT_EQ(tree.open("/n", "@1"), ENOENT);
  EXPECT_EQ(Tree::handle_in("@0"), Tree::kHandles);
  EXPECT_EQ(Tree::handle_in("@5"), Tree::kHandles);
  EXPECT_EQ(Tree::handle_in("@12"), Tree::kHandles);
}

TEST(TreeHandleTest, DigestsTellApartWhatIsOpenAndWhatIsBehindIt) {
  Tree none;
  ASSERT_EQ(none.create("/a"), 0);
  ASSERT_EQ(none.create("/b"), 0);
  Tree a = none, b = none, other = none;
  ASSERT_EQ(a.open("/a", "@1"), 0);
  ASSERT_EQ(b.open("/b", "@1"), 0);
  ASSERT_EQ(other.open("/a", "@2"), 0);
  EXPECT_EQ(a, none) << "what is open is not in the digest";
  EXPECT_EQ(none.open_digest(), Digest{});
  EXPECT_NE(a.open_digest(), b.open_digest());
  EXPECT_NE(a.open_digest(), other.open_digest());
  EXPECT_EQ(a.seen_digest(), b.seen_digest()) << "both are empty";
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_NE(a.shape(), none.shape());
  Tree one = a;
  ASSERT_EQ(one.unlink("/a"), 0);
  Tree longer = one;
  ASSERT_EQ(longer.write("@1", 0, bytes("x")), 0);
  EXPECT_EQ(one, longer);
  EXPECT_NE(one.open_digest(), longer.open_digest());
  EXPECT_NE(one.seen_digest(), longer.seen_digest());
  EXPECT_NE(one.shape(), longer.shape());
  EXPECT_EQ(first_difference(one, longer), "handle @1: size 0, expected 1");
  Tree walked;
  ASSERT_EQ(walked.create("/b"), 0);
  walked.write(walked.make_nameless(0), 0, bytes("x"));
  EXPECT_EQ(walked.seen_digest(), longer.seen_digest());
  EXPECT_EQ(listing(longer),
            "dir  /\nfile /b        0 bytes, 00000000\n@1   a file without a name, 1 byte\n");
  longer.close_all();
  one.close_all();
  EXPECT_EQ(longer.open_digest(), Digest{});
  EXPECT_EQ(longer.count(FileType::kFile), 1u);
}

// Two files without a name: which handles are whose matters.
TEST(TreeHandleTest, DigestsTellApartOneFileWithTwoHandlesAndTwoFiles) {
  Tree one, two;
  ASSERT_EQ(one.create("/a"), 0);
  ASSERT_EQ(two.create("/a"), 0);
  ASSERT_EQ(two.create("/b"), 0);
  ASSERT_EQ(one.open("/a", "@1"), 0);
  ASSERT_EQ(one.open("/a", "@2"), 0);
  ASSERT_EQ(two.open("/a", "@1"), 0);
  ASSERT_EQ(two.open("/b", "@2"), 0);
  ASSERT_EQ(one.unlink("/a"), 0);
  ASSERT_EQ(two.unlink("/a"), 0);
  ASSERT_EQ(two.unlink("/b"), 0);
  EXPECT_EQ(one, two);
  EXPECT_NE(one.open_digest(), two.open_digest());
}

TEST(TreeHandleTest, AnObjectIsFoundByItsNumberWithAndWithoutAName) {
  Tree tree;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.open("/a", "@1"), 0);
  const uint32_t birth = tree.birth(tree.behind(0));
  EXPECT_EQ(tree.born(birth), tree.behind(0));
  ASSERT_EQ(tree.unlink("/a"), 0);
  EXPECT_EQ(tree.born(birth), kNoNode);
  EXPECT_EQ(tree.born_or_nameless(birth), tree.behind(0));
}

TEST(TreeModeTest, ModesAreBitsOfFilesAndDirectories) {
  Tree tree, again;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(again.create("/a"), 0);
  Stat stat;
  ASSERT_EQ(tree.stat("/a", &stat), 0);
  EXPECT_EQ(stat.mode, 0644);
  ASSERT_EQ(tree.stat("/", &stat), 0);
  EXPECT_EQ(stat.mode, 0755);
  EXPECT_EQ(tree.chmod("/n", 0600), ENOENT);
  ASSERT_EQ(tree.chmod("/a", 0600), 0);
  EXPECT_NE(tree, again);
  EXPECT_NE(tree.shape(), again.shape());
  EXPECT_EQ(first_difference(tree, again), "file /a: mode 600, expected 644");
  EXPECT_EQ(listing(tree), "dir  /\nfile /a        0 bytes, 00000000, mode 600\n");
  ASSERT_EQ(tree.chmod("/a", 0644), 0);
  EXPECT_EQ(tree, again);
}

}  // namespace
}  // namespace sisyfs::handles_test
