#include "judge/reference_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/judge_for_test.h"
#include "machine/marks.h"

namespace sisyfs::reference_judge_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint8_t kNone = 0, kA = ToyTarget::kA;

class ReferenceJudgeTest : public testing::Test {
 protected:
  // An op from the empty tree that answered this and left these files.
  Opinion end_op(const Op& op, int error, uint8_t files, const Episode& more = {}) {
    episode_ = more;
    episode_.op = op;
    episode_.answer = OpResult::of(error);
    judge().begin(*from_, saved_);
    Opinion opinion{&all_kinds()};
    const MadeUpEnd end(episode_, disk_, {0, 0, ToyTarget::tree_of(files).digest()});
    judge().op_ended(end, opinion);
    walks_ = end.asked;
    return opinion;
  }
  // Whether these files may come back from a power cut after so many promises of that op.
  bool allowed(uint8_t files, size_t promises = 0) {
    judge().begin_point(promises);
    const Opinion opinion = opinion_on(judge(), sound_recovery(ToyTarget::tree_of(files)));
    EXPECT_EQ(opinion.over, opinion.findings != 0);
    return opinion.findings == 0;
  }
  static Episode failing(InjectedFailure::Kind kind = InjectedFailure::Kind::kDiskAccess) {
    Episode episode;
    episode.failure = {kind, 1};
    episode.failed = true;
    return episode;
  }
  ReferenceJudge& judge() {
    if (!judge_) judge_ = std::make_unique<ReferenceJudge>(setup_);
    if (!from_) from_ = judge_->expect(Tree());
    return *judge_;
  }

  const Op create_ = Op::of(OpKind::kCreate, Path("/a")), unlink_ = Op::of(OpKind::kUnlink, Path("/a"));
  DiskSetup setup_ = toy_setup();
  const MediaState disk_{Image(setup_.kind.disks)};
  std::optional<Tree> saved_;
  std::unique_ptr<ReferenceJudge> judge_;
  std::optional<Expectation> from_;
  Episode episode_;
  int walks_ = 0;
};

TEST_F(ReferenceJudgeTest, ARightAnswerWithARightEffectIsFine) {
  const Opinion opinion = end_op(create_, 0, kA);
  EXPECT_EQ(opinion.findings | opinion.marks, 0u);
  EXPECT_FALSE(opinion.over);
  EXPECT_EQ(judge().after().now(), ToyTarget::tree_of(kA));
  EXPECT_EQ(end_op(unlink_, ENOENT, kNone).marks, kRefused);
  EXPECT_EQ(judge().expected(), OpResult::of(ENOENT));
}

TEST_F(ReferenceJudgeTest, AWrongAnswerEndsThePath) {
  const Opinion opinion = end_op(create_, EPERM, kNone);
  EXPECT_THAT(kinds_in(opinion), ElementsAre(FindingKind::kWrongErrno));
  EXPECT_TRUE(opinion.over);
  EXPECT_EQ(walks_, 0) << "there is nothing to compare a walk with";
}

TEST_F(ReferenceJudgeTest, WherePosixLeavesTheErrnoOpenEachIsRight) {
  const Op rmdir_root = Op::of(OpKind::kRmdir, Path("/"));
  for (const int error : {EBUSY, EINVAL, EPERM}) {
    EXPECT_THAT(kinds_in(end_op(rmdir_root, error, kNone)), IsEmpty()) << error;
    EXPECT_FALSE(allowed(kA)) << "it has done nothing";
  }
  EXPECT_THAT(kinds_in(end_op(rmdir_root, EIO, kNone)), ElementsAre(FindingKind::kWrongErrno));
  EXPECT_THAT(kinds_in(end_op(rmdir_root, 0, kNone)), ElementsAre(FindingKind::kWrongErrno));
  EXPECT_THAT(kinds_in(end_op(rmdir_root, EPERM, kA)), ElementsAre(FindingKind::kWrongEffect));
}

