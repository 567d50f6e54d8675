#include "workload/ace.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tree/tree_text.h"

namespace sisyfs::ace_test {
namespace {

const OpSet kFullOps(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                     OpKind::kLink, OpKind::kSymlink, OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate,
                     OpKind::kFsync, OpKind::kFdatasync, OpKind::kSync);

Bounds bounds_of(OpSet ops) {
  Bounds bounds;
  bounds.ops = ops;
  bounds.max_files = 8;
  bounds.max_file_size = 2;
  return bounds;
}

AceWorkload ace_of(const Bounds& bounds, uint32_t core_ops) {
  Result<AceWorkload> ace = AceWorkload::make(bounds, core_ops);
  EXPECT_TRUE(ace) << ace.error().message;
  return *std::move(ace);
}

// All sequences of ops, to the end of each workload.
struct Walker {
  const AceWorkload& ace;
  std::vector<std::vector<AceWorkload::Next>> all = {};
  std::vector<AceWorkload::Next> path = {};

  void walk(uint32_t position, const Tree& tree) {
    std::vector<AceWorkload::Next> next;
    ace.from(position, tree, &next);
    if (position == AceWorkload::kEnd) {
      EXPECT_TRUE(next.empty());
      all.push_back(path);
    }
    for (const AceWorkload::Next& one : next) {
      Tree after = tree;
      EXPECT_EQ(apply(one.op, after).error, 0) << to_text(one.op);
      path.push_back(one);
      walk(one.position, after);
      path.pop_back();
    }
  }
};

std::vector<std::vector<AceWorkload::Next>> all_of(const AceWorkload& ace) {
  Walker walker{ace};
  walker.walk(0, Tree());
  return walker.all;
}

std::string text_of(const std::vector<AceWorkload::Next>& path) {
  std::string text;
  for (const AceWorkload::Next& next : path) text += (text.empty() ? "" : "; ") + to_text(next.op);
  return text;
}

// Of each place one: the first file in the root and in /A. After an op on a file that is there come fsync and
// fdatasync of it, fsync of its directory, and sync.
TEST(AceTest, TheWorkloadsOfOneCoreOpAreCounted) {
  const AceWorkload ace = ace_of(bounds_of(kFullOps), 1);
  std::map<OpKind, size_t> by_kind;
  for (const auto& path : all_of(ace)) ++by_kind[path[path.size() - 2].op.kind];
  const std::map<OpKind, size_t> expected = {
      {OpKind::kCreate, 2 * 4},
      {OpKind::kMkdir, 3},             // fsync of it and of the root, sync
      {OpKind::kUnlink, 2 * 2},        // fsync of the directory, sync
      {OpKind::kRmdir, 2},             // likewise
      {OpKind::kSymlink, 2 * 2},       // likewise
      {OpKind::kWrite, 2 * 4},         // over what is there; a hole would be too long
      {OpKind::kAppend, 2 * 4},        //
      {OpKind::kTruncate, 2 * 2 * 4},  // to nothing, and to one unit more
      {OpKind::kLink, 2 * 6 + 3 * 7},  // within a directory, and from one to another: one more fsync
      {OpKind::kRename, 2 * (2 * 4 + 3 * 5) + 18}  // to a name that is free or not; and /A to /B, see below
  };
  EXPECT_EQ(by_kind, expected);
  // /B is not there or empty; /A has no file, one or two. Then fsync of /B and of the root, and sync.
  EXPECT_EQ(2 * 3 * 3, 18);
  EXPECT_EQ(ace.count(Tree()), 150u);
}

TEST(AceTest, EachWorkloadIsGeneratedOnceAndEndsWithAPersistencePoint) {
  const OpSet few(OpKind::kCreate, OpKind::kMkdir, OpKind::kRename, OpKind::kUnlink, OpKind::kAppend,
                  OpKind::kFsync, OpKind::kSync);
  const AceWorkload ace = ace_of(bounds_of(few), 2);
  const OpSet persistence(OpKind::kFsync, OpKind::kSync);
  std::set<std::string> texts;
  uint64_t of_two = 0;
  for (const auto& path : all_of(ace)) {
    EXPECT_TRUE(texts.insert(text_of(path)).second) << text_of(path);
    uint32_t core = 0;
    bool last_persists = true, may_cut = false;
    for (const AceWorkload::Next& next : path) {
      EXPECT_TRUE(next.may_cut || !may_cut) << "what is made beforehand comes first: " << text_of(path);
      may_cut = next.may_cut;
      if (!may_cut) continue;
      EXPECT_FALSE(last_persists && core != 0 && persistence.has(next.op.kind)) << text_of(path);
      last_persists = persistence.has(next.op.kind);
      if (!last_persists) ++core;
    }
    EXPECT_TRUE(last_persists) << text_of(path);
    EXPECT_EQ(core, 2u) << text_of(path);
    ++of_two;
  }
  // Those of one core op are the beginnings of others.
  const uint64_t of_one = *ace_of(bounds_of(few), 1).count(Tree());
  EXPECT_EQ(ace.count(Tree()), of_one + of_two);
  EXPECT_TRUE(texts.contains(
      "mkdir /A; create /A/foo; append /A/foo 1; sync; rename /A /B; create /B/bar; fsync /B"));
  EXPECT_TRUE(texts.contains("create /foo; fsync /foo; rename /foo /bar; fsync /"));
}

std::string swapped(std::string text, const std::string& one, const std::string& other) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace(one, "#");
  replace(other, one);
  replace("#", other);
  return text;
}

// What is made beforehand in any order, and then the rest.
std::string key_of(const std::string& text) {
  const size_t begin = text.find("; sync; ");
  if (begin == text.npos) return text;
  std::set<std::string> before;
  for (size_t at = 0; at < begin;) {
    const size_t end = std::min(text.find("; ", at), begin);
    before.insert(text.substr(at, end - at));
    at = end + 2;
  }
  std::string key;
  for (const std::string& op : before) key += op + "; ";
  return key + text.substr(begin + 2);
}

TEST(AceTest, OfWorkloadsThatDifferOnlyInNamesThereIsOne) {
  std::set<std::string> keys;
  const Bounds bounds = bounds_of(kFullOps - OpSet(OpKind::kSymlink));
  for (const auto& path : all_of(ace_of(bounds, 1))) keys.insert(key_of(text_of(path)));
  EXPECT_EQ(keys.size(), *ace_of(bounds, 1).count(Tree()));
  const std::pair<const char*, const char*> kSwaps[] = {
      {"/A", "/B"}, {" /foo", " /bar"}, {"/A/foo", "/A/bar"}, {"/B/foo", "/B/bar"}};
  for (const std::string& key : keys)
    for (const auto& [one, other] : kSwaps) {
      const std::string twin = key_of(swapped(key, one, other));
      // A set of things to be there may be its own twin: then the core op tells them apart.
      EXPECT_TRUE(twin == key || !keys.contains(twin)) << key << " and " << twin;
    }
}

TEST(AceTest, ATargetWithLessHasFewerWorkloads) {
  const OpSet flat = kFullOps - OpSet(OpKind::kMkdir, OpKind::kRmdir);
  for (const auto& path : all_of(ace_of(bounds_of(flat), 1)))
    EXPECT_EQ(text_of(path).find("/A"), std::string::npos) << text_of(path);
  Bounds bounds = bounds_of(OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kRemount));
  bounds.max_files = 1;
  bounds.fixed_names = true;
  bounds.names = {"x", "y"};
  std::set<std::string> texts;
  for (const auto& path : all_of(ace_of(bounds, 1))) texts.insert(text_of(path));
  EXPECT_EQ(texts, (std::set<std::string>{"create /x; remount", "create /x; remount; unlink /x; remount"}));
  bounds.names = {"x"};
  EXPECT_FALSE(AceWorkload::make(bounds, 1));
  EXPECT_FALSE(AceWorkload::make(bounds_of(kFullOps), 0));
  EXPECT_FALSE(AceWorkload::make(bounds_of(kFullOps), AceWorkload::kMostOps + 1));
}

TEST(AceTest, TheLongestAreNotCounted) {
  // Pairs of the ops above with one of about five persistence points, or none, between them.
  EXPECT_EQ(ace_of(bounds_of(kFullOps), 2).count(Tree()), 46049u);
  EXPECT_EQ(ace_of(bounds_of(kFullOps), AceWorkload::kMostCounted + 1).count(Tree()), std::nullopt);
}

}  // namespace
}  // namespace sisyfs::ace_test
