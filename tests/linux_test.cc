// Compares the reference tree and the model verifs2 with the kernel of this machine: all three get the same
// random ops, and after each op the answers and the whole trees must agree.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "disk/media.h"
#include "linux_directory.h"
#include "models/verifs/target.h"
#include "tree/tree_text.h"

namespace sisyfs::linux_test {
namespace {

// Where kernels keep different file systems: that of TMPDIR, and one in memory.
std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> all = {std::filesystem::temp_directory_path()};
  if (::access("/dev/shm", W_OK | X_OK) == 0) all.emplace_back("/dev/shm");
  return all;
}

// How ops are chosen, and who performs them.
struct Plan {
  uint64_t seed = 1;
  int calls = 800;
  bool xattrs = false;                        // also extended attributes
  bool handles = false;                       // also numbered handles, and files without a name
  bool modes = false;                         // also chmod
  OpSet more = {};                            // also these, of the calls that POSIX has not
  bool rooted = false;                        // also "/" itself, "..", and links with absolute targets
  std::optional<verifs::Config> verifs = {};  // the model goes along; its ops only, and short files
};

class RandomOps {
 public:
  explicit RandomOps(const Plan& plan) : plan_(plan), random_(plan.seed) {}

  Op next(const Tree& tree) {
    paths_.clear();
    files_.clear();
    directories_.assign(1, Path("/"));
    if (plan_.rooted) paths_.emplace_back("/");
    add_paths(tree, kRootNode, Path("/"));
    if (plan_.handles && pick(2) == 0) return on_handle(tree);
    if (plan_.modes && pick(4) == 0) return mode();
    if (plan_.more != OpSet() && pick(2) == 0) return of_linux();
    static constexpr OpKind kKinds[] = {
        OpKind::kCreate, OpKind::kCreate,  OpKind::kMkdir,  OpKind::kMkdir,    OpKind::kUnlink,
        OpKind::kUnlink, OpKind::kRmdir,   OpKind::kRmdir,  OpKind::kRename,   OpKind::kRename,
        OpKind::kRename, OpKind::kLink,    OpKind::kLink,   OpKind::kLink,     OpKind::kSymlink,
        OpKind::kWrite,  OpKind::kWrite,   OpKind::kAppend, OpKind::kTruncate, OpKind::kTruncate,
        OpKind::kRead,   OpKind::kReaddir, OpKind::kStat,   OpKind::kFsync,    OpKind::kFdatasync,
        OpKind::kOpen,   OpKind::kClose};
    OpKind kind = kKinds[pick(std::size(kKinds))];
    static constexpr OpKind kXattrKinds[] = {OpKind::kSetxattr,  OpKind::kSetxattr,    OpKind::kGetxattr,
                                             OpKind::kListxattr, OpKind::kRemovexattr, OpKind::kRemovexattr};
    if (plan_.xattrs && pick(3) == 0) kind = kXattrKinds[pick(std::size(kXattrKinds))];
    // A file is opened by path or by number, not in both ways.
    if (plan_.handles && (kind == OpKind::kOpen || kind == OpKind::kClose)) kind = OpKind::kUnlink;
    // Where much is there, little can be made.
    if (paths_.size() > 12 && pick(3) == 0) kind = pick(3) == 0 ? OpKind::kRmdir : OpKind::kUnlink;
    static constexpr OpSet kMakes(OpKind::kCreate, OpKind::kMkdir, OpKind::kSymlink);
    Op op = Op::of(kind, path(kMakes.has(kind) ? 1 : 6));
    if (kind == OpKind::kRmdir && pick(4) != 0) op.path = directories_[pick(directories_.size())];
    // Most of what is there are directories and links.
    static constexpr OpSet kOnFiles(OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate, OpKind::kRead,
                                    OpKind::kLink, OpKind::kOpen, OpKind::kClose);
    if (kOnFiles.has(kind) && !files_.empty() && pick(2) == 0) op.path = files_[pick(files_.size())];
    if (op.path.text() == "/" && !plan_.rooted) op.path = Path("/a");
    if (kind == OpKind::kRename || kind == OpKind::kLink) op.other = path(3);
    if (op.kind == OpKind::kSymlink) op.other = target();
    if (std::find(std::begin(kXattrKinds), std::end(kXattrKinds), kind) != std::end(kXattrKinds))
      choose_xattr(op);
    if (op.kind == OpKind::kWrite || op.kind == OpKind::kTruncate || op.kind == OpKind::kRead)
      op.offset = offset();
    if (op.kind == OpKind::kWrite || op.kind == OpKind::kAppend || op.kind == OpKind::kRead)
      op.length = static_cast<uint32_t>(pick(plan_.verifs || pick(8) != 0 ? 6 : 5000));
    if (op.kind == OpKind::kWrite || op.kind == OpKind::kAppend) op.version = static_cast<uint8_t>(pick(3));
    return op;
  }

