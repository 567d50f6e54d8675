#include <gtest/gtest.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "tree/tree.h"
#include "tree/tree_text.h"

namespace sisyfs::nodes_test {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(NodesTest, TreeBuiltByNodesEqualsTreeBuiltByPaths) {
  Tree by_node, by_path;
  const NodeId d = by_node.make(kRootNode, "d", FileType::kDirectory);
  const NodeId f = by_node.make(d, "f", FileType::kFile);
  by_node.write(f, 3, bytes("data"));
  by_node.resize(f, 5);
  by_node.add_name(f, kRootNode, "g");
  by_node.write(by_node.make(d, "l", FileType::kSymlink), 0, bytes("../g"));

  ASSERT_EQ(by_path.symlink("x", "/gone"), 0);
  ASSERT_EQ(by_path.create("/g"), 0);
  ASSERT_EQ(by_path.mkdir("/d"), 0);
  ASSERT_EQ(by_path.link("/g", "/d/f"), 0);
  ASSERT_EQ(by_path.symlink("../g", "/d/l"), 0);
  ASSERT_EQ(by_path.write("/d/l", 3, bytes("da")), 0);
  ASSERT_EQ(by_path.unlink("/gone"), 0);
  EXPECT_EQ(first_difference(by_node, by_path), "");
  EXPECT_EQ(by_node.child(d, "f"), f);
  EXPECT_EQ(by_node.child(d, "ff"), kNoNode);
  EXPECT_EQ(by_node.path_of(f), "/d/f") << "the first of its paths";
  EXPECT_EQ(by_node.path_of(kRootNode), "/");
}

TEST(NodesTest, ChildrenComeInTheOrderOfNames) {
  Tree tree;
  const std::string longer(200, 'b');
  for (const std::string& name : {std::string("c"), longer, std::string("a"), std::string(15, 'b'),
                                  std::string(16, 'b'), std::string("\xff")})
    tree.make(kRootNode, name, FileType::kFile);
  std::vector<std::string> names;
  for (const Tree::Entry& entry : tree.children(kRootNode)) names.emplace_back(entry.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"a", std::string(15, 'b'), std::string(16, 'b'), longer, "c", "\xff"}));
  EXPECT_EQ(tree.children(kRootNode).size(), 6u);
}

TEST(NodesTest, BirthNumbersFollowAnObjectThroughLaterTrees) {
  Tree tree;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.mkdir("/d"), 0);
  Stat stat;
  ASSERT_EQ(tree.stat("/a", &stat), 0);
  const uint32_t a = tree.birth(stat.node);
  const Tree before = tree;
  ASSERT_EQ(tree.rename("/a", "/d/b"), 0);
  ASSERT_EQ(tree.link("/d/b", "/c"), 0);
  EXPECT_EQ(tree.path_of(tree.born(a)), "/c");
  EXPECT_EQ(before.path_of(before.born(a)), "/a");
  ASSERT_EQ(tree.unlink("/c"), 0);
  ASSERT_EQ(tree.unlink("/d/b"), 0);
  EXPECT_EQ(tree.born(a), kNoNode);
  ASSERT_EQ(tree.create("/a"), 0);
  EXPECT_EQ(tree, before) << "the numbers are not in the digest";
  ASSERT_EQ(tree.stat("/a", &stat), 0);
  EXPECT_NE(tree.birth(stat.node), a) << "a number is not given twice";
  EXPECT_EQ(tree.born(a), kNoNode);
}

TEST(NodesTest, ManyNodesComeAndGo) {
  Tree tree;
  const Tree empty;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) ASSERT_EQ(tree.create("/f" + std::to_string(i)), 0);
    const Tree full = tree;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(tree.unlink("/f" + std::to_string(i)), 0);
    EXPECT_EQ(full.children(kRootNode).size(), 100u);
    EXPECT_EQ(tree, empty);
    EXPECT_EQ(tree.shape(), empty.shape());
    EXPECT_EQ(tree.node_limit(), 101u) << "slots are used again";
  }
}

TEST(NodesTest, CopiesMayBeChangedAndDroppedOnOtherThreads) {
  Tree tree;
  const NodeId f = tree.make(kRootNode, std::string(100, 'f'), FileType::kFile);
  tree.write(f, 0, bytes("data"));
  const Tree expected = tree;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([copy = tree, f]() mutable {
      for (int i = 0; i < 1000; ++i) {
        Tree mine = copy;
        mine.write(f, 1, bytes("xy"));
        copy = mine;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tree, expected);
  EXPECT_EQ(tree.node(f).data.text(), "data");
}

TEST(HandlesTest, OpenAndCloseAnswerAsLinuxWithOneHandle) {
  Tree tree;
  ASSERT_EQ(tree.create("/f"), 0);
  ASSERT_EQ(tree.mkdir("/d"), 0);
  ASSERT_EQ(tree.symlink("f", "/l"), 0);
  const Digest content = tree.digest();
  EXPECT_EQ(tree.open("/missing"), ENOENT);
  EXPECT_EQ(tree.open("/d"), EISDIR);
  EXPECT_EQ(tree.open("/f/x"), ENOTDIR);
  EXPECT_EQ(tree.close("/f"), EBADF);
  EXPECT_EQ(tree.close("/missing"), EBADF);
  ASSERT_EQ(tree.open("/l"), 0);
  EXPECT_EQ(tree.open("/f"), EBUSY);
  EXPECT_EQ(tree.open_count(), 1u);
  EXPECT_EQ(tree.digest(), content) << "a recovered tree has no handles";
  EXPECT_EQ(tree.unlink("/f"), EBUSY);
  EXPECT_EQ(tree.rename("/l", "/f"), EBUSY);
  ASSERT_EQ(tree.link("/f", "/g"), 0);
  ASSERT_EQ(tree.unlink("/f"), 0) << "it has another name";
  ASSERT_EQ(tree.close("/g"), 0);
  EXPECT_EQ(tree.open_digest(), Digest{});
  ASSERT_EQ(tree.unlink("/g"), 0);
}

TEST(HandlesTest, OpenDigestTellsWhichPathsAreOpen) {
  Tree tree;
  ASSERT_EQ(tree.mkdir("/d"), 0);
  ASSERT_EQ(tree.create("/d/a"), 0);
  ASSERT_EQ(tree.create("/b"), 0);
  Tree one = tree, other = tree, both = tree;
  ASSERT_EQ(one.open("/d/a"), 0);
  ASSERT_EQ(other.open("/b"), 0);
  ASSERT_EQ(both.open("/b"), 0);
  ASSERT_EQ(both.open("/d/a"), 0);
  EXPECT_NE(one.open_digest(), other.open_digest());
  EXPECT_NE(one.open_digest(), both.open_digest());
  const Digest before = one.open_digest();
  ASSERT_EQ(one.rename("/d", "/e"), 0);
  EXPECT_NE(one.open_digest(), before) << "the open file has another path";
  ASSERT_EQ(one.rename("/e", "/d"), 0);
  EXPECT_EQ(one.open_digest(), before);
  both.close_all();
  EXPECT_EQ(both.open_digest(), Digest{});
  EXPECT_EQ(both.shape(), tree.shape());
}

}  // namespace
}  // namespace sisyfs::nodes_test
