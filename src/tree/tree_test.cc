#include "tree/tree.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace sisyfs::tree_test {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string content(const Tree& tree, std::string_view path) {
  Stat stat;
  if (tree.stat(path, &stat) != 0) return "(none)";
  return tree.node(stat.node).data.text();
}

class TreeTest : public ::testing::Test {
 protected:
  void ok(int error) { ASSERT_EQ(error, 0); }
  // A call that fails must change nothing.
  void fails(int error, int expected) {
    EXPECT_EQ(error, expected);
    EXPECT_EQ(tree.digest(), before.digest());
  }
  void SetUp() override {
    ok(tree.mkdir("/d"));
    ok(tree.mkdir("/d/e"));
    ok(tree.create("/f"));
    ok(tree.write("/f", 0, bytes("data")));
    before = tree;
  }
  Tree tree, before;
};

TEST_F(TreeTest, RootCannotBeMadeMovedOrRemoved) {
  fails(tree.create("/"), EEXIST);
  fails(tree.mkdir("/"), EEXIST);
  fails(tree.symlink("x", "/"), EEXIST);
  fails(tree.unlink("/"), EISDIR);
  fails(tree.rmdir("/"), EBUSY);
  fails(tree.rename("/", "/x"), EBUSY);
  fails(tree.rename("/missing", "/"), EBUSY);
  fails(tree.link("/", "/x"), EPERM);
  fails(tree.link("/f", "/"), EEXIST);
}

TEST_F(TreeTest, RenameIntoOwnSubtreeIsInvalid) {
  fails(tree.rename("/d", "/d/x"), EINVAL);
  fails(tree.rename("/d", "/d/e/x"), EINVAL);
  fails(tree.rename("/d/e", "/d"), ENOTEMPTY);
}

TEST_F(TreeTest, AnExchangeSwapsWhatTwoNamesLeadTo) {
  ok(tree.create("/d/e/h"));
  const Tree was = tree;
  ok(tree.exchange("/f", "/d/e"));
  EXPECT_EQ(content(tree, "/d/e"), "data");
  Tree fresh;
  ok(fresh.mkdir("/d"));
  ok(fresh.create("/d/e"));
  ok(fresh.write("/d/e", 0, bytes("data")));
  ok(fresh.mkdir("/f"));
  ok(fresh.create("/f/h"));
  EXPECT_EQ(tree.digest(), fresh.digest()) << "with what is below, and the link counts above";
  EXPECT_EQ(tree.shape(), fresh.shape());
  ok(tree.exchange("/d/e", "/f"));
  EXPECT_EQ(tree.digest(), was.digest());
  ok(tree.exchange("/f", "/f"));
  ok(tree.link("/f", "/g"));
  const Tree both = tree;
  ok(tree.exchange("/f", "/g"));
  EXPECT_EQ(tree.digest(), both.digest()) << "two names of one file";
}

TEST_F(TreeTest, AnExchangeNeedsTwoNamesOfWhichNoneIsInTheOther) {
  fails(tree.exchange("/f", "/missing"), ENOENT);
  fails(tree.exchange("/missing", "/f"), ENOENT);
  fails(tree.exchange("/d", "/d/e"), EINVAL);
  fails(tree.exchange("/d/e", "/d"), EINVAL);
  fails(tree.exchange("/", "/f"), EBUSY);
  fails(tree.exchange("/f", "/"), EBUSY);
  fails(tree.exchange("/f/x", "/d"), ENOTDIR);
}

TEST_F(TreeTest, ARenameToANewNameReplacesNothing) {
  fails(tree.rename_new("/f", "/d"), EEXIST);
  fails(tree.rename_new("/f", "/f"), EEXIST);
  fails(tree.rename_new("/d/e", "/d"), EEXIST);
  fails(tree.rename_new("/f", "/"), EEXIST);
  fails(tree.rename_new("/", "/x"), EBUSY);
  fails(tree.rename_new("/missing", "/f"), ENOENT);
  fails(tree.rename_new("/d", "/d/e/x"), EINVAL);
  ok(tree.rename_new("/f", "/d/x"));
  ok(before.rename("/f", "/d/x"));
  EXPECT_EQ(tree.digest(), before.digest());
}

TEST_F(TreeTest, RenameTellsFilesFromDirectories) {
  fails(tree.rename("/f", "/d"), EISDIR);
  fails(tree.rename("/d", "/f"), ENOTDIR);
  ok(tree.mkdir("/g"));
  ok(tree.rename("/g", "/d/e"));
  EXPECT_EQ(tree.digest(), before.digest()) << "an empty directory took the place of another";
}

TEST_F(TreeTest, RenameOntoAnotherNameOfTheSameFileKeepsBoth) {
  ok(tree.link("/f", "/g"));
  const Tree both = tree;
  ok(tree.rename("/f", "/g"));
  EXPECT_EQ(tree.digest(), both.digest());
}

TEST_F(TreeTest, RenamedDirectoryTakesItsSubtreeAlong) {
  ok(tree.link("/f", "/d/e/g"));
  ok(tree.rename("/d", "/x"));
  EXPECT_EQ(content(tree, "/x/e/g"), "data");
  Tree fresh;
  ok(fresh.mkdir("/x"));
  ok(fresh.mkdir("/x/e"));
  ok(fresh.create("/x/e/g"));
  ok(fresh.write("/x/e/g", 0, bytes("data")));
  ok(fresh.link("/x/e/g", "/f"));
  EXPECT_EQ(tree.digest(), fresh.digest()) << "the digest does not tell how the tree came to be";
}

