#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>

#include "disk/media.h"
#include "models/verifs/core.h"
#include "models/verifs/target.h"
#include "tree/tree_text.h"

namespace sisyfs::verifs::verifs_test {
namespace {

Config second(unsigned inodes = kMaxInodes, unsigned bytes = 0) {
  Config config;
  config.version = Version::kSecond;
  config.inodes = inodes;
  config.bytes = bytes;
  return config;
}

// A mounted one, to which ops are said as text.
class Verifs {
 public:
  explicit Verifs(const Config& config) : target_(kind_of(config).make()) {
    EXPECT_EQ(target_->format(disk_), 0);
    EXPECT_EQ(target_->mount(disk_), 0);
  }
  OpResult apply(const Op& op) { return target_->apply(op); }
  int operator()(const char* line) { return apply(*parse_op(line)).error; }
  Tree tree() {
    const Walk walk = target_->walk();
    EXPECT_EQ(walk.error, 0) << walk.where.text();
    return walk.tree;
  }
  Target& target() { return *target_; }
  Media& disk() { return disk_; }
  Digest digest() const { return target_->saves_memory()->save().digest(); }

 private:
  Media disk_{Image(Geometry{512, BlockCount(1)})};
  std::unique_ptr<Target> target_;
};

TEST(VerifsTest, TheFirstVersionHasNoLinksAndNoRename) {
  const TargetKind one = kind_of(Config{}), two = kind_of(second());
  EXPECT_FALSE(one.has_disk());
  EXPECT_EQ(two.ops - one.ops, OpSet(OpKind::kRename, OpKind::kLink, OpKind::kSymlink, OpKind::kSetxattr,
                                     OpKind::kGetxattr, OpKind::kListxattr, OpKind::kRemovexattr));
  EXPECT_EQ(one.ops - two.ops, OpSet());
}

TEST(VerifsTest, AFullDirectoryTakesNoNewNameAndKeepsWorking) {
  Verifs fs(second());
  ASSERT_EQ(fs("mkdir /d"), 0);
  for (unsigned i = 0; i < kEntries; ++i)
    ASSERT_EQ(fs(("create /d/" + std::string(1, static_cast<char>('a' + i))).c_str()), 0);
  const Tree full = fs.tree();
  EXPECT_EQ(fs("create /d/z"), ENOSPC);
  EXPECT_EQ(fs("link /d/a /d/z"), ENOSPC);
  EXPECT_EQ(fs("symlink a /d/z"), ENOSPC);
  EXPECT_EQ(fs("create /x"), 0);
  EXPECT_EQ(fs("rename /x /d/z"), ENOSPC);
  EXPECT_EQ(fs("unlink /x"), 0);
  EXPECT_EQ(fs.tree(), full);
  EXPECT_EQ(fs("rename /d/a /d/z"), 0) << "within a directory no room is needed";
  EXPECT_EQ(fs("rename /d/z /d/b"), 0) << "nor in the place of another";
  EXPECT_EQ(fs("create /d/z"), 0);
}

TEST(VerifsTest, InodesRunOutAndComeBack) {
  Verifs fs(second(3));
  EXPECT_EQ(fs("create /a"), 0);
  EXPECT_EQ(fs("link /a /b"), 0);
  EXPECT_EQ(fs("mkdir /d"), 0);
  EXPECT_EQ(fs("create /c"), ENOSPC);
  EXPECT_EQ(fs("unlink /a"), 0) << "it has another name";
  EXPECT_EQ(fs("create /c"), ENOSPC);
  EXPECT_EQ(fs("unlink /b"), 0);
  EXPECT_EQ(fs("create /c"), 0);
}

TEST(VerifsTest, BytesRunOutAndComeBack) {
  Verifs fs(second(kMaxInodes, 8));
  EXPECT_EQ(fs("create /a"), 0);
  EXPECT_EQ(fs("create /b"), 0);
  EXPECT_EQ(fs("write /a 0 5"), 0) << "two steps of four";
  const Tree full = fs.tree();
  EXPECT_EQ(fs("append /b 1"), ENOSPC);
  EXPECT_EQ(fs("truncate /b 1"), ENOSPC);
  EXPECT_EQ(fs("symlink a /s"), ENOSPC);
  EXPECT_EQ(fs.tree(), full);
  EXPECT_EQ(fs("append /a 3"), 0) << "the buffer has room";
  EXPECT_EQ(fs("truncate /a 4"), 0);
  EXPECT_EQ(fs("append /b 1"), 0);
}

TEST(VerifsTest, AttributesRunOutAndComeBack) {
  Verifs fs(second());
  EXPECT_EQ(fs("create /a"), 0);
  EXPECT_EQ(fs("create /b"), 0);
  EXPECT_EQ(fs("setxattr /a user.a 8"), ENOSPC) << "a value has seven bytes";
  EXPECT_EQ(fs("setxattr /a user.abcdefgh 1"), ENOSPC) << "and so has a name";
  EXPECT_EQ(fs("setxattr /a other.a 1"), EOPNOTSUPP);
  EXPECT_EQ(fs("setxattr /a user. 1"), EINVAL);
  for (unsigned i = 0; i < kXattrs; ++i)
    ASSERT_EQ(fs(("setxattr /a user." + std::string(1, static_cast<char>('a' + i)) + " 7").c_str()), 0);
  const Tree full = fs.tree();
  EXPECT_EQ(fs("setxattr /b user.a 1"), ENOSPC);
  EXPECT_EQ(fs("setxattr / user.a 1"), ENOSPC);
  EXPECT_EQ(fs.tree(), full);
  EXPECT_EQ(fs("setxattr /a user.b 0"), 0) << "another value needs no room";
  EXPECT_EQ(fs("removexattr /a user.c"), 0);
  EXPECT_EQ(fs("setxattr / user.c 2"), 0);
  EXPECT_EQ(fs("setxattr /b user.c 2"), ENOSPC);
  EXPECT_EQ(fs("link /a /c"), 0);
  EXPECT_EQ(fs("unlink /a"), 0);
  EXPECT_EQ(fs("getxattr /c user.a"), 0) << "it has another name";
  EXPECT_EQ(fs("unlink /c"), 0);
  EXPECT_EQ(fs("setxattr /b user.c 2"), 0);
  EXPECT_EQ(fs("create /a"), 0);
  EXPECT_EQ(fs("getxattr /a user.a"), ENODATA);
}

TEST(VerifsTest, RestoreBringsBackWhatTheSnapshotFoundOnce) {
  Verifs fs(second());
  EXPECT_EQ(fs("mkdir /d"), 0);
  EXPECT_EQ(fs("create /d/a"), 0);
  EXPECT_EQ(fs("append /d/a 6"), 0);
  const Tree then = fs.tree();
  EXPECT_EQ(fs("restore"), ENOENT) << "nothing is kept";
  EXPECT_EQ(fs("snapshot"), 0);
  EXPECT_EQ(fs("rename /d/a /b"), 0);
  EXPECT_EQ(fs("truncate /b 2"), 0);
  EXPECT_EQ(fs("rmdir /d"), 0);
  EXPECT_NE(fs.tree(), then);
  EXPECT_EQ(fs("restore"), 0);
  EXPECT_EQ(fs.tree(), then);
  EXPECT_EQ(fs("restore"), ENOENT) << "it is kept no longer";
  EXPECT_EQ(fs("create /b"), 0);
}

// The story of VeriFS 1: after a restore the kernel still knew a directory that was made since, and mkdir
// answered that it exists.
TEST(VerifsTest, AStaleNameOutlivesTheRestore) {
  for (const NameCache cache : {NameCache::kFresh, NameCache::kStale}) {
    Config config;
    config.name_cache = cache;
    Verifs fs(config);
    EXPECT_EQ(fs("snapshot"), 0);
    EXPECT_EQ(fs("mkdir /d"), 0);
    EXPECT_EQ(fs("restore"), 0);
    EXPECT_EQ(fs.tree(), Tree()) << "a directory is read from the file system";
    EXPECT_EQ(fs("mkdir /d"), cache == NameCache::kFresh ? 0 : EEXIST);
  }
}

// What a stale name leads to may be free, or be something else by now.
TEST(VerifsTest, StaleNamesLeadAstrayAndNowhereElse) {
  Config config = second();
  config.name_cache = NameCache::kStale;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Verifs fs(config);
    std::mt19937_64 random(seed);
    const auto pick = [&](auto... of) {
      const std::common_type_t<decltype(of)...> all[] = {of...};
      return all[random() % std::size(all)];
    };
    const auto path = [&] { return std::string(pick("/a", "/b", "/a/a", "/a/b", "/b/a", "/b/b")); };
    for (int call = 0; call < 60; ++call) {
      std::string line = pick("create ", "mkdir ", "unlink ", "rmdir ", "rename ", "link ", "append ",
                              "snapshot", "restore", "stat ", "readdir ");
      if (line.back() == ' ') line += path();
      if (line.starts_with("rename") || line.starts_with("link")) line += " " + path();
      if (line.starts_with("append")) line += " 3";
      (void)fs(line.c_str());
      (void)fs.target().walk();
    }
  }
  SUCCEED() << "a sanitizer judges";
}

TEST(VerifsTest, HowASystemCameAboutDoesNotMatter) {
  const auto digest_after = [](std::initializer_list<const char*> lines) {
    Verifs fs(second());
    for (const char* line : lines) EXPECT_EQ(fs(line), 0) << line;
    return fs.digest();
  };
  EXPECT_EQ(digest_after({"create /a", "append /a 6", "truncate /a 0"}), digest_after({"create /a"}));
  EXPECT_EQ(digest_after({"create /a", "write /a 5 1", "unlink /a", "mkdir /a"}), digest_after({"mkdir /a"}));
  EXPECT_EQ(digest_after({"create /a", "link /a /c", "link /a /b"}),
            digest_after({"create /a", "link /a /b", "link /a /c"}));
  EXPECT_EQ(digest_after({"snapshot", "create /a", "restore"}), digest_after({}));
  EXPECT_EQ(digest_after({"setxattr / user.b 5", "setxattr / user.a 1", "setxattr / user.b 1"}),
            digest_after({"setxattr / user.a 1", "setxattr / user.b 1"}));
  EXPECT_EQ(digest_after({"setxattr / user.b 5", "removexattr / user.b", "snapshot", "setxattr / user.c 1",
                          "restore"}),
            digest_after({}));
  EXPECT_NE(digest_after({"snapshot"}), digest_after({})) << "it can be restored";
}

// Long runs against the reference, with room for little, and a second instance that takes over now and then.
TEST(VerifsTest, RandomOpsAgreeWithTheReference) {
  const Config config = second(6, 16);
  Bounds bounds;
  bounds.ops = kind_of(config).ops;
  bounds.max_links = 3;
  bounds.max_symlinks = 2;
  bounds.max_depth = 3;
  bounds.write_sizes = {1, 5};
  bounds.write_offsets = {0, 2, 6};
  bounds.truncate_sizes = {0, 3, 5};
  bounds.max_file_size = 12;
  bounds.xattr_sizes = {0, 1, 7};
  bounds.xattr_names = {"user.a", "user.b", "user.c"};
  bounds.impossible = true;
  Workload workload = *Workload::make(bounds);
  int full = 0, restored = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Verifs one(config), two(config);
    Verifs* fs = &one;
    Tree tree;
    std::optional<Tree> kept;
    std::mt19937_64 random(seed);
    std::vector<Candidate> ops;
    for (int call = 0; call < 300; ++call) {
      workload.from(tree, &ops);
      // There are many more ways to fail; those come last.
      const auto possible = static_cast<size_t>(
          std::count_if(ops.begin(), ops.end(), [](const Candidate& c) { return c.error == 0; }));
      const Op op = ops[random() % (call % 3 == 0 ? ops.size() : possible)].op;
      if (op.kind == OpKind::kRestore && !kept) continue;
      const Tree before = tree;
      const OpResult expected = sisyfs::apply(op, tree), answer = fs->apply(op);
      if (answer.error == ENOSPC && expected.error == 0) {
        ++full;
        tree = before;
      } else {
        ASSERT_EQ(answer, expected) << to_text(op) << "\n" << listing(before);
      }
      if (op.kind == OpKind::kSnapshot) kept = tree;
      if (op.kind == OpKind::kRestore) {
        ++restored;
        tree = *kept;
        kept.reset();
      }
      ASSERT_EQ(first_difference(fs->tree(), tree), "") << to_text(op) << "\n" << listing(before);
      if (call % 7 != 0) continue;
      Verifs* other = fs == &one ? &two : &one;
      other->target().saves_memory()->load(fs->target().saves_memory()->save(), other->disk());
      ASSERT_EQ(other->digest(), fs->digest());
      fs = other;
    }
  }
  EXPECT_GT(full, 100);
  EXPECT_GT(restored, 50);
}

}  // namespace
}  // namespace sisyfs::verifs::verifs_test
