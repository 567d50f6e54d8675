#include "expect/fsync.h"

#include <gtest/gtest.h>

#include <string>

#include "expect/expectation.h"

namespace sisyfs::fsync_test {
namespace {

int fill(Tree& tree, const char* path, uint64_t offset, size_t count, char byte) {
  const std::string bytes(count, byte);
  return tree.write(path, offset, std::as_bytes(std::span(bytes)));
}

Tree file(const char* path, size_t size, char byte) {
  Tree tree;
  EXPECT_EQ(tree.create(path), 0);
  EXPECT_EQ(fill(tree, path, 0, size, byte), 0);
  return tree;
}

template <class Change>
void run(Expectation& e, Change change) {
  Tree tree = e.now();
  EXPECT_EQ(change(tree), 0);
  e.begin_op(tree);
  e.end_op(0);
}

Expectation with_synced_file(const ContractRules& rules) {
  Expectation e(Contract::kFsync, Tree(), rules);
  run(e, [](Tree& t) { return t.create("/a"); });
  run(e, [](Tree& t) { return fill(t, "/a", 0, 4096, 'x'); });
  e.promise_file("/a");
  return e;
}

TEST(FsyncReasonTest, FileThatWasPromisedIsGone) {
  EXPECT_EQ(with_synced_file({.fsync_names = true}).why_not(Tree()),
            "/a: 4096 bytes were promised by fsync, the file is gone");
  EXPECT_EQ(with_synced_file({}).why_not(Tree()), "") << "its directory was not synced";
}

TEST(FsyncReasonTest, SizeThatWasPromisedIsGone) {
  EXPECT_EQ(with_synced_file({}).why_not(file("/a", 0, 'x')),
            "/a: 4096 bytes were promised by fsync, it came back with 0");
}

TEST(FsyncReasonTest, BytesThatWereNeverThere) {
  Tree got = file("/a", 4096, 'x');
  ASSERT_EQ(fill(got, "/a", 600, 10, 'z'), 0);
  EXPECT_EQ(with_synced_file({}).why_not(got), "bytes 512..1023 of /a were never written there");
}

// Story: a right file system in metadata mode was blamed. It overwrites in place the unit in which a file
// ends; the truncate that made it end there is lost, and the bytes behind that end are as they were before.
TEST(FsyncReasonTest, AVersionSaysNothingOfTheBytesBehindItsEndWithinAUnit) {
  Expectation e(Contract::kFsync, file("/a", 1024, 'x'));
  run(e, [](Tree& t) { return t.truncate("/a", 500); });
  run(e, [](Tree& t) { return fill(t, "/a", 0, 2, 'y'); });
  Tree got = file("/a", 1024, 'x');
  ASSERT_EQ(fill(got, "/a", 0, 2, 'y'), 0);
  EXPECT_EQ(e.why_not(got), "") << "500 bytes of the new version, and 12 of the old one";
  Tree mixed = got;
  ASSERT_EQ(fill(mixed, "/a", 100, 2, 'z'), 0);
  EXPECT_EQ(e.why_not(mixed), "bytes 0..511 of /a were never written there");
  Tree behind = got;
  ASSERT_EQ(fill(behind, "/a", 505, 2, 'z'), 0);
  EXPECT_EQ(e.why_not(behind), "bytes 0..511 of /a were never written there");
  ASSERT_EQ(got.truncate("/a", 400), 0);
  EXPECT_NE(e.why_not(got), "") << "it never had that size";
}

TEST(FsyncReasonTest, BytesOlderThanThePromise) {
  Expectation e(Contract::kFsync, file("/a", 1024, 'x'));
  run(e, [](Tree& t) { return fill(t, "/a", 0, 1024, 'y'); });
  EXPECT_EQ(e.why_not(file("/a", 1024, 'x')), "");
  e.promise_data("/a");
  EXPECT_EQ(e.why_not(file("/a", 1024, 'x')),
            "bytes 0..511 of /a are older than what was promised by fdatasync");
}

TEST(FsyncReasonTest, BothNamesOfARename) {
  Expectation e(Contract::kFsync, file("/a", 1, 'x'));
  run(e, [](Tree& t) { return t.rename("/a", "/b"); });
  Tree both = file("/a", 1, 'x');
  ASSERT_EQ(both.link("/a", "/b"), 0);
  EXPECT_EQ(e.why_not(both), "/b: is there, and so is its other name of a rename");
}

TEST(FsyncReasonTest, TreeFromBeforeTheWindowIsLostDurability) {
  Expectation e(Contract::kFsync, Tree());
  run(e, [](Tree& t) { return t.create("/a"); });
  e.promise_stable();
  const Tree past[] = {Tree()};
  EXPECT_EQ(e.why_not(Tree(), past),
            "lost durability: the tree just before what was promised came back; file /a: missing");
}

TEST(FsyncTest, HugeSparseFileIsJudgedByWhatItHolds) {
  Expectation e(Contract::kFsync, file("/a", 1, 'x'));
  run(e, [](Tree& t) { return t.truncate("/a", uint64_t{1} << 60); });
  run(e, [](Tree& t) { return fill(t, "/a", uint64_t{1} << 50, 512, 'y'); });
  Tree got = file("/a", 1, 'x');
  ASSERT_EQ(got.truncate("/a", uint64_t{1} << 60), 0);
  EXPECT_TRUE(e.crash_allowed(got));
  ASSERT_EQ(fill(got, "/a", uint64_t{1} << 40, 1, 'z'), 0);
  EXPECT_FALSE(e.crash_allowed(got));
}

TEST(FsyncTest, CallInFlightCountsAndGoesAwayIfItFails) {
  Expectation e(Contract::kFsync, file("/a", 512, 'x'));
  Tree tree = e.now();
  ASSERT_EQ(fill(tree, "/a", 0, 512, 'y'), 0);
  e.begin_op(tree);
  EXPECT_TRUE(e.crash_allowed(file("/a", 512, 'y')));
  e.end_op(5);
  EXPECT_FALSE(e.crash_allowed(file("/a", 512, 'y')));
}

TEST(FsyncDigestTest, WhichFileHasANameCounts) {
  Tree two = file("/a", 0, 'x');
  ASSERT_EQ(two.create("/b"), 0);
  Expectation renamed(Contract::kFsync, two);
  Expectation unlinked(Contract::kFsync, two);
  run(renamed, [](Tree& t) { return t.rename("/a", "/b"); });
  run(unlinked, [](Tree& t) { return t.unlink("/a"); });
  EXPECT_EQ(renamed.now(), unlinked.now());
  EXPECT_NE(renamed.digest(), unlinked.digest());
  renamed.promise_all();
  unlinked.promise_all();
  EXPECT_EQ(renamed.digest(), unlinked.digest()) << "numbers of objects do not show";
}

// Regression: a search gave a different state count each time. For a new object, its slot was read in the
// tree before it, which had no such slot, so leftover memory of another tree was taken for the object.
TEST(FsyncDigestTest, DoesNotDependOnWhatTheMemoryOfATreeHeldBefore) {
  const auto two_files = [] {
    Expectation e(Contract::kFsync, Tree());
    run(e, [](Tree& t) { return t.create("/a"); });
    run(e, [](Tree& t) { return t.create("/b"); });
    return e.digest();
  };
  const auto leave_behind = [](const char* first, const char* second) {
    std::vector<Tree> trees(64);
    for (Tree& tree : trees) {
      EXPECT_EQ(tree.create(first), 0);
      EXPECT_EQ(tree.create(second), 0);
    }
  };
  leave_behind("/x", "/y");
  const Digest once = two_files();
  leave_behind("/z", "/a");
  EXPECT_EQ(two_files(), once);
}

TEST(ContractNameTest, NamesAreReadBack) {
  for (const Contract c :
       {Contract::kAtomic, Contract::kOrdered, Contract::kNames, Contract::kFsync, Contract::kStructure}) {
    const Result<Contract> parsed = parse_contract(contract_name(c));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, c);
  }
  const Result<Contract> wrong = parse_contract("fsnyc");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "unknown contract 'fsnyc'; it is one of atomic, ordered, names, fsync, structure, "
            "promised, whole, fresh");
}

}  // namespace
}  // namespace sisyfs::fsync_test
