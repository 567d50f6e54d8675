#include "tree/xattrs.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <random>
#include <string>

#include "tree/tree.h"
#include "tree/tree_text.h"

namespace sisyfs::xattrs_test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(XattrsTest, HowTheyCameAboutDoesNotMatter) {
  Xattrs x, y;
  x.set("user.a", bytes_of("one"));
  x.set("user.b", bytes_of("two"));
  y.set("user.b", bytes_of("other"));
  y.set("user.c", bytes_of(""));
  y.set("user.a", bytes_of("one"));
  EXPECT_FALSE(x == y);
  y.set("user.b", bytes_of("two"));
  EXPECT_TRUE(y.remove("user.c"));
  EXPECT_FALSE(y.remove("user.c"));
  EXPECT_TRUE(x == y);
  EXPECT_TRUE(x.remove("user.a") && x.remove("user.b"));
  EXPECT_TRUE(x == Xattrs());
  EXPECT_TRUE(x.empty());
}

TEST(XattrsTest, NameAndValueAreToldApart) {
  const auto with = [](const char* name, const std::string& value) {
    Xattrs x;
    x.set(name, bytes_of(value));
    return x;
  };
  EXPECT_FALSE(with("user.a", "1") == with("user.b", "1"));
  EXPECT_FALSE(with("user.a", "1") == with("user.a", "2"));
  EXPECT_FALSE(with("user.a", "") == Xattrs());
  EXPECT_FALSE(with("user.a", std::string(1, '\0')) == with("user.a", ""));
}

// Compares with a std::map; copies must stay unchanged.
TEST(XattrsTest, RandomChangesAgreeWithAMap) {
  std::mt19937 random(7);
  Xattrs x;
  std::map<std::string, std::string> map;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "user." + std::string(1 + random() % 20, static_cast<char>('a' + random() % 4));
    const Xattrs before = x;
    const Digest digest = x.digest();
    if (random() % 3 == 0) {
      EXPECT_EQ(x.remove(name), map.erase(name) == 1);
    } else {
      map[name] = std::string(random() % 30, static_cast<char>('0' + random() % 10));
      x.set(name, bytes_of(map[name]));
    }
    ASSERT_EQ(before.digest(), digest);
    ASSERT_EQ(x.size(), map.size());
    auto known = map.begin();
    for (const Xattrs::Cell* at = x.first(); at != nullptr; at = at->after(), ++known) {
      ASSERT_EQ(at->name.text(), known->first);
      ASSERT_EQ(at->value.text(), known->second);
    }
  }
}

TEST(TreeXattrTest, AnswersAreThoseOfLinux) {
  Tree tree;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.symlink("a", "/s"), 0);
  const Tree plain = tree;
  const FileData* value = nullptr;
  const std::string one = "1";
  EXPECT_EQ(tree.getxattr("/a", "user.x", &value), ENODATA);
  EXPECT_EQ(tree.removexattr("/a", "user.x"), ENODATA);
  EXPECT_EQ(tree.setxattr("/n", "user.x", bytes_of(one)), ENOENT);
  EXPECT_EQ(tree.setxattr("/a/n", "user.x", bytes_of(one)), ENOTDIR);
  EXPECT_EQ(tree.setxattr("/a", "", bytes_of(one)), ERANGE);
  EXPECT_EQ(tree.setxattr("/a", "user." + std::string(251, 'x'), bytes_of(one)), ERANGE);
  EXPECT_EQ(tree.setxattr("/n", "user.x", bytes_of(std::string(65537, 'x'))), E2BIG);
  EXPECT_EQ(tree.setxattr("/a", "any.x", bytes_of(one)), EOPNOTSUPP);
  EXPECT_EQ(tree.setxattr("/a", "user.", bytes_of(one)), EINVAL);
  EXPECT_EQ(tree, plain);
  EXPECT_EQ(tree.setxattr("/s", "user.x", bytes_of(one)), 0) << "the link is followed";
  EXPECT_EQ(tree.getxattr("/a", "user.x", &value), 0);
  EXPECT_EQ(value->text(), "1");
  EXPECT_NE(tree, plain);
  EXPECT_EQ(tree.removexattr("/a", "user.x"), 0);
  EXPECT_EQ(tree, plain);
}

TEST(TreeXattrTest, TheyBelongToTheFileAndNotToItsName) {
  Tree tree;
  const std::string one = "1";
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.create("/b"), 0);
  ASSERT_EQ(tree.setxattr("/a", "user.x", bytes_of(one)), 0);
  Tree other;
  ASSERT_EQ(other.create("/a"), 0);
  ASSERT_EQ(other.create("/b"), 0);
  ASSERT_EQ(other.setxattr("/b", "user.x", bytes_of(one)), 0);
  EXPECT_NE(tree, other) << "the same attribute of another file";
  EXPECT_EQ(tree.shape(), other.shape());
  ASSERT_EQ(tree.rename("/a", "/c"), 0);
  ASSERT_EQ(tree.link("/c", "/d"), 0);
  const FileData* value = nullptr;
  EXPECT_EQ(tree.getxattr("/d", "user.x", &value), 0);
  ASSERT_EQ(tree.unlink("/c"), 0);
  ASSERT_EQ(tree.unlink("/d"), 0);
  ASSERT_EQ(tree.create("/a"), 0);
  EXPECT_EQ(tree.getxattr("/a", "user.x", &value), ENODATA) << "a new file has none";
  EXPECT_NE(tree.shape(), other.shape());
}

TEST(TreeXattrTest, TextTellsThem) {
  Tree got, expected;
  const std::string one = "1", two = "23";
  ASSERT_EQ(got.create("/a"), 0);
  ASSERT_EQ(expected.create("/a"), 0);
  ASSERT_EQ(expected.setxattr("/a", "user.x", bytes_of(one)), 0);
  EXPECT_EQ(first_difference(got, expected), "file /a: attribute user.x: missing");
  EXPECT_EQ(first_difference(expected, got), "file /a: attribute user.x: not expected");
  ASSERT_EQ(got.setxattr("/a", "user.x", bytes_of(two)), 0);
  EXPECT_EQ(first_difference(got, expected), "file /a: attribute user.x: size 2, expected 1");
  ASSERT_EQ(got.setxattr("/", "user.y", bytes_of(two)), 0);
  EXPECT_EQ(first_difference(got, expected), "directory /: attribute user.y: not expected");
  EXPECT_EQ(listing(expected).find("; user.x 1 byte") != std::string::npos, true) << listing(expected);
}

}  // namespace
}  // namespace sisyfs::xattrs_test