 private:
  uint64_t pick(uint64_t n) { return random_() % n; }
  uint64_t offset() { return plan_.verifs || pick(6) != 0 ? pick(12) : 4090 + pick(4200); }

  // More often than not of a handle that is open.
  Op on_handle(const Tree& tree) {
    static constexpr OpKind kKinds[] = {OpKind::kOpenHandle,  OpKind::kOpenHandle,  OpKind::kCloseHandle,
                                        OpKind::kWriteHandle, OpKind::kWriteHandle, OpKind::kAppendHandle,
                                        OpKind::kReadHandle,  OpKind::kReadHandle,  OpKind::kTruncateHandle,
                                        OpKind::kStatHandle,  OpKind::kFsyncHandle, OpKind::kFdatasyncHandle};
    Op op = Op::of(kKinds[pick(std::size(kKinds))]);
    uint64_t handle = pick(Tree::kHandles);
    const bool opens = op.kind == OpKind::kOpenHandle;
    for (uint32_t i = 0;
         i < Tree::kHandles && (tree.behind(static_cast<uint32_t>(handle)) == kNoNode) != opens; ++i)
      handle = (handle + 1) % Tree::kHandles;
    const Path text(fmt::format("@{}", handle + 1));
    if (opens) {
      op.path = files_.empty() || pick(4) == 0 ? path(6) : files_[pick(files_.size())];
      op.other = text;
      return op;
    }
    op.path = text;
    const OpKind kind = by_path(op.kind);
    if (kind == OpKind::kWrite || kind == OpKind::kTruncate || kind == OpKind::kRead) op.offset = offset();
    if (kind == OpKind::kWrite || kind == OpKind::kAppend || kind == OpKind::kRead)
      op.length = static_cast<uint32_t>(pick(pick(8) != 0 ? 6 : 5000));
    if (kind == OpKind::kWrite || kind == OpKind::kAppend) op.version = static_cast<uint8_t>(pick(3));
    return op;
  }

  // Mostly near the end of a file.
  Op of_linux() {
    OpKind kind = OpKind::kMsync;
    do kind = static_cast<OpKind>(pick(kOpKinds));
    while (!plan_.more.has(kind));
    Op op = Op::of(kind, path(7));
    if (op.path.text() == "/") op.path = Path("/a");
    if (kind == OpKind::kExchange || kind == OpKind::kRenameNew) {
      op.other = path(kind == OpKind::kExchange ? 7 : 3);
      if (op.other.text() == "/") op.other = Path("/b");
      return op;
    }
    if (!files_.empty() && pick(4) != 0) op.path = files_[pick(files_.size())];
    if (kind == OpKind::kMsync) return op;
    op.offset = offset();
    op.length = static_cast<uint32_t>(pick(pick(8) != 0 ? 6 : 5000));
    if (kind == OpKind::kWriteDirect) op.offset = pick(2) * 4096, op.length = 4096;
    if (kind == OpKind::kWriteDirect || kind == OpKind::kWriteMapped)
      op.version = static_cast<uint8_t>(pick(3));
    return op;
  }

  // The owner may read, write and search, so that permissions decide nothing.
  Op mode() {
    static constexpr uint32_t kModes[] = {0700, 0755, 0777, 0750, 0704};
    Op op = Op::chmod(path(7), kModes[pick(std::size(kModes))]);
    if (!files_.empty() && pick(2) == 0) op.path = files_[pick(files_.size())];
    if (op.path.text() == "/") op.path = Path("/a");
    return op;
  }

