// Compares shapes with the algorithm of the thesis: sorted strings, computed from scratch.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tree/tree.h"

namespace sisyfs::shape_test {
namespace {

// Brackets around the sorted codes of the children for a directory, parentheses for the rest.
std::string sorted_code(const Tree& tree, NodeId id) {
  const Tree::Node& node = tree.node(id);
  const std::string links = "l" + std::to_string(node.links);
  if (node.type == FileType::kSymlink) return "(s" + links + ")";
  if (node.type == FileType::kFile)
    return "(" + std::to_string(node.data.size()) + links + (node.open ? "#)" : ")");
  std::vector<std::string> codes;
  for (const Tree::Entry& entry : tree.children(id)) codes.push_back(sorted_code(tree, entry.node));
  std::sort(codes.begin(), codes.end());
  std::string out = "[" + links;
  for (const std::string& code : codes) out += code;
  return out + "]";
}

class RandomChanges {
 public:
  explicit RandomChanges(uint64_t seed) : random_(seed) {}

  // The result of the change does not matter here.
  void next(Tree& tree) {
    const std::string a = path(), b = path();
    switch (pick(12)) {
      case 0:
      case 1:
        return ignore(tree.create(a));
      case 2:
        return ignore(tree.mkdir(a));
      case 3:
        return ignore(tree.unlink(a));
      case 4:
        return ignore(tree.rmdir(a));
      case 5:
      case 6:
        return ignore(tree.rename(a, b));
      case 7:
        return ignore(tree.link(a, b));
      case 8:
        return ignore(tree.symlink("a", a));
      case 9:
        return ignore(tree.truncate(a, pick(2)));
      case 10:
        return ignore(tree.open(a));
      default:
        return ignore(tree.close(a));
    }
  }
  uint64_t pick(uint64_t n) { return random_() % n; }

 private:
  static void ignore(int) {}
  std::string path() {
    std::string out;
    for (uint64_t parts = 1 + pick(3); parts > 0; --parts) out += std::string("/") + "abc"[pick(3)];
    return out;
  }
  std::mt19937_64 random_;
};

// Makes the same tree again, in a random order and with other names, including hard links.
void copy_renamed(const Tree& from, NodeId source, NodeId to, RandomChanges& random, Tree* out,
                  std::map<NodeId, NodeId>* known) {
  std::vector<NodeId> children;
  for (const Tree::Entry& entry : from.children(source)) children.push_back(entry.node);
  for (size_t i = children.size(); i > 1; --i) std::swap(children[i - 1], children[random.pick(i)]);
  for (size_t i = 0; i < children.size(); ++i) {
    const Tree::Node& node = from.node(children[i]);
    const std::string name = "other-name-" + std::to_string((i + 7) * 31 % 97) + std::string(i % 2 * 20, 'x');
    if (const auto at = known->find(children[i]); at != known->end()) {
      out->add_name(at->second, to, name);
      continue;
    }
    const NodeId made = out->make(to, name, node.type);
    known->emplace(children[i], made);
    if (node.type == FileType::kFile) out->resize(made, node.data.size());
    if (node.open) {
      ASSERT_EQ(out->open(out->path_of(made)), 0);
    }
    if (node.type == FileType::kDirectory) copy_renamed(from, children[i], made, random, out, known);
  }
}

TEST(ShapeTest, IsEqualExactlyWhereTheSortedCodeIs) {
  std::map<std::string, Digest> shapes;
  std::map<Digest, std::string> codes;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomChanges random(seed);
    Tree tree;
    for (int i = 0; i < 150; ++i) {
      random.next(tree);
      const std::string code = sorted_code(tree, kRootNode);
      const Digest shape = tree.shape();
      ASSERT_EQ(shapes.emplace(code, shape).first->second, shape) << code;
      ASSERT_EQ(codes.emplace(shape, code).first->second, code);
    }
  }
  EXPECT_GT(shapes.size(), 300u);
}

TEST(ShapeTest, DoesNotDependOnNamesOrderOrHistory) {
  RandomChanges random(5);
  Tree tree;
  for (int i = 0; i < 3000; ++i) {
    random.next(tree);
    Tree other;
    std::map<NodeId, NodeId> known;
    copy_renamed(tree, kRootNode, kRootNode, random, &other, &known);
    ASSERT_EQ(other.shape(), tree.shape()) << "change " << i;
  }
}

TEST(ShapeTest, TellsSizesHandlesTypesAndDepth) {
  Tree base;
  const NodeId d = base.make(kRootNode, "d", FileType::kDirectory);
  const NodeId f = base.make(kRootNode, "f", FileType::kFile);
  std::vector<Digest> seen{base.shape()};
  auto differs = [&](auto change) {
    Tree tree = base;
    change(tree);
    for (const Digest& other : seen) EXPECT_NE(tree.shape(), other);
    seen.push_back(tree.shape());
  };
  differs([&](Tree& t) { t.resize(f, 1); });
  differs([&](Tree& t) { ASSERT_EQ(t.open("/f"), 0); });
  differs([&](Tree& t) { t.make(d, "x", FileType::kFile); });
  differs([&](Tree& t) { t.make(kRootNode, "x", FileType::kFile); });
  differs([&](Tree& t) { t.make(d, "x", FileType::kDirectory); });
  differs([&](Tree& t) { t.make(kRootNode, "x", FileType::kSymlink); });
  differs([&](Tree& t) { t.add_name(f, d, "x"); });
  differs([&](Tree& t) { ASSERT_EQ(t.rename("/f", "/d/f"), 0); });
}

}  // namespace
}  // namespace sisyfs::shape_test
