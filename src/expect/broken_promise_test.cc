#include "expect/broken_promise.h"

#include <gtest/gtest.h>

#include <string>

#include "expect/expectation.h"

namespace sisyfs::broken_promise_test {
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

// "3: what was promised | what came back".
std::string told(const Expectation& e, const Tree& recovered) {
  const auto broken = e.broken_promise(recovered);
  if (!broken) return "";
  return std::to_string(broken->call) + ": " + broken->promised + " | " + broken->came_back;
}

Tree file(const char* path, size_t size, char byte) {
  Tree tree;
  EXPECT_EQ(tree.create(path), 0);
  EXPECT_EQ(fill(tree, path, 0, size, byte), 0);
  return tree;
}

// A file of 8 bytes, written by the second call.
Expectation with_file(const ContractRules& rules = {}) {
  Expectation e(Contract::kFsync, Tree(), rules);
  run(e, [](Tree& t) { return t.create("/a"); });
  run(e, [](Tree& t) { return fill(t, "/a", 0, 8, 'x'); });
  return e;
}

void wait(Expectation& e) {
  run(e, [](Tree&) { return 0; });
}

TEST(BrokenPromiseTest, WhatIsAllowedBreaksNothing) {
  Expectation e = with_file({.fsync_names = true});
  EXPECT_EQ(told(e, Tree()), "");
  wait(e);
  e.promise_file("/a");
  EXPECT_EQ(told(e, file("/a", 8, 'x')), "");
}

TEST(BrokenPromiseTest, AFileWhoseNameWasPromisedIsAbsent) {
  Expectation e = with_file({.fsync_names = true});
  wait(e);
  e.promise_file("/a");
  EXPECT_EQ(told(e, Tree()), "3: that /a is there | /a is absent");
}

TEST(BrokenPromiseTest, ARenameThatWasPromisedDidNotHappen) {
  Expectation e(Contract::kFsync, file("/a", 8, 'x'), {.fsync_names = true});
  run(e, [](Tree& t) { return t.rename("/a", "/b"); });
  wait(e);
  e.promise_file("/b");
  EXPECT_EQ(told(e, file("/a", 8, 'x')), "2: that /b is there | /b is absent, and /a is there");
}

TEST(BrokenPromiseTest, BytesOrSizeThatWerePromisedAreOlder) {
  Expectation e = with_file();
  wait(e);
  e.promise_file("/a");
  EXPECT_EQ(told(e, file("/a", 0, 'x')), "3: what /a holds (8 bytes) | /a has 0 bytes");
  Tree zeros = file("/a", 0, 'x');
  ASSERT_EQ(zeros.truncate("/a", 8), 0);
  EXPECT_EQ(told(e, zeros), "3: what /a holds (8 bytes) | /a has other bytes from byte 0 on");
}

TEST(BrokenPromiseTest, FdatasyncAndOSyncAreToldApart) {
  Expectation data = with_file();
  wait(data);
  data.promise_data("/a");
  EXPECT_EQ(told(data, file("/a", 0, 'x')), "3: the data of /a (8 bytes) | /a has 0 bytes");

  Expectation written(Contract::kFsync, file("/a", 8, 'x'), {.data_unit = 4});
  run(written, [](Tree& t) { return fill(t, "/a", 0, 4, 'z'); });
  run(written, [](Tree& t) { return fill(t, "/a", 4, 4, 'y'); });
  written.promise_write("/a", 4, 4);
  EXPECT_EQ(told(written, file("/a", 8, 'x')), "2: bytes 4..7 of /a | /a has other bytes from byte 4 on");
  Tree half = file("/a", 8, 'x');
  ASSERT_EQ(fill(half, "/a", 4, 4, 'y'), 0);
  EXPECT_EQ(told(written, half), "") << "the first half was not written with O_SYNC";
}

TEST(BrokenPromiseTest, NamesInADirectoryThatWasSynced) {
  Expectation e(Contract::kFsync, file("/a", 1, 'x'));
  run(e, [](Tree& t) { return t.unlink("/a"); });
  run(e, [](Tree& t) { return t.mkdir("/d"); });
  run(e, [](Tree& t) { return t.create("/d/f"); });
  wait(e);
  e.promise_dir("/");
  wait(e);
  e.promise_dir("/d");
  Tree right;
  ASSERT_EQ(right.mkdir("/d"), 0);
  EXPECT_EQ(told(e, right), "5: the names in /d | /d/f is absent");
  ASSERT_EQ(right.create("/d/f"), 0);
  EXPECT_EQ(told(e, right), "");
  EXPECT_EQ(told(e, Tree()), "4: the names in / | /d is absent");
  ASSERT_EQ(right.create("/a"), 0);
  ASSERT_EQ(fill(right, "/a", 0, 1, 'x'), 0);
  EXPECT_EQ(told(e, right), "4: the names in / | /a is there");
}

// Two promises are broken; the report names the call that made the first.
TEST(BrokenPromiseTest, TheFirstBrokenPromiseIsTold) {
  Expectation e = with_file();
  wait(e);
  e.promise_dir("/");
  wait(e);
  e.promise_file("/a");
  EXPECT_EQ(told(e, Tree()), "3: the names in / | /a is absent");
  EXPECT_EQ(told(e, file("/a", 0, 'x')), "4: what /a holds (8 bytes) | /a has 0 bytes");
}

TEST(BrokenPromiseTest, APromiseOfEverythingIsToldByWhatIsMissing) {
  for (const Contract contract : {Contract::kAtomic, Contract::kOrdered, Contract::kFsync}) {
    Expectation e(contract, Tree());
    run(e, [](Tree& t) { return t.create("/a"); });
    run(e, [](Tree& t) { return fill(t, "/a", 0, 8, 'x'); });
    wait(e);
    e.promise_all();
    run(e, [](Tree& t) { return t.create("/b"); });
    EXPECT_EQ(told(e, Tree()), "3: /a (8 bytes) | /a is absent");
    EXPECT_EQ(told(e, file("/a", 7, 'x')), "3: /a (8 bytes) | /a has 7 bytes");
    EXPECT_EQ(told(e, file("/a", 8, 'y')), "3: /a (8 bytes) | /a has other bytes from byte 0 on");
    Tree dead = file("/a", 8, 'x');
    ASSERT_EQ(dead.create("/z"), 0);
    EXPECT_EQ(told(e, dead), "3: what there is | /z is there, which has not been there since");
  }
}

// Each part is allowed by itself, but not together: no single call is to blame.
TEST(BrokenPromiseTest, AMixOfTimesIsNobodysPromise) {
  Expectation e(Contract::kAtomic, Tree());
  run(e, [](Tree& t) { return t.create("/a"); });
  run(e, [](Tree& t) { return t.create("/b"); });
  Tree only;
  ASSERT_EQ(only.create("/b"), 0);
  EXPECT_FALSE(e.crash_allowed(only));
  EXPECT_EQ(told(e, only), "");
}

TEST(BrokenPromiseTest, CallsAreCountedAnewAfterAPowerCut) {
  Expectation e = with_file();
  EXPECT_EQ(e.calls(), 2u);
  e.begin_op(Tree());
  e.end_op(5);
  EXPECT_EQ(e.calls(), 2u) << "a call that fails has no number";
  const Digest once = e.digest();
  wait(e);
  EXPECT_EQ(e.digest(), once) << "how many there were makes no difference";
  e.collapse(file("/a", 8, 'x'));
  EXPECT_EQ(e.calls(), 0u);
  EXPECT_EQ(told(e, Tree()), "0: /a (8 bytes) | /a is absent");
}

}  // namespace
}  // namespace sisyfs::broken_promise_test