  // Mostly one of few names; else one that no file can have.
  void choose_xattr(Op& op) {
    static constexpr std::string_view kNames[] = {"user.a", "user.b", "user.c", "user.", "other.a", "user"};
    if (op.kind != OpKind::kListxattr)
      op.other = Path(kNames[pick(8) != 0 ? pick(3) : pick(std::size(kNames))]);
    if (op.kind != OpKind::kSetxattr) return;
    op.length = static_cast<uint32_t>(pick(plan_.verifs || pick(4) != 0 ? 8 : 300));
    op.version = static_cast<uint8_t>(pick(3));
  }

  // Of ten, so many lead to what is there; two lead anywhere, the rest to a name in a directory that is
  // there.
  Path path(uint64_t there) {
    static constexpr std::string_view kNames[] = {"a", "b", "c"};
    const uint64_t way = pick(10);
    if (way < there && !paths_.empty()) return paths_[pick(paths_.size())];
    Path at("/");
    if (way < 8) {
      at = directories_[pick(directories_.size())];
      return at.text().size() < 12 ? at.child(kNames[pick(3)]) : at;
    }
    for (uint64_t parts = 1 + pick(3); parts > 0; --parts) at = at.child(kNames[pick(3)]);
    return at;
  }
  Path target() {
    static constexpr std::string_view kTargets[] = {
        "a",  "b/a",  ".",      "c", "a/", "./b",  "b//c",   "a/./b",  //
        "..", "../a", "b/../c", "/", "/a", "/b/c", "/../b/", "../../c/."};
    return Path(kTargets[pick(plan_.rooted ? std::size(kTargets) : 8)]);
  }
  // The path is a copy: where it may lie, vectors grow.
  void add_paths(const Tree& tree, NodeId directory, Path here) {
    for (const Tree::Entry& entry : tree.children(directory)) {
      paths_.push_back(here.child(entry.name()));
      if (tree.node(entry.node).type == FileType::kFile) files_.push_back(paths_.back());
      if (tree.node(entry.node).type != FileType::kDirectory) continue;
      directories_.push_back(paths_.back());
      add_paths(tree, entry.node, directories_.back());
    }
  }

  Plan plan_;
  std::mt19937_64 random_;
  std::vector<Path> paths_, files_, directories_;  // that are there
};

// What a run met, so that a test can ask whether it was worth running.
struct Met {
  std::set<int> errors;
  std::map<OpKind, int> done;  // with success
  int left_out = 0, calls = 0;
  int nameless = 0;  // calls after which a file without a name was open
};

// One run. Says where it came to disagree, or nothing.
class Comparison {
 public:
  Comparison(const Plan& plan, const std::string& prefix, Met* met)
      : plan_(plan), ops_(plan), linux_(prefix), disk_(Image(Geometry{512, BlockCount(1)})), met_(met) {
    if (plan.modes) linux_.read_modes();
    if (plan.modes && linux_.apply(Op::chmod(Path("/"), 0755)).error != 0) ADD_FAILURE();
    if (!plan.verifs) return;
    const TargetKind kind = verifs::kind_of(*plan.verifs);
    verifs_ops_ = kind.ops;
    verifs_ = kind.make();
    if (verifs_->mount(disk_) != 0) verifs_.reset();
  }

  std::string run() {
    for (int call = 0; call < plan_.calls; ++call) {
      const Tree before = tree_;
      const Op op = ops_.next(tree_);
      const std::string wrong = step(op);
      if (!wrong.empty())
        return fmt::format("{}: {} (seed {}, call {})\n{}", to_text(op), wrong, plan_.seed, call,
                           listing(before));
    }
    return {};
  }

 private:
  static std::string text_of(const OpResult& r) { return fmt::format("{} {}", errno_text(r.error), r.value); }

