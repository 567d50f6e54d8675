#include "workload/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace sisyfs::op_test {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view line) {
  const Result<Op> op = parse_op(line);
  return op ? "(parsed)" : op.error().message;
}

TEST(OpTextTest, EveryKindSurvivesTheWayToTextAndBack) {
  const char* const kLines[] = {
      "create /a",
      "mkdir /d",
      "unlink /d/a",
      "rmdir /d",
      "rename /a /d/b",
      "link /a /b",
      "symlink ../a /d",
      "write /a 0 1",
      "write /a 4096 512 v3",
      "append /a 1",
      "append /a 2 v1",
      "truncate /a 7",
      "read /a 0 4096",
      "readdir /",
      "stat /a",
      "fsync /",
      "fdatasync /a",
      "sync",
      "remount",
      "open /a",
      "close /d/a",
      "snapshot",
      "restore",
      "fsck",
      "write_sync /a 0 1",
      "setxattr /a user.a 3 v1",
      "getxattr / user.a",
      "listxattr /a",
      "removexattr /a user.a",
      "open /a @1",
      "close @4",
      "write @1 512 512 v1",
      "append @2 512",
      "truncate @1 0",
      "read @1 0 512",
      "stat @1",
      "fsync @1",
      "fdatasync @1",
      "chmod /a 600",
      "fallocate /a 512 1024",
      "fallocate_keep /a 512 1024",
      "punch_hole /a 0 512",
      "zero_range /a 0 512",
      "exchange /a /d/b",
      "rename_new /a /b",
      "write_direct /a 0 512 v1",
      "write_mapped /a 512 512",
      "msync /a",
      "syncfs",
      "commit",
      "play 17",
  };
  OpSet seen;
  for (const char* line : kLines) {
    const Result<Op> op = parse_op(line);
    ASSERT_TRUE(op) << line << ": " << op.error().message;
    EXPECT_EQ(to_text(*op), line);
    seen = seen | OpSet(op->kind);
  }
  EXPECT_EQ(seen, OpSet::all() | OpSet(OpKind::kPlay)) << "play is no call";
}

TEST(OpTextTest, HandlesStandInPlaceOfPaths) {
  EXPECT_EQ(parse_op("write @1 0 1")->kind, OpKind::kWriteHandle);
  EXPECT_EQ(parse_op("open /a")->kind, OpKind::kOpen) << "by path";
  EXPECT_EQ(parse_op("open /a @2")->other.text(), "@2");
  EXPECT_EQ(parse_op("chmod /a 755")->length, 0755u);
  EXPECT_EQ(error_of("close @5"), "'@5' in column 7 is not a handle; they are @1 to @4");
  EXPECT_EQ(error_of("unlink @1"), "'@1' in column 8 is not an absolute path");
  EXPECT_EQ(error_of("chmod /a 8"), "'8' in column 10 is not an octal number");
  EXPECT_EQ(error_of("chmod /a 1000"), "'1000' in column 10 is more than 777");
  EXPECT_STREQ(op_name(OpKind::kFsyncHandle), "fsync @");
  for (size_t k = 0; k < kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    EXPECT_EQ(by_path(kind) != kind, kHandleOps.has(kind)) << op_name(kind);
  }
}

TEST(OpTextTest, FieldsGoWhereTheyBelong) {
  EXPECT_EQ(*parse_op("  rename   /a\t/b "), Op::of(OpKind::kRename, Path("/a"), Path("/b")));
  EXPECT_EQ(*parse_op("symlink x /l"), Op::of(OpKind::kSymlink, Path("/l"), Path("x")));
  EXPECT_EQ(*parse_op("write /a 5 7 v2"), Op::write(Path("/a"), 5, 7, 2));
  EXPECT_EQ(*parse_op("truncate /a 9"), Op::truncate(Path("/a"), 9));
  EXPECT_EQ(*parse_op("write_sync /a 5 7 v2"), Op::write_sync(Path("/a"), 5, 7, 2));
  EXPECT_EQ(*parse_op("setxattr /a user.b 3 v1"), Op::setxattr(Path("/a"), "user.b", 3, 1));
}