TEST_F(TreeTest, LinkedNamesAreOneFile) {
  ok(tree.link("/f", "/d/g"));
  ok(tree.write("/d/g", 4, bytes("!")));
  EXPECT_EQ(content(tree, "/f"), "data!");
  ok(tree.unlink("/f"));
  EXPECT_EQ(content(tree, "/d/g"), "data!");
  Stat stat;
  ok(tree.stat("/d/g", &stat));
  EXPECT_EQ(stat.links, 1u);
}

// Four names, two files of equal content: the trees differ only in which names are the same file.
TEST_F(TreeTest, DigestTellsWhichNamesAreTheSameFile) {
  auto pair_up = [&](const char* a, const char* b, const char* c, const char* d) {
    Tree t;
    ok(t.create(a));
    ok(t.link(a, b));
    ok(t.create(c));
    ok(t.link(c, d));
    return t.digest();
  };
  EXPECT_EQ(pair_up("/a", "/b", "/c", "/d"), pair_up("/d", "/c", "/b", "/a"));
  EXPECT_NE(pair_up("/a", "/b", "/c", "/d"), pair_up("/a", "/c", "/b", "/d"));
}

TEST_F(TreeTest, DigestTellsNamesTypesSizesAndData) {
  std::vector<Digest> seen{tree.digest()};
  auto differs = [&](auto change) {
    Tree t = before;
    ok(change(t));
    for (const Digest& d : seen) EXPECT_NE(t.digest(), d);
    seen.push_back(t.digest());
  };
  differs([](Tree& t) { return t.create("/a"); });
  differs([](Tree& t) { return t.mkdir("/a"); });
  differs([](Tree& t) { return t.symlink("f", "/a"); });
  differs([](Tree& t) { return t.symlink("d", "/a"); });
  differs([](Tree& t) { return t.create("/b"); });
  differs([](Tree& t) { return t.create("/d/a"); });
  differs([](Tree& t) { return t.create("/d/e/a"); });
  differs([](Tree& t) { return t.link("/f", "/a"); });
  differs([](Tree& t) { return t.truncate("/f", 5); });
  differs([](Tree& t) { return t.truncate("/f", 3); });
  differs([](Tree& t) { return t.write("/f", 3, bytes("A")); });
  differs([](Tree& t) { return t.write("/f", 2, bytes("A")); });
  differs([](Tree& t) { return t.rename("/f", "/g"); });
  differs([](Tree& t) { return t.rename("/d/e", "/e"); });
  differs([](Tree& t) { return t.set_links("/f", 2); });
}

TEST_F(TreeTest, UndoneChangesRestoreTheDigest) {
  ok(tree.create("/d/a"));
  ok(tree.link("/d/a", "/d/e/b"));
  ok(tree.rename("/d/e", "/e"));
  ok(tree.unlink("/d/a"));
  ok(tree.unlink("/e/b"));
  ok(tree.rename("/e", "/d/e"));
  EXPECT_EQ(tree.digest(), before.digest());
  EXPECT_EQ(tree.count(FileType::kFile), 1u);
  EXPECT_EQ(tree.count(FileType::kDirectory), 3u);
}

TEST_F(TreeTest, CopiesDoNotSeeEachOthersChanges) {
  Tree copy = tree;
  ok(copy.write("/f", 0, bytes("DATA")));
  ok(copy.rmdir("/d/e"));
  EXPECT_EQ(content(tree, "/f"), "data");
  EXPECT_EQ(tree.digest(), before.digest());
}

TEST_F(TreeTest, SymbolicLinksAreFollowedWhereLinuxDoes) {
  ok(tree.symlink("../../f", "/d/e/up"));
  ok(tree.symlink("/d/e", "/abs"));
  ok(tree.symlink("loop", "/loop"));
  ok(tree.symlink("d/", "/slash"));
  ok(tree.symlink("f/", "/bad"));
  EXPECT_EQ(content(tree, "/abs/up"), "data");
  ok(tree.write("/abs/up", 0, bytes("D")));
  EXPECT_EQ(content(tree, "/f"), "Data");
  Stat stat;
  ok(tree.stat("/slash/e", &stat));
  EXPECT_EQ(stat.type, FileType::kDirectory);
  EXPECT_EQ(tree.stat("/bad", &stat), ENOTDIR);
  EXPECT_EQ(tree.stat("/loop", &stat), ELOOP);
  ok(tree.lstat("/loop", &stat));
  EXPECT_EQ(stat.size, 4u);
  before = tree;
  fails(tree.write("/loop", 0, bytes("x")), ELOOP);
  fails(tree.create("/loop"), EEXIST);
  fails(tree.create("/loop/x"), ELOOP);
  ok(tree.unlink("/abs"));
  ok(tree.stat("/d/e", &stat));
}

TEST_F(TreeTest, NamesHaveALimit) {
  const std::string longest = "/" + std::string(255, 'n');
  ok(tree.create(longest));
  before = tree;
  fails(tree.create(longest + "n"), ENAMETOOLONG);
}

TEST_F(TreeTest, WritesBeyondTheLargestFileAreRefused) {
  fails(tree.write("/f", FileData::kMaxSize, bytes("x")), EINVAL);
  fails(tree.write("/f", FileData::kMaxSize + 1, bytes("x")), EINVAL);
  fails(tree.truncate("/f", FileData::kMaxSize + 1), EINVAL);
}

// A system may report a wrong link count; the tree read back from it must still be safe to use.
TEST_F(TreeTest, ClaimedLinkCountDoesNotDecideWhenAFileGoes) {
  ok(tree.link("/f", "/g"));
  ok(tree.set_links("/f", 1));
  ok(tree.unlink("/f"));
  EXPECT_EQ(content(tree, "/g"), "data");
  ok(tree.unlink("/g"));
  EXPECT_EQ(tree.count(FileType::kFile), 0u);
}

}  // namespace
}  // namespace sisyfs::tree_test