  std::string step(const Op& op) {
    // What the model has not, the reference does in runs of its own.
    if (verifs_ && !verifs_ops_.has(op.kind)) return {};
    Tree after = tree_;
    const OpResult expected = apply(op, after);
    if (expected.error != 0 && after != tree_) return "the reference refused, and changed";
    // That a file is open is a limit of the reference, not of Linux.
    const bool root = op.path.text() == "/" || op.other.text() == "/";
    if (expected.error == EBUSY && !root) return {};
    std::optional<OpResult> from_verifs;
    if (verifs_) {
      from_verifs = verifs_->apply(op);
      const bool no_room = from_verifs->error == ENOSPC || from_verifs->error == EFBIG;
      if (no_room && expected.error == 0) return check_full();
    }
    ++met_->calls;
    const OpResult answer = linux_.apply(op);
    if (answer != expected)
      return fmt::format("Linux answers {}, the reference {}", text_of(answer), text_of(expected));
    if (from_verifs && answer != *from_verifs)
      return fmt::format("Linux answers {}, verifs2 {}", text_of(answer), text_of(*from_verifs));
    tree_ = after;
    met_->nameless += tree_.has_nameless() ? 1 : 0;
    met_->errors.insert(answer.error);
    if (answer.error == 0) ++met_->done[op.kind];
    std::string wrong;
    const Tree on_disk = linux_.walk(&wrong);
    if (!wrong.empty()) return wrong;
    if (std::string difference = first_difference(tree_, on_disk); !difference.empty())
      return "the reference is not Linux: " + difference;
    return check_verifs();
  }

  // Whatever the model refuses for lack of room, nobody does.
  std::string check_full() {
    ++met_->left_out;
    return check_verifs();
  }
  std::string check_verifs() {
    if (!verifs_) return {};
    const Walk walk = verifs_->walk();
    if (walk.error != 0) return fmt::format("verifs2 cannot read {}", walk.where.text());
    const std::string difference = first_difference(walk.tree, tree_);
    return difference.empty() ? "" : "verifs2 is not the reference: " + difference;
  }

  Plan plan_;
  RandomOps ops_;
  LinuxDirectory linux_;
  Media disk_;
  OpSet verifs_ops_;
  std::unique_ptr<Target> verifs_;
  Tree tree_;
  Met* met_;
};

constexpr const char* kCannotEnter = "cannot enter";

// What `use` says in a process of its own whose root is the directory.
std::string in_root(const std::string& directory, const std::function<std::string()>& use) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = enter_as_root(directory) ? use() : kCannotEnter;
    const bool whole = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> some;
  for (ssize_t count = 0; (count = ::read(ends[0], some.data(), some.size())) > 0;)
    said.append(some.data(), static_cast<size_t>(count));
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) return "the child did not end well: " + said;
  return said;
}

// Everything is there that makes a run worth something, or what is not.
std::string missing(const Met& met, bool rooted, bool verifs) {
  std::vector<int> errors = {0, ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, EINVAL, EPERM, ELOOP};
  if (rooted) errors.push_back(EBUSY);
  for (const int error : errors)
    if (!met.errors.contains(error)) return "never met " + errno_text(error);
  const OpSet all(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                  OpKind::kLink, OpKind::kSymlink, OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate,
                  OpKind::kRead, OpKind::kReaddir, OpKind::kStat);
  for (size_t k = 0; k < kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    if (all.has(kind) && (!met.done.contains(kind) || met.done.at(kind) < 60))
      return fmt::format("{} hardly ever succeeded", op_name(kind));
  }
  if (verifs && (met.left_out == 0 || met.left_out > met.calls / 10))
    return fmt::format("{} of {} ops found no room", met.left_out, met.calls);
  return {};
}

constexpr uint64_t kRuns = 12;

// In a directory below which nobody else lives: paths are prefixed.
void expect_agreement(Plan plan) {
  for (const std::filesystem::path& where : places()) {
    Met met;
    for (plan.seed = 1; plan.seed <= kRuns; ++plan.seed) {
      const ScratchDirectory place(where);
      ASSERT_NE(place.path(), "");
      ASSERT_EQ(Comparison(plan, place.path(), &met).run(), "") << "in " << where;
    }
    EXPECT_EQ(missing(met, false, plan.verifs.has_value()), "") << "in " << where;
  }
}

