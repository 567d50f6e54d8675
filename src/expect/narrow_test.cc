#include "expect/narrow.h"

#include <gtest/gtest.h>

#include <string>

#include "expect/expectation.h"

namespace sisyfs::narrow_test {
namespace {

int fill(Tree& tree, const char* path, uint64_t offset, size_t count, char byte) {
  const std::string bytes(count, byte);
  return tree.write(path, offset, std::as_bytes(std::span(bytes)));
}

template <class Change>
void run(Expectation& e, Change change) {
  Tree tree = e.now();
  EXPECT_EQ(change(tree), 0);
  e.begin_op(tree);
  e.end_op(0);
}

template <class Change>
Tree changed(Tree tree, Change change) {
  EXPECT_EQ(change(tree), 0);
  return tree;
}

// /a with 1024 bytes, durable.
Expectation with_file(Contract contract, const ContractRules& rules = {}) {
  Expectation e(contract, Tree(), rules);
  run(e, [](Tree& t) { return t.create("/a"); });
  run(e, [](Tree& t) { return fill(t, "/a", 0, 1024, 'x'); });
  e.promise_all();
  return e;
}

TEST(PromisedTest, WhatSyncHasMadeDurableIsThereAsItWas) {
  const Expectation e = with_file(Contract::kPromised);
  EXPECT_EQ(e.why_not(Tree()), "/a: was durable and is gone");
  EXPECT_EQ(e.why_not(changed(e.now(), [](Tree& t) { return t.truncate("/a", 0); })),
            "/a: had 1024 bytes, it came back with 0");
  EXPECT_EQ(e.why_not(changed(e.now(), [](Tree& t) { return fill(t, "/a", 512, 1, 'y'); })),
            "/a: has other bytes from byte 512 on");
  EXPECT_EQ(e.why_not(changed(e.now(), [](Tree& t) { return t.chmod("/a", 0600); })),
            "/a: its mode was 644, it came back with 600");
  EXPECT_EQ(e.why_not(changed(e.now(), [](Tree& t) { return t.create("/b"); })),
            "/b: is there, and was not when all was made durable");
}

TEST(PromisedTest, WhatACallHasTouchedSinceMayBeAnything) {
  Expectation e = with_file(Contract::kPromised);
  const Tree synced = e.now();
  run(e, [](Tree& t) { return t.create("/b"); });
  EXPECT_TRUE(e.crash_allowed(synced));
  EXPECT_FALSE(e.crash_allowed(Tree())) << "the call did not touch /a";
  run(e, [](Tree& t) { return t.truncate("/a", 1); });
  EXPECT_TRUE(e.crash_allowed(Tree()));
}

TEST(PromisedTest, FsyncOfAFilePromisesItsContentWhereItsNameIs) {
  Expectation e(Contract::kPromised, Tree());
  run(e, [](Tree& t) { return t.create("/a"); });
  const Tree empty = e.now();
  run(e, [](Tree& t) { return fill(t, "/a", 0, 1024, 'x'); });
  e.promise_file("/a");
  EXPECT_TRUE(e.crash_allowed(Tree())) << "the name was not promised";
  EXPECT_EQ(e.why_not(empty), "/a: had 1024 bytes, it came back with 0");
}

TEST(PromisedTest, AFileWhoseNameIsDurableMustBeThereAfterFsync) {
  for (const bool data : {false, true}) {
    Expectation e = with_file(Contract::kPromised);
    run(e, [](Tree& t) { return fill(t, "/a", 1024, 1024, 'y'); });
    const Tree now = e.now();
    data ? e.promise_data("/a") : e.promise_file("/a");
    EXPECT_EQ(e.why_not(Tree()), "/a: was durable under this name and is gone");
    EXPECT_TRUE(e.crash_allowed(now));
    EXPECT_FALSE(e.crash_allowed(changed(now, [](Tree& t) { return t.truncate("/a", 1024); })));
    const Tree longer = changed(now, [](Tree& t) { return t.truncate("/a", 4096); });
    EXPECT_EQ(e.crash_allowed(longer), data) << "fdatasync promises the bytes alone";
  }
}

TEST(PromisedTest, TheNameOfANewFileIsPromisedOnDemand) {
  for (const bool names : {false, true}) {
    Expectation e(Contract::kPromised, Tree(), {.fsync_names = names});
    run(e, [](Tree& t) { return t.mkdir("/d"); });
    run(e, [](Tree& t) { return t.create("/d/a"); });
    e.promise_file("/d/a");
    EXPECT_EQ(e.crash_allowed(Tree()), !names);
  }
}

TEST(PromisedTest, AWriteWithOSyncPromisesItsBytesAlone) {
  Expectation e = with_file(Contract::kPromised);
  run(e, [](Tree& t) { return fill(t, "/a", 0, 512, 'y'); });
  run(e, [](Tree& t) { return fill(t, "/a", 512, 512, 'z'); });
  e.promise_write("/a", 512, 512);
  EXPECT_TRUE(e.crash_allowed(changed(e.now(), [](Tree& t) { return fill(t, "/a", 0, 512, 'x'); })));
  EXPECT_EQ(e.why_not(changed(e.now(), [](Tree& t) { return fill(t, "/a", 512, 1, 'x'); })),
            "/a: has other bytes from byte 512 on");
}

// fsync(2) asks for fsync of the file and of its directory.
TEST(PromisedTest, FsyncOfADirectoryPromisesNamesOfDurableFiles) {
  for (const bool durable : {false, true}) {
    Expectation e = with_file(Contract::kPromised);
    const Tree synced = e.now();
    run(e, [](Tree& t) { return t.create("/b"); });
    if (durable) e.promise_file("/b");
    e.promise_dir("/");
    EXPECT_EQ(e.crash_allowed(synced), !durable);
  }
  Expectation e = with_file(Contract::kPromised);
  const Tree synced = e.now();
  run(e, [](Tree& t) { return t.unlink("/a"); });
  e.promise_dir("/");
  EXPECT_EQ(e.why_not(synced), "/a: was durably gone, it is there");
}

TEST(PromisedTest, TheBrokenPromiseNamesItsCall) {
  Expectation e = with_file(Contract::kPromised);
  run(e, [](Tree& t) { return fill(t, "/a", 1024, 1024, 'y'); });
  e.promise_file("/a");
  const auto broken = e.broken_promise(Tree());
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->call, 3u);
}

TEST(WholeTest, AFileHasOneOfItsContentsAsAWhole) {
  Expectation e = with_file(Contract::kWhole);
  const Tree old = e.now();
  run(e, [](Tree& t) { return t.create("/b"); });
  run(e, [](Tree& t) { return fill(t, "/b", 0, 2048, 'y'); });
  run(e, [](Tree& t) { return t.rename("/b", "/a"); });
  EXPECT_TRUE(e.crash_allowed(old));
  EXPECT_TRUE(e.crash_allowed(e.now()));
  EXPECT_EQ(e.why_not(Tree()), "/a: had this name all the time and is gone");
  for (const uint64_t size : {uint64_t{0}, uint64_t{1024}, uint64_t{4096}})
    EXPECT_EQ(
        e.why_not(changed(e.now(), [&](Tree& t) { return t.truncate("/a", size); })),
        "/a: came back with " + std::to_string(size) + " bytes, a content that it never had as a whole");
}

TEST(FreshTest, BytesAreThoseOfTheFileOrZero) {
  Expectation e = with_file(Contract::kFresh);
  run(e, [](Tree& t) { return t.create("/b"); });
  run(e, [](Tree& t) { return fill(t, "/b", 0, 1024, 'y'); });
  EXPECT_TRUE(e.crash_allowed(Tree())) << "what is not there is not stale";
  EXPECT_TRUE(e.crash_allowed(changed(e.now(), [](Tree& t) { return fill(t, "/b", 0, 512, '\0'); })));
  EXPECT_TRUE(e.crash_allowed(changed(e.now(), [](Tree& t) { return t.truncate("/b", 4096); })));
  EXPECT_EQ(e.why_not(changed(e.now(), [](Tree& t) { return fill(t, "/b", 512, 1, 'x'); })),
            "/b: has bytes at 512 that were never written there");
  EXPECT_TRUE(e.crash_allowed(changed(e.now(), [](Tree& t) {
    EXPECT_EQ(t.create("/found"), 0);
    return fill(t, "/found", 0, 512, 'x');
  }))) << "a repair tool names what it finds";
}

}  // namespace
}  // namespace sisyfs::narrow_test
