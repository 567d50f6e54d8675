// The shape against the isomorphism code of the literature, which is a string: sorted codes of the children
// in brackets.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tree/tree.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

std::string string_code(const Tree& tree, NodeId id) {
  const Tree::Node& node = tree.node(id);
  const std::string names = node.names > 1 ? "x" + std::to_string(node.names) : "";
  if (node.type == FileType::kSymlink) return "<" + names + ">";
  if (node.type == FileType::kFile)
    return "(" + std::to_string(node.data.size()) + names + (node.open ? "#" : "") + ")";
  std::vector<std::string> codes;
  for (const Tree::Entry& e : node.entries) codes.push_back(string_code(tree, e.node));
  std::sort(codes.begin(), codes.end());
  std::string out = "[";
  for (const std::string& code : codes) out += code;
  return out + "]";
}

void change_at_random(Tree& tree, std::mt19937_64& random) {
  auto path = [&] {
    std::string out;
    for (uint64_t parts = 1 + random() % 3; parts > 0; --parts) out += std::string("/") + "abc"[random() % 3];
    return out;
  };
  const std::string a = path(), b = path();
  const std::byte one[2] = {std::byte{1}, std::byte{2}};
  int error = 0;
  switch (random() % 14) {
    case 0:
    case 1:
      error = tree.create(a);
      break;
    case 2:
    case 3:
      error = tree.mkdir(a);
      break;
    case 4:
      error = tree.unlink(a);
      break;
    case 5:
      error = tree.rmdir(a);
      break;
    case 6:
    case 7:
      error = tree.rename(a, b);
      break;
    case 8:
      error = tree.link(a, b);
      break;
    case 9:
      error = tree.symlink("a", a);
      break;
    case 10:
      error = tree.write(a, random() % 2, std::span(one).first(1 + random() % 2));
      break;
    case 11:
      error = tree.truncate(a, random() % 3);
      break;
    case 12:
      error = tree.open(a);
      break;
    default:
      error = tree.close(a);
  }
  (void)error;  // what fails changes nothing
}

// The same tree under other names, built in another order.
Tree renamed(const Tree& tree) {
  Tree out;
  std::map<NodeId, std::string> made;
  auto copy = [&](auto& self, NodeId directory, const std::string& from, const std::string& to) -> void {
    const auto& entries = tree.node(directory).entries;
    for (auto e = entries.rbegin(); e != entries.rend(); ++e) {
      const Tree::Node& node = tree.node(e->node);
      const std::string path = to + "/n" + std::to_string('z' - e->name[0]);
      if (const auto known = made.find(e->node); known != made.end()) {
        ASSERT_EQ(out.link(known->second, path), 0);
        continue;
      }
      made[e->node] = path;
      if (node.type == FileType::kDirectory) {
        ASSERT_EQ(out.mkdir(path), 0);
        self(self, e->node, from + "/" + e->name, path);
      } else if (node.type == FileType::kSymlink) {
        ASSERT_EQ(out.symlink("elsewhere", path), 0);
      } else {
        ASSERT_EQ(out.create(path), 0);
        ASSERT_EQ(out.truncate(path, node.data.size()), 0);
        if (node.open) {
          ASSERT_EQ(out.open(path), 0);
        }
      }
    }
  };
  copy(copy, kRootNode, "", "");
  return out;
}

TEST(ShapeTest, EqualExactlyWhereTheStringCodesAre) {
  std::mt19937_64 random(11);
  std::map<std::string, Digest> by_code;
  std::map<Digest, std::string> by_shape;
  for (int round = 0; round < 300; ++round) {
    Tree tree;
    for (int step = 0; step < 120; ++step) {
      change_at_random(tree, random);
      const std::string code = string_code(tree, kRootNode);
      const Digest shape = tree.shape();
      ASSERT_EQ(by_code.emplace(code, shape).first->second, shape) << code << "\n" << listing(tree);
      ASSERT_EQ(by_shape.emplace(shape, code).first->second, code) << listing(tree);
    }
    ASSERT_EQ(renamed(tree).shape(), tree.shape()) << listing(tree);
  }
  EXPECT_GE(by_code.size(), 900u) << "enough different trees were seen";
}

TEST(ShapeTest, TellsSizesHandlesTypesAndDepth) {
  std::set<Digest> seen;
  auto add = [&](std::initializer_list<const char*> directories, std::initializer_list<const char*> files,
                 auto change) {
    Tree tree;
    for (const char* path : directories) EXPECT_EQ(tree.mkdir(path), 0);
    for (const char* path : files) EXPECT_EQ(tree.create(path), 0);
    EXPECT_EQ(change(tree), 0);
    EXPECT_TRUE(seen.insert(tree.shape()).second) << listing(tree);
  };
  auto nothing = [](Tree&) { return 0; };
  add({}, {}, nothing);
  add({}, {"/a"}, nothing);
  add({"/a"}, {}, nothing);
  add({}, {}, [](Tree& t) { return t.symlink("a", "/a"); });
  add({"/a", "/b"}, {}, nothing);
  add({"/a", "/a/b"}, {}, nothing);
  add({"/a", "/a/b", "/c"}, {}, nothing);
  add({"/a", "/a/b", "/a/b/c"}, {}, nothing);
  add({}, {"/a"}, [](Tree& t) { return t.truncate("/a", 1); });
  add({}, {"/a"}, [](Tree& t) { return t.open("/a"); });
  add({}, {"/a"}, [](Tree& t) { return t.link("/a", "/b"); });
  add({}, {"/a", "/b"}, nothing);
}

}  // namespace
}  // namespace sisyfs