std::string missing_xattrs(const Met& met) {
  for (const int error : {ENODATA, EOPNOTSUPP, EINVAL, ENOENT, ENOTDIR, ELOOP})
    if (!met.errors.contains(error)) return "never met " + errno_text(error);
  for (const OpKind kind : {OpKind::kSetxattr, OpKind::kGetxattr, OpKind::kListxattr, OpKind::kRemovexattr})
    if (!met.done.contains(kind) || met.done.at(kind) < 60)
      return fmt::format("{} hardly ever succeeded", op_name(kind));
  return {};
}

// In a directory that is the root of a process.
std::string agreement_as_root(Plan plan) {
  plan.rooted = true;
  for (const std::filesystem::path& where : places()) {
    Met met;
    const ScratchDirectory place(where);
    for (plan.seed = 1; plan.seed <= kRuns; ++plan.seed) {
      const std::string below = place.path() + "/" + std::to_string(plan.seed);
      if (::mkdir(below.c_str(), 0755) != 0) return "no directory in " + where.string();
    }
    const std::string said = in_root(place.path(), [&]() -> std::string {
      const int outside = ::open("/", O_RDONLY | O_DIRECTORY);
      for (plan.seed = 1; plan.seed <= kRuns; ++plan.seed) {
        if (::fchdir(outside) != 0 || !enter_as_root(std::to_string(plan.seed))) return kCannotEnter;
        if (const std::string wrong = Comparison(plan, "", &met).run(); !wrong.empty()) return wrong;
      }
      return missing(met, true, plan.verifs.has_value());
    });
    if (!said.empty()) return said;
  }
  return {};
}

verifs::Config second() {
  verifs::Config config;
  config.version = verifs::Version::kSecond;
  return config;
}

TEST(LinuxTest, TheReferenceAnswersAsLinuxDoes) { expect_agreement({}); }

TEST(LinuxTest, VerifsAnswersAsLinuxDoes) { expect_agreement({.verifs = second()}); }

TEST(LinuxTest, TheRootAndLinksFromItAnswerAsInLinux) {
  for (const Plan& plan : {Plan{}, Plan{.verifs = second()}}) {
    const std::string said = agreement_as_root(plan);
    if (said == kCannotEnter) GTEST_SKIP() << "no process here may have a root of its own";
    EXPECT_EQ(said, "");
  }
}

TEST(LinuxTest, ExtendedAttributesAnswerAsInLinux) {
  int tried = 0;
  for (const std::filesystem::path& where : places()) {
    const ScratchDirectory first(where);
    ASSERT_NE(first.path(), "");
    if (!LinuxDirectory(first.path()).has_xattrs()) continue;
    ++tried;
    for (Plan plan : {Plan{.xattrs = true}, Plan{.xattrs = true, .verifs = second()}}) {
      Met met;
      for (plan.seed = 1; plan.seed <= kRuns; ++plan.seed) {
        const ScratchDirectory place(where);
        ASSERT_EQ(Comparison(plan, place.path(), &met).run(), "") << "in " << where;
      }
      EXPECT_EQ(missing_xattrs(met), "") << "in " << where;
    }
    verifs::Config stays = second();
    stays.xattr_free = false;
    Met met;
    std::string seen;
    for (Plan plan{.xattrs = true, .verifs = stays}; plan.seed <= kRuns && seen.empty(); ++plan.seed) {
      const ScratchDirectory place(where);
      seen = Comparison(plan, place.path(), &met).run();
    }
    EXPECT_NE(seen, "") << "attributes of a file that is gone";
  }
  if (tried == 0) GTEST_SKIP() << "no file system here has attributes of users";
}

TEST(LinuxTest, OpenFilesThatAreRemovedRenamedAndReplacedAnswerAsInLinux) {
  Plan plan{.calls = 1500, .handles = true};
  for (const std::filesystem::path& where : places()) {
    Met met;
    for (plan.seed = 1; plan.seed <= kRuns; ++plan.seed) {
      const ScratchDirectory place(where);
      ASSERT_EQ(Comparison(plan, place.path(), &met).run(), "") << "in " << where;
    }
    for (size_t k = 0; k < kOpKinds; ++k) {
      const auto kind = static_cast<OpKind>(k);
      if (kHandleOps.has(kind)) {
        EXPECT_GT(met.done[kind], 60) << op_name(kind);
      }
    }
    EXPECT_TRUE(met.errors.contains(EBADF));
    EXPECT_TRUE(met.errors.contains(EISDIR));
    EXPECT_GT(met.nameless, 500) << "calls with a file without a name";
  }
}

