#include "workload/workload.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <set>

#include "tree/tree_text.h"

namespace sisyfs::workload_test {
namespace {

Bounds small() {
  Bounds b;
  b.ops = OpSet::all() - OpSet(OpKind::kFsck);         // which no workload generates
  b.ops = b.ops - kHandleOps - OpSet(OpKind::kChmod);  // workload_handles_test.cc
  b.ops = b.ops - kLinuxOps;                           // workload_files_test.cc
  b.names = {"a", "b"};
  b.max_files = 2;
  b.max_dirs = 1;
  b.max_depth = 2;
  b.max_file_size = 2;
  b.write_offsets = {0, 1};
  b.truncate_sizes = {0, 1, 3};
  b.xattr_sizes = {0, 2};
  return b;
}

// Trees that the workload reaches, in breadth-first order.
std::vector<Tree> reachable(Workload& workload, size_t limit) {
  std::vector<Tree> out{Tree()};
  auto key = [](const Tree& tree) { return digest_at(1, tree.digest()) + digest_at(2, tree.open_digest()); };
  std::set<Digest> seen{key(out[0])};
  std::vector<Candidate> ops;
  for (size_t i = 0; i < out.size() && out.size() < limit; ++i) {
    workload.from(out[i], &ops);
    for (const Candidate& c : ops) {
      Tree next = out[i];
      if (apply(c.op, next).error == 0 && seen.insert(key(next)).second) out.push_back(next);
    }
  }
  return out;
}

// Computes the same set of ops by brute force: every op with every path and number, kept if it succeeds,
// stays within the bounds, and is the canonical one of those with the same effect.
class BruteForce {
 public:
  BruteForce(const Tree& tree, const Bounds& bounds) : tree_(tree), b_(bounds) {
    paths_.push_back("/");
    for (size_t from = 0, depth = 0; depth < b_.max_depth; ++depth) {
      const size_t to = paths_.size();
      for (; from < to; ++from) {
        for (const std::string& name : b_.names) paths_.push_back((from ? paths_[from] : "") + "/" + name);
      }
    }
    for (size_t k = 0; k < kOpKinds; ++k) {
      const bool handle = static_cast<OpKind>(k) == OpKind::kOpen || static_cast<OpKind>(k) == OpKind::kClose;
      if (handle && !b_.handles) continue;
      if (b_.ops.has(static_cast<OpKind>(k))) try_kind(static_cast<OpKind>(k));
    }
  }
  std::set<std::string> ops;

 private:
  void try_kind(OpKind kind) {
    static constexpr OpSet kWithoutPath(OpKind::kSync, OpKind::kRemount, OpKind::kSnapshot, OpKind::kRestore);
    if (kWithoutPath.has(kind)) return keep(Op::of(kind));
    for (const std::string& text : paths_) {
      const Path path(text);
      switch (kind) {
        case OpKind::kRename:
        case OpKind::kLink:
          for (const std::string& other : paths_) keep(Op::of(kind, path, Path(other)));
          break;
        case OpKind::kSymlink:
          keep(Op::of(kind, path, Path(b_.names[0])));
          break;
        case OpKind::kWrite:
          for (uint64_t offset : offsets_of(path)) {
            for (uint32_t size : b_.write_sizes) keep(Op::write(path, offset, size));
          }
          break;
        case OpKind::kWriteSync: {
          Stat stat;
          std::set<uint64_t> offsets = offsets_of(path);
          if (tree_.stat(path, &stat) == 0) offsets.insert(stat.size);
          for (uint64_t offset : offsets) {
            for (uint32_t size : b_.write_sizes) keep(Op::write_sync(path, offset, size));
          }
          break;
        }
        case OpKind::kSetxattr:
        case OpKind::kGetxattr:
        case OpKind::kRemovexattr:
          try_xattrs(kind, path);
          break;
        case OpKind::kAppend:
          for (uint32_t size : b_.write_sizes) keep(Op::append(path, size));
          break;
        case OpKind::kTruncate:
          for (uint64_t size : sizes_of(path)) keep(Op::truncate(path, size));
          break;
        case OpKind::kRead: {
          Stat stat;
          if (tree_.stat(path, &stat) == 0)
            keep(Op::read(path, 0, std::max(b_.variety.unit, static_cast<uint32_t>(stat.size))));
          break;
        }
        default:
          keep(Op::of(kind, path));
      }
    }
  }

