#include "tree/tree_text.h"

#include <gtest/gtest.h>

namespace sisyfs::tree_text_test {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class TreeTextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(expected.mkdir("/d"), 0);
    ASSERT_EQ(expected.create("/b"), 0);
    ASSERT_EQ(expected.write("/b", 0, bytes("x")), 0);
    ASSERT_EQ(expected.symlink("../b", "/d/l"), 0);
    ASSERT_EQ(expected.create("/c"), 0);
    ASSERT_EQ(expected.write("/c", 0, bytes("x")), 0);
    got = expected;
  }
  std::string difference() const { return first_difference(got, expected); }
  Tree got, expected;
};

TEST_F(TreeTextTest, EqualTreesHaveNoDifference) { EXPECT_EQ(difference(), ""); }

TEST_F(TreeTextTest, SizeComesBeforeData) {
  ASSERT_EQ(got.write("/b", 0, bytes("yz")), 0);
  EXPECT_EQ(difference(), "file /b: size 2, expected 1");
}

TEST_F(TreeTextTest, FirstWrongByteIsTold) {
  ASSERT_EQ(got.write("/b", 0, bytes("y")), 0);
  EXPECT_EQ(difference(), "file /b: byte 0 is 0x79, expected 0x78");
}

TEST_F(TreeTextTest, MissingAndExtraPathsAreTold) {
  ASSERT_EQ(got.unlink("/b"), 0);
  EXPECT_EQ(difference(), "file /b: missing");
  ASSERT_EQ(got.mkdir("/a"), 0);
  EXPECT_EQ(difference(), "directory /a: not expected");
}

TEST_F(TreeTextTest, OtherTypeIsTold) {
  ASSERT_EQ(got.unlink("/b"), 0);
  ASSERT_EQ(got.mkdir("/b"), 0);
  EXPECT_EQ(difference(), "/b: a directory, expected a file");
}

TEST_F(TreeTextTest, OtherLinkTargetIsTold) {
  ASSERT_EQ(got.unlink("/d/l"), 0);
  ASSERT_EQ(got.symlink("../c", "/d/l"), 0);
  EXPECT_EQ(difference(), "symbolic link /d/l: leads to '../c', expected '../b'");
}

TEST_F(TreeTextTest, EqualFileInsteadOfTheSameFileIsTold) {
  ASSERT_EQ(got.unlink("/c"), 0);
  ASSERT_EQ(got.link("/b", "/c"), 0);
  EXPECT_EQ(difference(), "file /c: is /b, expected a file of its own");
  std::swap(got, expected);
  EXPECT_EQ(difference(), "file /c: a file of its own, expected /b");
}

TEST_F(TreeTextTest, WrongLinkCountIsToldWhenNothingElseIsWrong) {
  ASSERT_EQ(got.set_links("/b", 2), 0);
  EXPECT_EQ(difference(), "file /b: links 2, expected 1");
}

TEST_F(TreeTextTest, ListingShowsEachPathOnce) {
  ASSERT_EQ(got.link("/b", "/d/again"), 0);
  ASSERT_EQ(got.truncate("/c", 0), 0);
  ASSERT_EQ(got.set_links("/c", 3), 0);
  const std::string digits = listing(got).substr(listing(got).find("1 byte, ") + 8, 8);
  EXPECT_EQ(listing(got),
            "dir  /\n"
            "file /b        1 byte, " +
                digits +
                "\n"
                "file /c        0 bytes, 00000000, 3 links\n"
                "dir  /d\n"
                "file /d/again  is /b\n"
                "link /d/l      -> ../b\n");
}

}  // namespace
}  // namespace sisyfs::tree_text_test