// The sequence by hand, with a handle on each of two files, and two on one.
TEST(LinuxTest, AFileWithoutANameLivesUntilItsLastHandleIsClosed) {
  const ScratchDirectory place(places().front());
  LinuxDirectory linux(place.path());
  Tree tree;
  for (const char* line :
       {"create /a",    "append /a 8", "create /b",     "open /a @1",      "open /a @2",  "open /b @3",
        "rename /b /a", "stat @1",     "append @1 4",   "read @2 0 20",    "stat /a",     "append @3 2",
        "read /a 0 9",  "unlink /a",   "truncate @2 3", "write @1 9 2 v1", "fsync @1",    "close @1",
        "read @2 0 20", "close @2",    "stat @2",       "create /a",       "link /a /c",  "open /c @1",
        "unlink /a",    "append @1 5", "rename /c /d",  "fdatasync @1",    "append /d 3", "stat @1",
        "close @3",     "close @1",    "close @1"}) {
    const Op op = *parse_op(line);
    EXPECT_EQ(apply(op, tree), linux.apply(op)) << line;
    std::string wrong;
    EXPECT_EQ(first_difference(tree, linux.walk(&wrong)), "") << line;
    EXPECT_EQ(wrong, "") << line;
  }
  EXPECT_EQ(tree.open_count(), 0u);
  EXPECT_EQ(tree.count(FileType::kFile), 1u);
}

TEST(LinuxTest, ModesAnswerAsInLinux) {
  const mode_t before = ::umask(022);
  Plan plan{.modes = true};
  for (const std::filesystem::path& where : places()) {
    Met met;
    for (plan.seed = 1; plan.seed <= kRuns; ++plan.seed) {
      const ScratchDirectory place(where);
      ASSERT_EQ(Comparison(plan, place.path(), &met).run(), "") << "in " << where;
    }
    EXPECT_GT(met.done[OpKind::kChmod], 500);
  }
  ::umask(before);
}

// Those of the calls that POSIX has not which the file system here has. A mapping needs nothing of it.
OpSet calls_of_linux(const std::string& directory) {
  LinuxDirectory linux(directory);
  OpSet all(OpKind::kWriteMapped, OpKind::kMsync);
  for (const char* line : {"create /x", "create /y"})
    if (linux.apply(*parse_op(line)).error != 0) return all;
  for (const char* line :
       {"fallocate /x 0 4096", "fallocate_keep /x 0 8192", "punch_hole /x 0 1", "zero_range /x 0 2",
        "exchange /x /y", "rename_new /y /z", "write_direct /x 0 4096"}) {
    const Op op = *parse_op(line);
    if (linux.apply(op).error == 0) all = all | OpSet(op.kind);
  }
  return all;
}

TEST(LinuxTest, RangesExchangesAndMappingsAnswerAsInLinux) {
  Plan plan{.calls = 1200};
  OpSet tried;
  for (const std::filesystem::path& where : places()) {
    Met met;
    const ScratchDirectory probe(where);
    plan.more = calls_of_linux(probe.path());
    tried = tried | plan.more;
    for (plan.seed = 1; plan.seed <= kRuns; ++plan.seed) {
      const ScratchDirectory place(where);
      ASSERT_EQ(Comparison(plan, place.path(), &met).run(), "") << "in " << where;
    }
    for (size_t k = 0; k < kOpKinds; ++k) {
      const auto kind = static_cast<OpKind>(k);
      if (plan.more.has(kind)) {
        EXPECT_GT(met.done[kind], 60) << op_name(kind) << " in " << where;
      }
    }
    for (const int error : {EISDIR, ENOENT, ENOTDIR, EINVAL})
      EXPECT_TRUE(met.errors.contains(error)) << error;
  }
  for (const OpKind kind : {OpKind::kFallocate, OpKind::kPunchHole, OpKind::kExchange, OpKind::kRenameNew})
    EXPECT_TRUE(tried.has(kind)) << op_name(kind);
}