  std::set<uint64_t> offsets_of(const Path& path) const {
    std::set<uint64_t> all(b_.write_offsets.begin(), b_.write_offsets.end());
    Stat stat;
    if (!b_.variety.write_steps || tree_.stat(path, &stat) != 0) return all;
    all.insert({stat.size < b_.variety.unit ? 0 : stat.size - b_.variety.unit, stat.size + b_.variety.unit});
    return all;
  }
  std::set<uint64_t> sizes_of(const Path& path) const {
    std::set<uint64_t> all(b_.truncate_sizes.begin(), b_.truncate_sizes.end());
    Stat stat;
    if (tree_.stat(path, &stat) != 0) return all;
    const auto step = [&](uint64_t by) { all.insert({stat.size < by ? 0 : stat.size - by, stat.size + by}); };
    if (b_.variety.truncate_steps) step(b_.variety.unit);
    if (b_.variety.odd) step(1);
    return all;
  }

  void try_xattrs(OpKind kind, const Path& path) {
    bool missing = false;
    for (const std::string& name : b_.xattr_names) {
      const FileData* value = nullptr;
      const bool there = tree_.getxattr(path, name, &value) == 0;
      if (kind != OpKind::kSetxattr) keep(Op::of(kind, path, Path(name)));
      if (kind != OpKind::kSetxattr || (!there && missing)) continue;
      missing = missing || !there;
      for (uint32_t size : b_.xattr_sizes) keep(Op::setxattr(path, name, size));
    }
  }

  bool exists(std::string_view path) const {
    Stat stat;
    return tree_.lstat(path, &stat) == 0;
  }
  bool through_symlink(std::string_view path) const {
    for (size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
      Stat stat;
      if (tree_.lstat(path.substr(0, slash), &stat) == 0 && stat.type == FileType::kSymlink) return true;
    }
    return false;
  }
  bool canonical_name(std::string_view path) const {
    if (b_.fixed_names || exists(path)) return true;
    const std::string directory(path.substr(0, path.rfind('/') + 1));
    for (const std::string& name : b_.names) {
      if (!exists(directory + name)) return directory + name == path;
    }
    return false;
  }
  bool first_name(std::string_view path) const {
    Stat stat, other;
    if (tree_.lstat(path, &stat) != 0) return false;
    std::string first(path);
    for (const std::string& p : paths_) {
      if (!through_symlink(p) && tree_.lstat(p, &other) == 0 && other.node == stat.node)
        first = std::min(first, p);
    }
    return first == path;
  }
  bool within_bounds(const Tree& after) const {
    if (after.count(FileType::kFile) > b_.max_files || after.count(FileType::kSymlink) > b_.max_symlinks)
      return false;
    if (after.count(FileType::kDirectory) > b_.max_dirs + 1) return false;
    return fits(after, kRootNode, 0);
  }
  bool fits(const Tree& after, NodeId id, uint32_t depth) const {
    const Tree::Node& node = after.node(id);
    if (depth > b_.max_depth || node.data.size() > b_.max_file_size) return false;
    if (node.type == FileType::kFile && node.links > b_.max_links) return false;
    for (const Tree::Entry& e : after.children(id)) {
      if (!fits(after, e.node, depth + 1)) return false;
    }
    return true;
  }

  // The table of the thesis: which ops apply to closed files, and which to open files.
  bool fits_handles(const Op& op) const {
    static constexpr OpSet kOpened(OpKind::kWrite, OpKind::kWriteSync, OpKind::kAppend, OpKind::kTruncate,
                                   OpKind::kFsync, OpKind::kFdatasync, OpKind::kClose);
    static constexpr OpSet kClosed(OpKind::kUnlink, OpKind::kRename, OpKind::kLink, OpKind::kOpen);
    auto is_open = [&](const Path& path) {
      Stat stat;
      return !path.empty() && tree_.lstat(path, &stat) == 0 && tree_.node(stat.node).open;
    };
    Stat stat;
    const bool file = !op.path.empty() && tree_.lstat(op.path, &stat) == 0 && stat.type == FileType::kFile;
    if (file && kOpened.has(op.kind)) return is_open(op.path);
    return !kClosed.has(op.kind) || (!is_open(op.path) && !is_open(op.other));
  }