TEST_F(ReferenceJudgeTest, AScriptDemandsOneOfSeveralRightAnswers) {
  setup_.kind.claims.limited_space = true;
  const auto demanding = [](Op op, int error) {
    op.demand = static_cast<uint16_t>(error + 1);
    return op;
  };
  const Op rmdir_root = Op::of(OpKind::kRmdir, Path("/"));
  EXPECT_THAT(kinds_in(end_op(demanding(rmdir_root, EPERM), EPERM, kNone)), IsEmpty());
  EXPECT_THAT(kinds_in(end_op(demanding(rmdir_root, EPERM), EBUSY, kNone)),
              ElementsAre(FindingKind::kWrongErrno));
  EXPECT_THAT(kinds_in(end_op(demanding(rmdir_root, ENOENT), EBUSY, kNone)), IsEmpty()) << "it is not right";
  EXPECT_THAT(kinds_in(end_op(create_, ENOSPC, kNone)), IsEmpty());
  EXPECT_THAT(kinds_in(end_op(demanding(create_, 0), ENOSPC, kNone)), ElementsAre(FindingKind::kWrongErrno));
  EXPECT_THAT(kinds_in(end_op(demanding(create_, ENOSPC), ENOSPC, kNone)), IsEmpty());
  EXPECT_THAT(kinds_in(end_op(demanding(create_, ENOSPC), 0, kA)), ElementsAre(FindingKind::kWrongErrno));
  EXPECT_THAT(kinds_in(end_op(demanding(create_, ENOSPC), EIO, kNone, failing())), IsEmpty())
      << "an access was made to fail";
}

// Story: a search ended at an assertion, because what such a call had promised does not exist.
TEST_F(ReferenceJudgeTest, ACallThatMustFailPromisesNothing) {
  const Op fsync_nothing = Op::of(OpKind::kFsync, Path("/a"));
  Episode promising;
  promising.promised = true;
  EXPECT_THAT(kinds_in(end_op(fsync_nothing, 0, kNone, promising)), ElementsAre(FindingKind::kWrongErrno));
}

// Regression: the first errno that was disputed hid all other wrong answers of a search for all findings.
TEST_F(ReferenceJudgeTest, WrongAnswersOfDifferentOpsAreToldApart) {
  const auto bits_of = [&](const KindTable& kinds, const Op& op, int error) {
    episode_ = {};
    episode_.op = op;
    episode_.answer = OpResult::of(error);
    judge().begin(*from_, saved_);
    Opinion opinion{&kinds};
    judge().op_ended(MadeUpEnd(episode_, disk_, {}), opinion);
    EXPECT_THAT(kinds.in(opinion.findings), ElementsAre(FindingKind::kWrongErrno));
    return opinion.findings;
  };
  const auto table = [&](size_t numbers) {
    return KindTable({FindingKind::kWrongErrno, FindingKind::kWrongEffect}, FindingKind::kWrongErrno,
                     ReferenceJudge::wrong_answers(setup_.kind, numbers));
  };
  judge();
  const KindTable all = table(62), few = table(1);
  EXPECT_NE(bits_of(all, create_, EPERM), bits_of(all, unlink_, EPERM));
  EXPECT_NE(bits_of(all, unlink_, EPERM), bits_of(all, unlink_, 0)) << "an errno, and a success";
  EXPECT_EQ(bits_of(all, unlink_, EPERM), bits_of(all, unlink_, EIO));
  EXPECT_EQ(bits_of(few, create_, EPERM), bits_of(few, unlink_, 0)) << "there is one number for all";
}