// A comparison that sees nothing would be silent about these too.
TEST(LinuxTest, MistakesOfVerifsAreSeen) {
  verifs::Config no_clear = second(), no_zero = second(), no_size = second();
  no_clear.truncate_clear = false;
  no_zero.hole_zero = false;
  no_size.size_update = verifs::SizeUpdate::kOnGrowth;
  for (const verifs::Config& config : {no_clear, no_zero, no_size}) {
    const ScratchDirectory place(places().back());
    ASSERT_NE(place.path(), "");
    Met met;
    EXPECT_NE(Comparison({.verifs = config}, place.path(), &met).run(), "");
  }
}

// Where numbers end. The answers to these depend on no file system.
TEST(LinuxTest, OffsetsBeyondAllFilesAnswerAsInLinux) {
  const ScratchDirectory place(places().front());
  ASSERT_NE(place.path(), "");
  LinuxDirectory linux(place.path());
  Tree tree;
  for (const char* line : {"create /a", "append /a 3", "mkdir /d", "symlink l /l", "symlink a /s"}) {
    const Op op = *parse_op(line);
    ASSERT_EQ(apply(op, tree), linux.apply(op)) << line;
  }
  constexpr uint64_t kEnd = INT64_MAX;
  for (const char* path : {"/a", "/d", "/l", "/s", "/n", "/a/n", "/n/n"}) {
    for (const uint64_t offset : {kEnd + 1, kEnd + 2, UINT64_MAX, kEnd, kEnd - 1}) {
      std::vector<Op> ops;
      for (const uint32_t length : {0u, 1u, 2u, 3u}) {
        // On the last possible bytes a system may have its own limit.
        const bool overflows = offset > kEnd || length > kEnd - offset;
        if (overflows || length == 0) ops.push_back(Op::write(Path(path), offset, length));
        ops.push_back(Op::read(Path(path), offset, length));
      }
      if (offset > kEnd) ops.push_back(Op::truncate(Path(path), offset));
      for (const Op& op : ops)
        EXPECT_EQ(errno_text(apply(op, tree).error), errno_text(linux.apply(op).error)) << to_text(op);
    }
  }
}

// Ops have short paths, the tree itself knows names as long as Linux does.
TEST(LinuxTest, LongNamesAnswerAsInLinux) {
  const ScratchDirectory place(places().front());
  ASSERT_NE(place.path(), "");
  const auto both = [&](const std::string& path, auto on_tree, auto on_linux) {
    const std::string real = place.path() + path;
    const int answer = on_linux(real.c_str()) < 0 ? errno : 0;
    EXPECT_EQ(on_tree(path), answer) << path.substr(0, 4) << ", " << path.size() << " characters";
  };
  Tree tree;
  ASSERT_EQ(tree.create("/f"), 0);
  ASSERT_EQ(::close(::creat((place.path() + "/f").c_str(), 0644)), 0);
  for (const size_t size : {254u, 255u, 256u, 300u}) {
    const std::string name(size, 'n');
    for (const std::string& path : {"/" + name, "/f/" + name, "/none/" + name, "/" + name + "/a"}) {
      both(
          path, [&](const auto& p) { return tree.rmdir(p); }, [](const char* p) { return ::rmdir(p); });
      both(
          path, [&](const auto& p) { return tree.unlink(p); }, [](const char* p) { return ::unlink(p); });
      both(
          path, [&](const auto& p) { return tree.mkdir(p); }, [](const char* p) { return ::mkdir(p, 0755); });
      both(
          path, [&](const auto& p) { return tree.link("/f", p); },
          [&](const char* p) { return ::link((place.path() + "/f").c_str(), p); });
      both(
          path, [&](const auto& p) { return tree.symlink("f", p); },
          [](const char* p) { return ::symlink("f", p); });
      both(
          path, [&](const auto& p) { return tree.rename(p, p + "x"); },
          [](const char* p) { return ::rename(p, (std::string(p) + "x").c_str()); });
      both(
          path, [&](const auto& p) { return tree.truncate(p, 1); },
          [](const char* p) { return ::truncate(p, 1); });
    }
  }
}

}  // namespace
}  // namespace sisyfs::linux_test
