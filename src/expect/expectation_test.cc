#include "expect/expectation.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace sisyfs::expectation_test {
namespace {

// Trees with the files of `names`, one letter each.
Tree with(std::string_view names) {
  Tree tree;
  for (char name : names) EXPECT_EQ(tree.create(std::string("/") + name), 0);
  return tree;
}

void run(Expectation& e, const Tree& after, int error = 0) {
  e.begin_op(after);
  e.end_op(error);
}

TEST(AtomicTest, EveryTreeOfTheWindowIsAllowedAndNoOther) {
  Expectation e(Contract::kAtomic, with(""));
  run(e, with("a"));
  run(e, with("ab"));
  EXPECT_TRUE(e.crash_allowed(with("")));
  EXPECT_TRUE(e.crash_allowed(with("a")));
  EXPECT_TRUE(e.crash_allowed(with("ab")));
  EXPECT_FALSE(e.crash_allowed(with("b"))) << "b came without a";
  EXPECT_FALSE(e.crash_allowed(with("abc"))) << "from the future";
}

// Opening a file does not change the trees that a power cut may leave, but it changes the answer of close.
TEST(AtomicTest, OpenFilesAreKeptAndTold) {
  const Tree closed = with("a");
  Tree open = closed;
  ASSERT_EQ(open.open("/a"), 0);
  Expectation e(Contract::kAtomic, closed);
  const Digest before = e.digest();
  run(e, open);
  EXPECT_EQ(e.now().open_count(), 1u);
  EXPECT_TRUE(e.older().empty());
  EXPECT_TRUE(e.crash_allowed(closed));
  EXPECT_NE(e.digest(), before);
  run(e, closed);
  EXPECT_EQ(e.digest(), before);
}

TEST(AtomicTest, TreeFromBeforeThePromiseIsLostDurability) {
  Expectation e(Contract::kAtomic, with(""));
  run(e, with("a"));
  EXPECT_TRUE(e.crash_allowed(with("")));
  e.promise_all();
  EXPECT_FALSE(e.crash_allowed(with("")));
  EXPECT_TRUE(e.crash_allowed(with("a")));
  const Tree past[] = {with("")};
  EXPECT_EQ(e.why_not(with(""), past),
            "lost durability: the tree just before what was promised came back; file /a: missing");
  EXPECT_EQ(e.why_not(with("a"), past), "");
}

// Story: a rename that moved /a lost /b as well, and the report said that /a is missing, which is right.
TEST(AtomicTest, LostDurabilityInACallIsComparedWithWhatTheCallLeadsTo) {
  for (const Contract contract : {Contract::kAtomic, Contract::kNames}) {
    Expectation e(contract, with("ab"));
    e.begin_op(with("bc"));
    const Tree past[] = {with("")};
    EXPECT_EQ(e.why_not(with(""), past),
              "lost durability: the tree just before what was promised came back; file /a: missing; "
              "against what the call leads to: file /b: missing");
    EXPECT_EQ(e.why_not(with("")),
              contract == Contract::kNames
                  ? "names, types, links and attributes are not those of the tree now: file /a: missing; "
                    "nor those of what the call leads to: file /b: missing"
                  : "none of the 2 allowed trees; against the tree now: file /a: missing; against what the "
                    "call leads to: file /b: missing");
  }
}

TEST(AtomicTest, DeletedFileDoesNotComeBackAfterThePromise) {
  Expectation e(Contract::kAtomic, with("a"));
  run(e, with(""));
  EXPECT_TRUE(e.crash_allowed(with("a")));
  e.promise_all();
  EXPECT_FALSE(e.crash_allowed(with("a")));
  EXPECT_EQ(e.why_not(with("a")), "not the tree that was promised: file /a: not expected");
}

TEST(AtomicTest, CallInFlightMayOrMayNotHaveHappened) {
  Expectation e(Contract::kAtomic, with("a"));
  EXPECT_FALSE(e.crash_allowed(with("b")));
  e.begin_op(with("b"));
  EXPECT_TRUE(e.crash_allowed(with("a")));
  EXPECT_TRUE(e.crash_allowed(with("b")));
  EXPECT_FALSE(e.crash_allowed(with("ab"))) << "half a rename";
  EXPECT_EQ(e.why_not(with("ab")),
            "none of the 2 allowed trees; against the tree now: file /b: not expected; "
            "against what the call leads to: file /a: not expected");
}

TEST(AtomicTest, CallThatFailedMayNotHaveHappened) {
  Expectation e(Contract::kAtomic, with("a"));
  e.begin_op(with("ab"));
  EXPECT_TRUE(e.crash_allowed(with("ab")));
  e.end_op(ENOSPC);
  EXPECT_FALSE(e.crash_allowed(with("ab")));
  EXPECT_EQ(e.now(), with("a"));
}

TEST(AtomicTest, RunGoesOnFromTheTreeThatCameBack) {
  Expectation e(Contract::kAtomic, with(""));
  run(e, with("a"));
  e.begin_op(with("ab"));
  e.collapse(with("a"));
  EXPECT_EQ(e.now(), with("a"));
  EXPECT_FALSE(e.in_op());
  EXPECT_TRUE(e.crash_allowed(with("a")));
  EXPECT_FALSE(e.crash_allowed(with(""))) << "what recovery brought back is durable";
  EXPECT_FALSE(e.crash_allowed(with("ab"))) << "the call in flight ended with the power cut";
}

TEST(StructureTest, EveryTreeIsAllowedEvenFromBeforeThePromise) {
  Expectation e(Contract::kStructure, with(""));
  run(e, with("a"));
  e.promise_all();
  EXPECT_TRUE(e.crash_allowed(with("")));
  EXPECT_TRUE(e.crash_allowed(with("xyz")));
  EXPECT_EQ(e.why_not(with("xyz")), "");
  EXPECT_EQ(e.now(), with("a")) << "a running system is held to one tree all the same";
}

TEST(ExpectationDigestTest, SameNowWithAnotherPastIsAnotherExpectation) {
  Expectation a(Contract::kAtomic, with(""));
  Expectation b(Contract::kAtomic, with("a"));
  run(a, with("a"));
  EXPECT_NE(a.digest(), b.digest()) << "one of them allows the empty tree";
  a.promise_all();
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), Expectation(Contract::kStructure, with("a")).digest());
}

