#include "adapters/kernel/guest_walk.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "adapters/guest/wire.h"

namespace sisyfs::guest_walk_test {
namespace {

using guest::WalkEntry;

struct Entry {
  std::string path;
  uint32_t mode = 0;
  uint64_t inode = 0;
  uint32_t links = 1;
  std::string data = {}, target = {}, attributes = {};
  int error = 0;
};

std::string text_of(const Entry& entry) {
  WalkEntry head{};
  head.error = entry.error;
  head.path_bytes = static_cast<uint32_t>(entry.path.size());
  head.target_bytes = static_cast<uint32_t>(entry.target.size());
  head.xattr_bytes = static_cast<uint32_t>(entry.attributes.size());
  head.mode = entry.mode;
  head.links = entry.links;
  head.inode = entry.inode;
  head.size = entry.data.size();
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + entry.path + entry.target +
         entry.attributes + entry.data;
}

std::string text_of(const std::vector<Entry>& entries) {
  std::string all;
  for (const Entry& entry : entries) all += text_of(entry);
  return all;
}

std::string attribute(const std::string& name, const std::string& value) {
  const uint32_t lengths[2] = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(value.size())};
  return std::string(reinterpret_cast<const char*>(lengths), sizeof lengths) + name + value;
}

// Read in pieces, as a guest gives them.
Walk walk_of(const std::string& text, const char* name = "ext4") {
  GuestWalk walk(*file_system(name));
  const auto bytes = std::as_bytes(std::span(text));
  for (size_t at = 0; at < bytes.size(); at += 37)
    walk.add(bytes.subspan(at, std::min<size_t>(37, bytes.size() - at)));
  return walk.finish();
}
Walk walk_of(const std::vector<Entry>& entries, const char* name = "ext4") {
  return walk_of(text_of(entries), name);
}

constexpr uint32_t kFile = S_IFREG | 0644, kFolder = S_IFDIR | 0755, kLink = S_IFLNK | 0777;
const Entry kRoot{"/", kFolder, 2, 3};
// lost+found counts.
std::vector<Entry> below_root(std::vector<Entry> entries) {
  entries.insert(entries.begin(), kRoot);
  return entries;
}

std::string content_of(const Tree& tree, const std::string& path) {
  char bytes[100];
  size_t count = 0;
  if (tree.read(path, 0, std::as_writable_bytes(std::span(bytes)), &count) != 0) return "(not read)";
  return {bytes, count};
}

TEST(GuestWalkTest, ATreeIsReadBack) {
  Tree expected;
  const std::string data = "some bytes";
  EXPECT_EQ(expected.mkdir("/d"), 0);
  EXPECT_EQ(expected.create("/d/a"), 0);
  EXPECT_EQ(expected.write("/d/a", 0, std::as_bytes(std::span(data))), 0);
  EXPECT_EQ(expected.setxattr("/d/a", "user.x", std::as_bytes(std::span(data))), 0);
  EXPECT_EQ(expected.link("/d/a", "/e"), 0);
  EXPECT_EQ(expected.symlink("d/a", "/s"), 0);
  EXPECT_EQ(expected.chmod("/d", 0700), 0);
  Entry root = kRoot;
  root.links = 4;
  const Walk walk = walk_of({root,
                             {"/d", S_IFDIR | 0700, 12, 2},
                             {"/d/a", kFile, 13, 2, data, "", attribute("user.x", data)},
                             {"/e", kFile, 13, 2, data, "", attribute("user.x", data)},
                             {"/s", kLink, 14, 1, "", "d/a"}});
  EXPECT_EQ(walk.error, 0) << error_text(walk);
  EXPECT_EQ(walk.tree, expected);
}

TEST(GuestWalkTest, WrongLinkCountsAreSeenWhereTheyMeanSomething) {
  const Walk right = walk_of(below_root({{"/a", kFile, 5, 1}})),
             wrong = walk_of(below_root({{"/a", kFile, 5, 2}}));
  EXPECT_EQ(right.error, 0);
  EXPECT_EQ(wrong.error, 0);
  EXPECT_FALSE(right.tree == wrong.tree);
  Entry root = kRoot;
  root.links = 9;
  EXPECT_FALSE(walk_of({root}).tree == walk_of({kRoot}).tree);
  EXPECT_EQ(walk_of({root}, "btrfs").tree, walk_of({kRoot}, "btrfs").tree) << "they say nothing there";
}

TEST(GuestWalkTest, AFileSystemWithoutModesHasNone) {
  const std::vector<Entry> one = {{"/", S_IFDIR | 0700, 2, 2}, {"/a", S_IFREG | 0755, 5, 1}},
                           other = {{"/", kFolder, 2, 2}, {"/a", kFile, 5, 1}};
  EXPECT_EQ(walk_of(one, "vfat").tree, walk_of(other, "vfat").tree);
  EXPECT_FALSE(walk_of(one).tree == walk_of(other).tree);
}

TEST(GuestWalkTest, FilesBehindHandlesHaveNoName) {
  const Walk walk = walk_of(below_root({{"@2", kFile, 7, 0, "gone"}}));
  EXPECT_EQ(walk.error, 0);
  EXPECT_TRUE(walk.tree.children(kRootNode).empty());
  EXPECT_EQ(content_of(walk.tree, "@2"), "gone");
}

TEST(GuestWalkTest, AnErrorOfTheGuestEndsTheWalkAtItsPath) {
  Entry failed{"/d/a", kFile, 5, 1};
  failed.error = EIO;
  const Walk walk = walk_of(below_root({{"/d", kFolder, 4, 2}, failed}));
  EXPECT_EQ(error_text(walk), "/d/a cannot be read: EIO");
  failed.error = -5;
  EXPECT_EQ(walk_of(below_root({failed})).error, kNoErrno);
}

struct Hostile {
  const char* what;
  std::vector<Entry> entries;
  int error;
};

TEST(GuestWalkTest, WhatCannotBeIsAnError) {
  const Hostile all[] = {
      {"a root that is a file", {{"/", kFile, 2, 1}}, kNoDirectory},
      {"an empty path", {{"", kFile, 5, 1}}, kBadName},
      {"a path without a slash", {{"a", kFile, 5, 1}}, kBadName},
      {"a path with an empty name", {{"//a", kFile, 5, 1}}, kBadName},
      {"a path that ends with a slash", {{"/a/", kFile, 5, 1}}, kBadName},
      {"the name ..", {{"/..", kFile, 5, 1}}, kBadName},
      {"a name with a blank", {{"/a b", kFile, 5, 1}}, kBadName},
      {"a name with a control character", {{"/a\n", kFile, 5, 1}}, kBadName},
      {"a long path", {{"/" + std::string(60, 'a'), kFile, 5, 1}}, kLongName},
      {"a handle that is none", {{"@9", kFile, 5, 1}}, kBadName},
      {"a handle twice", {{"@1", kFile, 5, 0}, {"@1", kFile, 6, 0}}, kNameTwice},
      {"a name twice", {{"/a", kFile, 5, 1}, {"/a", kFile, 6, 1}}, kNameTwice},
      {"a directory that was not told", {{"/d/a", kFile, 5, 1}}, kNoDirectory},
      {"a directory that is a file", {{"/a", kFile, 5, 1}, {"/a/b", kFile, 6, 1}}, kNoDirectory},
      {"a directory that is a link", {{"/a", kLink, 5, 1, "", "x"}, {"/a/b", kFile, 6, 1}}, kNoDirectory},
      {"a device", {{"/a", S_IFBLK | 0600, 5, 1}}, kBadType},
      {"no type", {{"/a", 0644, 5, 1}}, kBadType},
      {"two types", {{"/a", kFile, 5, 2}, {"/b", kLink, 5, 2, "", "x"}}, kOtherType},
      {"a link that says nothing", {{"/a", kLink, 5, 1}}, kBadLink},
      {"an attribute without a name", {{"/a", kFile, 5, 1, "", "", attribute("", "x")}}, kBadName},
      {"an attribute with a blank", {{"/a", kFile, 5, 1, "", "", attribute("user. ", "x")}}, kBadName},
      {"a half attribute", {{"/a", kFile, 5, 1, "", "", "abc"}}, kTooManyBytes},
      {"an attribute that is cut off",
       {{"/a", kFile, 5, 1, "", "", attribute("user.x", "abc").substr(0, 15)}},
       kTooManyBytes},
  };
  for (const Hostile& one : all) EXPECT_EQ(walk_of(below_root(one.entries)).error, one.error) << one.what;
}

TEST(GuestWalkTest, LengthsThatLieAreErrors) {
  for (uint32_t WalkEntry::*length :
       {&WalkEntry::path_bytes, &WalkEntry::target_bytes, &WalkEntry::xattr_bytes}) {
    for (const uint32_t value : {1000u, 0x7fffffffu, UINT32_MAX}) {
      WalkEntry entry{};
      entry.mode = kFile;
      entry.path_bytes = 2;
      entry.*length = value;
      EXPECT_EQ(walk_of(std::string(reinterpret_cast<const char*>(&entry), sizeof entry) + "/a").error,
                kTooManyBytes);
    }
  }
  WalkEntry entry{};
  entry.mode = kFile;
  entry.path_bytes = 2;
  entry.size = UINT64_MAX;
  EXPECT_EQ(walk_of(std::string(reinterpret_cast<const char*>(&entry), sizeof entry) + "/a").error,
            kTooManyBytes);
}

TEST(GuestWalkTest, MoreThanAnyoneReadsIsAnError) {
  std::vector<Entry> many = {kRoot};
  for (int i = 0; i < 10'001; ++i)
    many.push_back({"/" + std::to_string(i), kFile, 100u + static_cast<uint32_t>(i), 1});
  EXPECT_EQ(walk_of(many).error, kTooManyObjects);
  GuestWalk walk(*file_system("ext4"));
  const std::vector<std::byte> piece(size_t{64} << 20);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(walk.add(piece));
  EXPECT_FALSE(walk.add(piece));
  EXPECT_EQ(walk.finish().error, kTooManyObjects);
}

// Any bytes give a tree or an error.
TEST(GuestWalkTest, DamagedBytesDoNoHarm) {
  const std::string good =
      text_of(below_root({{"/d", kFolder, 4, 2},
                          {"/d/a", kFile, 5, 1, "data", "", attribute("user.x", "value")},
                          {"/s", kLink, 6, 1, "", "d/a"},
                          {"@1", kFile, 7, 0, "open"}}));
  std::mt19937 random(1);
  int errors = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (unsigned i = 0; i <= random() % 4; ++i)
      bad[random() % bad.size()] = static_cast<char>(random() % 4 == 0 ? random() : random() % 8);
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    const Walk walk = walk_of(bad);
    errors += walk.error != 0 ? 1 : 0;
    if (walk.error != 0) {
      EXPECT_FALSE(error_text(walk).empty());
    }
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace sisyfs::guest_walk_test