  void keep(const Op& op) {
    Stat stat;
    const bool there = !op.path.empty() && tree_.lstat(op.path, &stat) == 0;
    const bool link = there && stat.type == FileType::kSymlink;
    static constexpr OpSet kOtherIsText(OpKind::kSymlink, OpKind::kSetxattr, OpKind::kGetxattr,
                                        OpKind::kRemovexattr);
    if (through_symlink(op.path) || (!kOtherIsText.has(op.kind) && through_symlink(op.other))) return;
    switch (op.kind) {
      case OpKind::kCreate:
      case OpKind::kMkdir:
      case OpKind::kSymlink:
        if (!canonical_name(op.path)) return;
        break;
      case OpKind::kRename:
        if (!canonical_name(op.other) || op.path == op.other) return;
        break;
      case OpKind::kLink:
        if (!canonical_name(op.other) || link || !first_name(op.path)) return;
        break;
      case OpKind::kOpen:
        if (link || !first_name(op.path) || tree_.open_count() >= b_.max_open) return;
        break;
      case OpKind::kClose:
        if (link || !first_name(op.path)) return;
        break;
      case OpKind::kWrite:
        if (b_.ops.has(OpKind::kAppend) && there && op.offset == stat.size) return;
        [[fallthrough]];
      case OpKind::kTruncate:
        if (op.kind == OpKind::kTruncate && there && op.offset == stat.size) return;
        [[fallthrough]];
      case OpKind::kAppend:
      case OpKind::kWriteSync:
      case OpKind::kSetxattr:
      case OpKind::kGetxattr:
      case OpKind::kListxattr:
      case OpKind::kRemovexattr:
      case OpKind::kRead:
      case OpKind::kFsync:
        if (link || !first_name(op.path)) return;
        break;
      case OpKind::kFdatasync:
        if (!there || stat.type != FileType::kFile || !first_name(op.path)) return;
        break;
      case OpKind::kReaddir:
      case OpKind::kStat:
        if (link) return;
        break;
      default:
        break;
    }
    if (b_.handles && !fits_handles(op)) return;
    Tree after = tree_;
    if (apply(op, after).error == 0 && within_bounds(after)) ops.insert(to_text(op));
  }