TEST(OpTextTest, ErrorsSayWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(""), "an op is missing; e.g. 'create /a'");
  EXPECT_THAT(error_of("renam /a /b"), HasSubstr("unknown op 'renam' in column 1; ops are create, mkdir, "));
  EXPECT_EQ(error_of("rename /a"), "'rename' wants a second path in column 10");
  EXPECT_EQ(error_of("create"), "'create' wants a path in column 7");
  EXPECT_EQ(error_of("write /a 1"), "'write' wants a length in column 11");
  EXPECT_EQ(error_of("getxattr /a"), "'getxattr' wants an attribute such as user.a in column 12");
  EXPECT_EQ(error_of("truncate /a"), "'truncate' wants a size in column 12");
  EXPECT_EQ(error_of("create a"), "'a' in column 8 is not an absolute path");
  EXPECT_EQ(error_of("create /a/"), "'/a/' in column 8 has an empty, '.' or '..' component");
  EXPECT_EQ(error_of("create /a/../b"), "'/a/../b' in column 8 has an empty, '.' or '..' component");
  EXPECT_EQ(error_of("create /a\x01"), "'/a\x01' in column 8 has a control character");
  EXPECT_EQ(error_of("create /" + std::string(47, 'a')),
            "'/" + std::string(47, 'a') + "' in column 8 is longer than 47 characters");
  EXPECT_EQ(error_of("append /a x"), "'x' in column 11 is not a whole number");
  EXPECT_EQ(error_of("append /a -1"), "'-1' in column 11 is not a whole number");
  EXPECT_EQ(error_of("append /a 4294967296"), "'4294967296' in column 11 is more than 4294967295");
  EXPECT_EQ(error_of("append /a 99999999999999999999"),
            "'99999999999999999999' in column 11 is more than 4294967295");
  EXPECT_EQ(error_of("append /a 1 1"), "'1' in column 13 is not a version such as v1");
  EXPECT_EQ(error_of("append /a 1 v255"), "'v255' in column 13 is more than 254");
  EXPECT_EQ(error_of("sync now"), "'now' in column 6 is one word too many for 'sync'");
}

TEST(OpDataTest, DependsOnPathOffsetAndVersionOnly) {
  auto data = [](const char* path, uint64_t offset, size_t size, uint8_t version) {
    std::vector<std::byte> out(size);
    fill_data(Op::write(Path(path), 0, 0, version), offset, out);
    return out;
  };
  const auto whole = data("/a", 0, 64, 0);
  const auto part = data("/a", 13, 20, 0);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 13)) << "however the write is cut";
  EXPECT_NE(whole, data("/b", 0, 64, 0));
  EXPECT_NE(data("/a", 0, 8, 0), data("/a", 8, 8, 0));
  const auto next = data("/a", 0, 64, 1);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NE(whole[i], std::byte{0}) << "not told from a hole";
    EXPECT_NE(whole[i], next[i]) << "an overwrite that cannot be seen";
  }
}

TEST(OpApplyTest, AnswersWhatTheTreeAnswers) {
  Tree tree;
  EXPECT_EQ(apply(*parse_op("create /a"), tree), OpResult{});
  EXPECT_EQ(apply(*parse_op("create /a"), tree), OpResult::of(EEXIST));
  EXPECT_EQ(apply(*parse_op("append /a 3"), tree), (OpResult{0, 3, {}}));
  EXPECT_EQ(apply(*parse_op("append /a 5000"), tree), (OpResult{0, 5000, {}}));
  EXPECT_EQ(apply(*parse_op("stat /a"), tree), (OpResult{0, 5003, {}}));
  std::vector<std::byte> bytes(2);
  fill_data(Op::append(Path("/a"), 3), 1, bytes);
  EXPECT_EQ(apply(*parse_op("read /a 1 2"), tree), OpResult::read(bytes));
  EXPECT_EQ(apply(*parse_op("read /a 5003 2"), tree), OpResult::read({}));
  EXPECT_EQ(apply(*parse_op("read / 0 1"), tree), OpResult::of(EISDIR));
  EXPECT_EQ(apply(*parse_op("append / 1"), tree), OpResult::of(EISDIR));
  EXPECT_EQ(apply(*parse_op("fsync /b"), tree), OpResult::of(ENOENT));
  EXPECT_EQ(apply(*parse_op("fsync /"), tree), OpResult{});
  EXPECT_EQ(apply(*parse_op("readdir /a"), tree), OpResult::of(ENOTDIR));
  EXPECT_EQ(apply(*parse_op("mkdir /b"), tree), OpResult{});
  OpResult names;
  names.add_name("b");
  names.add_name("a");
  EXPECT_EQ(apply(*parse_op("readdir /"), tree), names) << "in any order";
}