TEST_F(ReferenceJudgeTest, AWriteMayBeShortOnAFullDiskWhereTheTargetSaysSo) {
  const Op write = Op::write(Path("/a"), 0, 8), written = Op::write(Path("/a"), 0, 4);
  Tree half = ToyTarget::tree_of(kA), whole = half;
  ASSERT_EQ(apply(written, half).error, 0);
  ASSERT_EQ(apply(write, whole).error, 0);
  const auto answers = [&](uint64_t count, const Tree& tree) {
    from_ = judge().expect(ToyTarget::tree_of(kA));
    episode_ = {};
    episode_.op = write;
    episode_.answer = {0, count, {}};
    judge().begin(*from_, saved_);
    Opinion opinion{&all_kinds()};
    judge().op_ended(MadeUpEnd(episode_, disk_, {0, 0, tree.digest()}), opinion);
    return kinds_in(opinion);
  };
  EXPECT_THAT(answers(8, whole), IsEmpty());
  EXPECT_THAT(answers(4, half), ElementsAre(FindingKind::kWrongErrno)) << "space is not limited";
  setup_.kind.claims.limited_space = true;
  EXPECT_THAT(answers(4, half), IsEmpty());
  EXPECT_EQ(judge().after().now(), half);
  EXPECT_THAT(answers(4, whole), ElementsAre(FindingKind::kWrongEffect)) << "it wrote more than it says";
  EXPECT_THAT(answers(8, half), ElementsAre(FindingKind::kWrongEffect));
  EXPECT_THAT(answers(0, ToyTarget::tree_of(kA)), ElementsAre(FindingKind::kWrongErrno));
  EXPECT_THAT(answers(9, whole), ElementsAre(FindingKind::kWrongErrno));
  setup_.kind.limits.write_unit = 8;
  EXPECT_THAT(answers(4, half), ElementsAre(FindingKind::kWrongErrno)) << "half a unit";
}

TEST_F(ReferenceJudgeTest, AWrongEffectEndsThePath) {
  const Opinion opinion = end_op(create_, 0, kNone);
  EXPECT_THAT(kinds_in(opinion), ElementsAre(FindingKind::kWrongEffect));
  EXPECT_TRUE(opinion.over);
}

TEST_F(ReferenceJudgeTest, NoSpaceIsAnAnswerOnlyWhereTheTargetSaysSo) {
  EXPECT_THAT(kinds_in(end_op(create_, ENOSPC, kNone)), ElementsAre(FindingKind::kWrongErrno));
  setup_.kind.claims.limited_space = true;
  const Opinion opinion = end_op(create_, ENOSPC, kNone);
  EXPECT_THAT(kinds_in(opinion), IsEmpty());
  EXPECT_EQ(opinion.marks, kNoSpace);
  from_ = judge().expect(ToyTarget::tree_of(kA));
  EXPECT_THAT(kinds_in(end_op(unlink_, ENOSPC, kA)), ElementsAre(FindingKind::kWrongErrno))
      << "unlink needs no space";
}

TEST_F(ReferenceJudgeTest, AFailedAccessMustBeToldAndChangeNothing) {
  EXPECT_THAT(kinds_in(end_op(create_, EIO, kNone, failing())), IsEmpty());
  EXPECT_THAT(kinds_in(end_op(create_, 0, kA, failing())), IsEmpty()) << "it coped with it";
  EXPECT_THAT(kinds_in(end_op(create_, EPERM, kNone, failing())), ElementsAre(FindingKind::kHiddenError));
  EXPECT_THAT(kinds_in(end_op(create_, 0, kNone, failing())), ElementsAre(FindingKind::kHiddenError));
  EXPECT_THAT(kinds_in(end_op(create_, EIO, kA, failing())), ElementsAre(FindingKind::kFailedChange));
}

TEST_F(ReferenceJudgeTest, ADeadTargetHasGivenNoAnswer) {
  Episode dead;
  dead.faults = kDied;
  EXPECT_EQ(end_op(create_, EPERM, kNone, dead).findings, 0u);
  EXPECT_EQ(walks_, 0);
}

TEST_F(ReferenceJudgeTest, APowerCutLeavesTheOldOrTheNewTree) {
  (void)end_op(create_, 0, kA);
  EXPECT_TRUE(allowed(kNone) && allowed(kA));
  EXPECT_FALSE(allowed(ToyTarget::kB));
  (void)end_op(unlink_, ENOENT, kNone);
  EXPECT_TRUE(allowed(kNone));
  EXPECT_FALSE(allowed(kA)) << "the op failed";
}