TEST(ExpectationDigestTest, WindowIsASet) {
  Expectation a(Contract::kAtomic, with(""));
  run(a, with("a"));
  const Digest once = a.digest();
  run(a, with(""));
  EXPECT_NE(a.digest(), once) << "now differs";
  run(a, with("a"));
  EXPECT_EQ(a.digest(), once);
  EXPECT_EQ(a.older().size(), 1u);
  run(a, with("a"));
  EXPECT_EQ(a.digest(), once) << "a call that changes nothing changes nothing";
}

TEST(ExpectationDigestTest, CallInFlightCounts) {
  Expectation a(Contract::kAtomic, with("a"));
  const Digest idle = a.digest();
  a.begin_op(with("b"));
  EXPECT_NE(a.digest(), idle);
  a.end_op(EIO);
  EXPECT_EQ(a.digest(), idle);
}

TEST(ExpectationDigestTest, PastDoesNotMatterWhereTheContractDoesNotLook) {
  Expectation a(Contract::kStructure, with(""));
  run(a, with("a"));
  EXPECT_EQ(a.digest(), Expectation(Contract::kStructure, with("a")).digest());
}

// Story: two empty files were exchanged, which left a tree equal to that before it. The window took the two
// for one, with the files of after the exchange, and the second file without the first was told as half an
// exchange.
TEST(ExpectationTest, AnExchangeOfEqualFilesIsAStepOfTheWindow) {
  for (const Contract contract : {Contract::kOrdered, Contract::kFsync, Contract::kAtomic}) {
    Expectation e(contract, with(""));
    run(e, with("a"));
    Tree tree = e.now();
    ASSERT_EQ(tree.create("/b"), 0);
    run(e, tree);
    const Digest before = e.digest();
    ASSERT_EQ(tree.exchange("/a", "/b"), 0);
    ASSERT_EQ(tree, e.now());
    run(e, tree);
    const bool by_object = contract != Contract::kAtomic;
    EXPECT_EQ(e.older().size(), by_object ? 3u : 2u);
    EXPECT_EQ(e.digest() != before, by_object);
    EXPECT_EQ(e.crash_allowed(with("b")), contract == Contract::kFsync) << "its entry was there before";
    EXPECT_TRUE(e.crash_allowed(with("a")));
  }
}

TEST(ExpectationTest, CopiesGoTheirOwnWay) {
  Expectation a(Contract::kAtomic, with(""));
  run(a, with("a"));
  Expectation b = a;
  run(b, with("ab"));
  b.promise_all();
  EXPECT_TRUE(a.crash_allowed(with("")));
  EXPECT_FALSE(a.crash_allowed(with("ab")));
  EXPECT_FALSE(b.crash_allowed(with("")));
}

// Regression: memory of trees is pooled. For a new file, a slot of the older tree was read that the older
// tree had never initialized, and it still held a node of another tree.
TEST(ExpectationTest, TheDigestDoesNotDependOnTreesThatAreGone) {
  const auto digest_of_a_new_file = [] {
    Expectation e(Contract::kFsync, Tree());
    Tree after = e.now();
    EXPECT_EQ(after.create("/new"), 0);
    e.begin_op(after);
    e.end_op(0);
    return e.digest();
  };
  const Digest first = digest_of_a_new_file();
  {
    std::vector<Tree> gone(64);
    for (Tree& tree : gone) EXPECT_EQ(tree.mkdir("/old"), 0);
  }
  EXPECT_EQ(digest_of_a_new_file(), first);
}

}  // namespace
}  // namespace sisyfs::expectation_test