  const Tree& tree_;
  const Bounds& b_;
  std::vector<std::string> paths_;
};

std::set<std::string> possible(Workload& workload, const Tree& tree) {
  std::vector<Candidate> ops;
  workload.from(tree, &ops);
  std::set<std::string> out;
  for (Candidate c : ops) {
    c.op.version = 0;
    EXPECT_TRUE(out.insert(to_text(c.op)).second) << to_text(c.op) << " twice";
  }
  return out;
}

class WorkloadTest : public ::testing::TestWithParam<bool> {};

TEST_P(WorkloadTest, GivesWhatBruteForceGivesAndEachOnce) {
  Bounds bounds = small();
  bounds.fixed_names = GetParam();
  Workload workload = *Workload::make(bounds);
  const std::vector<Tree> trees = reachable(workload, 800);
  ASSERT_GE(trees.size(), 800u);
  for (const Tree& tree : trees) {
    ASSERT_EQ(possible(workload, tree), BruteForce(tree, bounds).ops) << listing(tree);
  }
}

// Places relative to the end of a file, in units and within them.
TEST(WorkloadPlacesTest, GiveWhatBruteForceGivesAndEachOnce) {
  Bounds bounds = small();
  bounds.ops = OpSet(OpKind::kCreate, OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate, OpKind::kRead,
                     OpKind::kWriteSync);
  bounds.variety.unit = 3;
  bounds.max_file_size = 9;
  bounds.write_offsets = {0};
  bounds.write_sizes = {3};
  bounds.truncate_sizes = {0};
  for (const bool odd : {false, true}) {
    for (const int steps : {0, 1, 2, 3}) {
      bounds.variety.write_steps = steps % 2 != 0;
      bounds.variety.truncate_steps = steps / 2 != 0;
      bounds.variety.odd = odd;
      if (odd) bounds.write_offsets = {0, 2}, bounds.write_sizes = {3, 2};
      Workload workload = *Workload::make(bounds);
      std::set<uint64_t> sizes;
      for (const Tree& tree : reachable(workload, 300)) {
        ASSERT_EQ(possible(workload, tree), BruteForce(tree, bounds).ops) << listing(tree);
        Stat stat;
        if (tree.stat("/a", &stat) == 0) sizes.insert(stat.size);
      }
      EXPECT_EQ(sizes.contains(2), odd) << "files have odd sizes";
    }
  }
}

TEST(WorkloadPlacesTest, AreTheEndsOfTheFile) {
  Bounds bounds;
  bounds.ops = OpSet(OpKind::kWrite, OpKind::kTruncate);
  bounds.write_sizes = {512};
  bounds.max_file_size = 4096;
  bounds.variety.unit = 512;
  bounds.variety.write_steps = bounds.variety.truncate_steps = true;
  Workload workload = *Workload::make(bounds);
  Tree tree;
  ASSERT_EQ(tree.create("/a"), 0);
  ASSERT_EQ(tree.truncate("/a", 1024), 0);
  EXPECT_EQ(possible(workload, tree),
            (std::set<std::string>{"write /a 0 512", "write /a 512 512", "write /a 1536 512", "truncate /a 0",
                                   "truncate /a 512", "truncate /a 1536"}));
}

TEST(WorkloadHandlesTest, GiveWhatBruteForceGivesAndEachOnce) {
  Bounds bounds = small();
  bounds.handles = true;
  bounds.max_open = 1;
  Workload workload = *Workload::make(bounds);
  size_t busy = 0;
  for (Tree& tree : reachable(workload, 1200)) {
    busy += tree.open_count();
    BruteForce brute(tree, bounds);
    ASSERT_EQ(possible(workload, tree), brute.ops) << listing(tree);
  }
  EXPECT_GT(busy, 100u);
}

INSTANTIATE_TEST_SUITE_P(Names, WorkloadTest, ::testing::Bool(),
                         [](const auto& names) { return names.param ? "Fixed" : "Canonical"; });

TEST(WorkloadErrnoTest, PossibleOpsSucceedAndImpossibleOnesFailAndChangeNothing) {
  Bounds bounds = small();
  bounds.impossible = true;
  Workload workload = *Workload::make(bounds);
  std::vector<Candidate> ops;
  std::map<OpKind, std::set<int>> errors;
  for (const Tree& tree : reachable(workload, 400)) {
    workload.from(tree, &ops);
    std::set<std::string> seen;
    for (const Candidate& c : ops) {
      Tree after = tree;
      ASSERT_EQ(apply(c.op, after).error, c.error) << to_text(c.op) << "\n" << listing(tree);
      if (c.error != 0) {
        ASSERT_EQ(after.digest(), tree.digest()) << to_text(c.op);
      }
      ASSERT_TRUE(seen.insert(to_text(c.op)).second) << to_text(c.op) << " twice";
      errors[c.op.kind].insert(c.error);
    }
  }
  using E = std::set<int>;
  EXPECT_EQ(errors[OpKind::kCreate], (E{0, EEXIST, ENOENT, ENOTDIR}));
  EXPECT_EQ(errors[OpKind::kUnlink], (E{0, EISDIR, ENOENT, ENOTDIR}));
  EXPECT_EQ(errors[OpKind::kRmdir], (E{0, EBUSY, ENOENT, ENOTDIR, ENOTEMPTY}));
  EXPECT_EQ(errors[OpKind::kRename], (E{0, EBUSY, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY}));
  EXPECT_EQ(errors[OpKind::kLink], (E{0, EEXIST, ENOENT, ENOTDIR, EPERM}));
  EXPECT_TRUE(errors[OpKind::kWrite].contains(EISDIR));
  EXPECT_TRUE(errors[OpKind::kReaddir].contains(ENOTDIR));
}

TEST(WorkloadOrderTest, DependsOnTheTreeAndNotOnItsHistory) {
  Workload workload = *Workload::make(small());
  Tree one, two;
  for (const char* path : {"/a", "/b"}) ASSERT_EQ(one.create(path), 0);
  for (const char* path : {"/b", "/d", "/a"}) ASSERT_EQ(two.create(path), 0);
  ASSERT_EQ(two.unlink("/d"), 0);
  ASSERT_EQ(one, two);
  std::vector<Candidate> from_one, from_two;
  workload.from(one, &from_one);
  workload.from(two, &from_two);
  ASSERT_EQ(from_one.size(), from_two.size());
  for (size_t i = 0; i < from_one.size(); ++i) EXPECT_EQ(to_text(from_one[i].op), to_text(from_two[i].op));
}

TEST(WorkloadOrderTest, OpsOfAnEmptyTreeArePinned) {
  Workload workload = *Workload::make(small());
  EXPECT_EQ(possible(workload, Tree()),
            (std::set<std::string>{"create /a", "mkdir /a", "symlink a /a", "readdir /", "stat /", "fsync /",
                                   "sync", "remount", "snapshot", "restore", "listxattr /",
                                   "setxattr / user.a 0", "setxattr / user.a 2"}));
}

// A system without directories: one flat directory with fixed names, as the file-mapping models have.
TEST(WorkloadFlatTest, FixedNamesInOneDirectory) {
  Bounds bounds;
  bounds.ops = OpSet(OpKind::kCreate, OpKind::kAppend, OpKind::kUnlink, OpKind::kRead);
  bounds.names = {"0", "1", "2"};
  bounds.fixed_names = true;
  bounds.max_files = 3;
  bounds.max_depth = 1;
  bounds.write_sizes = {512};
  bounds.max_file_size = 1024;
  bounds.impossible = true;
  Workload workload = *Workload::make(bounds);
  Tree tree;
  ASSERT_EQ(tree.create("/1"), 0);
  std::vector<Candidate> ops;
  workload.from(tree, &ops);
  std::vector<std::string> text;
  for (const Candidate& c : ops) text.push_back(to_text(c.op) + (c.error ? " " + errno_text(c.error) : ""));
  EXPECT_EQ(text, (std::vector<std::string>{
                      "create /0", "create /2", "unlink /1", "append /1 512", "read /1 0 1",
                      "create /1 EEXIST", "unlink /0 ENOENT", "unlink /2 ENOENT", "append /0 512 ENOENT",
                      "append /2 512 ENOENT", "read /0 0 512 ENOENT", "read /2 0 512 ENOENT"}));
}

TEST(WorkloadDataTest, OverwriteAlwaysChangesTheFileUnlessToldNotTo) {
  Bounds bounds = small();
  bounds.ops = OpSet(OpKind::kWrite);
  bounds.write_offsets = {0};
  for (uint32_t versions : {1u, 2u, 3u}) {
    bounds.versions = versions;
    Workload workload = *Workload::make(bounds);
    Tree tree;
    ASSERT_EQ(tree.create("/a"), 0);
    std::vector<Candidate> ops;
    std::set<Digest> contents;
    for (int i = 0; i < 6; ++i) {
      workload.from(tree, &ops);
      ASSERT_EQ(ops.size(), 1u);
      ASSERT_EQ(apply(ops[0].op, tree).error, 0);
      contents.insert(tree.digest());
    }
    EXPECT_EQ(contents.size(), versions);
  }
}

TEST(WorkloadBoundsTest, SenselessBoundsAreRefused) {
  auto error = [](auto change) {
    Bounds bounds;
    change(bounds);
    const Result<Workload> workload = Workload::make(bounds);
    return workload ? "(made)" : workload.error().message;
  };
  EXPECT_EQ(error([](Bounds&) {}), "(made)");
  EXPECT_EQ(error([](Bounds& b) { b.names = {}; }), "the pool of names is empty");
  EXPECT_EQ(error([](Bounds& b) { b.names = {"a/b"}; }), "'a/b' cannot be a name");
  EXPECT_EQ(error([](Bounds& b) { b.names = {".."}; }), "'..' cannot be a name");
  EXPECT_EQ(error([](Bounds& b) { b.names = {"a", "a"}; }), "the pool of names holds one twice");
  EXPECT_EQ(error([](Bounds& b) { b.write_sizes = {4, 4}; }), "the pool of write sizes holds one twice");
  EXPECT_EQ(error([](Bounds& b) { b.write_sizes = {0}; }),
            "a write of 0 bytes does nothing; sizes start at 1");
  EXPECT_EQ(error([](Bounds& b) { b.variety.unit = 0; }),
            "a unit of 0 bytes holds nothing; units start at 1");
  EXPECT_EQ(error([](Bounds& b) { b.max_depth = 0; }),
            "max-depth 0 leaves no room for a file; it starts at 1");
  EXPECT_EQ(error([](Bounds& b) { b.max_depth = 24; }),
            "24 names of 1 characters make paths longer than 47 characters");
  EXPECT_EQ(error([](Bounds& b) { b.versions = 0; }), "versions 0 is not in 1..255");
  EXPECT_EQ(error([](Bounds& b) { b.max_links = 0; }),
            "max-links 0 leaves no name for a file; it starts at 1");
}

}  // namespace
}  // namespace sisyfs::workload_test