TEST_F(ReferenceJudgeTest, WhatWasRefusedBecauseOfAFailureMayBeThere) {
  (void)end_op(create_, EIO, kNone, failing());
  EXPECT_TRUE(allowed(kNone) && allowed(kA));
  (void)end_op(create_, EIO, kNone);
  EXPECT_FALSE(allowed(kA)) << "nothing failed";
}

// Regression: a create whose last flush failed was there after an unmount and a mount. A power cut might
// leave it, and a mount must not.
TEST_F(ReferenceJudgeTest, WhatWasRefusedBecauseOfAFailureMayBeThereAfterAMount) {
  setup_.kind.claims.durable = OpSet::all();
  const auto mounted = [&](uint8_t files) {
    episode_ = {};
    episode_.op = Op::of(OpKind::kRemount, Path("/"));
    episode_.promised = true;
    judge().begin(*from_, saved_);
    Opinion opinion{&all_kinds()};
    MadeUpEnd end(episode_, disk_, {0, 0, ToyTarget::tree_of(files).digest()});
    end.again.tree = ToyTarget::tree_of(files);
    judge().op_ended(end, opinion);
    return kinds_in(opinion);
  };
  (void)end_op(create_, EIO, kNone, failing());
  const Expectation refused = judge().after();
  for (const uint8_t files : {kNone, kA}) {
    from_ = refused;
    EXPECT_THAT(mounted(files), IsEmpty());
    EXPECT_EQ(judge().after().now(), ToyTarget::tree_of(files)) << "what the mount shows counts";
    EXPECT_THAT(judge().after().older(), IsEmpty());
  }
  from_ = refused;
  EXPECT_THAT(mounted(ToyTarget::kB), ElementsAre(FindingKind::kWrongEffect));
  from_ = judge().expect(ToyTarget::tree_of(kNone));
  EXPECT_THAT(mounted(kA), ElementsAre(FindingKind::kWrongEffect)) << "nothing failed";
  // Where calls are durable later only, the window holds what calls that succeeded have led to as well.
  setup_.kind.claims.durable = {};
  from_ = refused;
  EXPECT_THAT(mounted(kA), ElementsAre(FindingKind::kWrongEffect));
}

// Story: quillfs had space for one of three blocks, and the flush behind that block failed. The call answered
// EIO, and a power cut left the one block, which was told as a tree that never was.
TEST_F(ReferenceJudgeTest, AWriteThatWasRefusedMayHaveBeenAShortOne) {
  const Op write = Op::write(Path("/a"), 0, 1536);
  Tree one_block = ToyTarget::tree_of(kA);
  ASSERT_EQ(apply(Op::write(Path("/a"), 0, 512), one_block).error, 0);
  setup_.kind.limits.write_unit = 512;
  for (const bool limited : {true, false}) {
    setup_.kind.claims.limited_space = limited;
    judge_.reset();
    from_ = ReferenceJudge(setup_).expect(ToyTarget::tree_of(kA));
    (void)end_op(write, EIO, kA, failing());
    judge().begin_point(0);
    EXPECT_EQ(opinion_on(judge(), sound_recovery(Tree(one_block))).findings == 0, limited);
    (void)end_op(write, EIO, kA);
    judge().begin_point(0);
    EXPECT_NE(opinion_on(judge(), sound_recovery(Tree(one_block))).findings, 0u) << "nothing failed";
  }
}

TEST_F(ReferenceJudgeTest, APromiseTakesTheOldTreeAway) {
  setup_.kind.claims.durable = OpSet::all();
  Episode promised;
  promised.promised = true;
  (void)end_op(create_, 0, kA, promised);
  EXPECT_TRUE(allowed(kNone, 0)) << "before it returned";
  EXPECT_TRUE(allowed(kA, 1));
  EXPECT_FALSE(allowed(kNone, 1));
}