TEST(OpApplyTest, RangesAreReservedAndMadeZeros) {
  Tree tree;
  const auto run = [&](const char* line) { return apply(*parse_op(line), tree); };
  const auto size = [&] { return run("stat /a").value; };
  for (const char* line : {"create /a", "append /a 6"}) EXPECT_EQ(run(line).error, 0);
  const Tree before = tree;
  EXPECT_EQ(run("fallocate /a 2 4"), OpResult{});
  EXPECT_EQ(run("fallocate_keep /a 2 100"), OpResult{});
  EXPECT_EQ(tree, before) << "there is room already, and nothing of it can be seen";
  EXPECT_EQ(run("fallocate /a 8 2"), OpResult{});
  EXPECT_EQ(size(), 10u);
  EXPECT_EQ(run("punch_hole /a 4 100"), OpResult{});
  EXPECT_EQ(size(), 10u) << "a hole does not change the size";
  Tree expected;
  for (const char* line : {"create /a", "append /a 4", "truncate /a 10"}) apply(*parse_op(line), expected);
  EXPECT_EQ(tree, expected);
  EXPECT_EQ(run("zero_range /a 2 20"), OpResult{});
  for (const char* line : {"truncate /a 2", "truncate /a 22"}) apply(*parse_op(line), expected);
  EXPECT_EQ(tree, expected);
  EXPECT_EQ(run("mkdir /d").error, 0);
  for (const char* name : {"fallocate", "fallocate_keep", "punch_hole", "zero_range"}) {
    const auto error = [&](const char* rest) { return run((std::string(name) + rest).c_str()).error; };
    EXPECT_EQ(error(" /d 0 1"), EISDIR) << name;
    EXPECT_EQ(error(" /b 0 1"), ENOENT) << name;
    EXPECT_EQ(error(" /a 0 0"), EINVAL) << name;
    EXPECT_EQ(error(" /a 9223372036854775807 1"), EFBIG) << name;
  }
}

TEST(OpApplyTest, AMappingEndsWithTheFile) {
  Tree tree;
  const auto run = [&](const char* line) { return apply(*parse_op(line), tree); };
  EXPECT_EQ(run("create /a").error, 0);
  EXPECT_EQ(run("msync /a").error, EINVAL) << "an empty file cannot be mapped";
  EXPECT_EQ(run("write_mapped /a 0 1").error, EINVAL);
  EXPECT_EQ(run("write_direct /a 0 512"), (OpResult{0, 512, {}}));
  Tree written;
  for (const char* line : {"create /a", "write /a 0 512"}) apply(*parse_op(line), written);
  EXPECT_EQ(tree, written) << "with the bytes of a plain write";
  EXPECT_EQ(run("write_mapped /a 8 504 v1"), (OpResult{0, 504, {}}));
  apply(*parse_op("write /a 8 504 v1"), written);
  EXPECT_EQ(tree, written);
  for (const char* line : {"write_mapped /a 8 505", "write_mapped /a 512 1", "write_mapped /a 0 0"})
    EXPECT_EQ(run(line).error, EINVAL) << line;
  EXPECT_EQ(tree, written) << "nothing was stored";
  EXPECT_EQ(run("msync /a"), OpResult{});
  EXPECT_EQ(run("msync /").error, EISDIR);
  EXPECT_EQ(run("write_mapped / 0 1").error, EISDIR);
  EXPECT_EQ(run("msync /b").error, ENOENT);
  for (const char* line : {"syncfs", "commit"}) EXPECT_EQ(run(line), OpResult{});
}

TEST(OpTest, ErrnosHaveTheirNames) {
  EXPECT_EQ(errno_text(ENOENT), "ENOENT");
  EXPECT_EQ(errno_text(0), "0");
  EXPECT_EQ(errno_text(99999), "errno 99999");
}

}  // namespace
}  // namespace sisyfs::op_test