TEST_F(ReferenceJudgeTest, WhatTheTargetCallsStableCountsFromThereOn) {
  Log log;
  log.add_boundary({BoundaryKind::kPromise, static_cast<uint32_t>(Stable::kThisCallToo)});
  Episode says;
  says.words.restart(log);
  (void)end_op(create_, 0, kA, says);
  EXPECT_TRUE(allowed(kNone, 0) && allowed(kA, 0));
  EXPECT_TRUE(allowed(kA, 1));
  EXPECT_FALSE(allowed(kNone, 1));
}

TEST_F(ReferenceJudgeTest, ARepairBringsBackAllThatWasThere) {
  from_ = judge().expect(ToyTarget::tree_of(kA));
  judge().begin(*from_, saved_);
  const Comeback damaged{.recoveries = {}, .damaged = true};
  EXPECT_THAT(kinds_in(opinion_on(judge(), sound_recovery(ToyTarget::tree_of(kA)), damaged)), IsEmpty());
  EXPECT_THAT(kinds_in(opinion_on(judge(), sound_recovery(), damaged)),
              ElementsAre(FindingKind::kNotAllowed));
}

TEST_F(ReferenceJudgeTest, ASystemThatDidNotComeBackHasNoTreeToJudge) {
  (void)end_op(create_, 0, kA);
  judge().begin_point(0);
  EXPECT_THAT(kinds_in(opinion_on(judge(), Recovery())), IsEmpty());
}

TEST_F(ReferenceJudgeTest, DeclaresWhatTheSetupMakesPossible) {
  EXPECT_THAT(judge().may_find(), UnorderedElementsAre(FindingKind::kWrongErrno, FindingKind::kWrongEffect,
                                                       FindingKind::kNotAllowed));
  setup_.failures.most = 1;
  EXPECT_THAT(judge().may_find(), testing::Contains(FindingKind::kHiddenError));
  EXPECT_THAT(judge().may_find(), testing::Contains(FindingKind::kFailedChange));
  setup_.cuts.enabled = false;
  EXPECT_THAT(judge().may_find(), testing::Not(testing::Contains(FindingKind::kNotAllowed)));
}

TEST_F(ReferenceJudgeTest, ARememberedAnswerIsTheSame) {
  judge_ = std::make_unique<RememberingReferenceJudge>(setup_);
  for (int round = 0; round < 2; ++round) {
    (void)end_op(create_, 0, kA);
    EXPECT_TRUE(allowed(kNone) && allowed(kA));
    EXPECT_FALSE(allowed(ToyTarget::kB));
    (void)end_op(unlink_, ENOENT, kNone);
    EXPECT_FALSE(allowed(kA)) << "that was another expectation";
  }
}

// The key of a remembered answer adds the tree that came back as the expectation adds a tree of its window.
// So it does not tell them apart: /b in the window and /a back is taken for /a in the window and /b back.
// Switched on when the key tells them apart.
TEST_F(ReferenceJudgeTest, ARememberedAnswerIsOfThisWindowAlone) {
  judge_ = std::make_unique<RememberingReferenceJudge>(setup_);
  const uint8_t kB = ToyTarget::kB, kBoth = 3;
  // Under way from both files to /b, with one older tree in the window.
  const auto allowed_with = [&](uint8_t older, uint8_t back) {
    from_ = judge().expect(ToyTarget::tree_of(older));
    from_->begin_op(ToyTarget::tree_of(kBoth));
    from_->end_op(0);
    (void)end_op(unlink_, 0, kB);
    return allowed(back);
  };
  EXPECT_TRUE(allowed_with(kNone, kB)) << "the op leads to it";
  EXPECT_FALSE(allowed_with(kB, kNone)) << "no tree of the window is empty";
}

}  // namespace
}  // namespace sisyfs::reference_judge_test
