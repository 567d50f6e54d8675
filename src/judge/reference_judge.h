// ReferenceJudge: the reference tree with its contract. Answers and effects of ops (O), and what a power cut
// may leave (R3).
//
// Its value in a state is the expectation: the trees that are right now and after a power cut. The workload
// generates ops from that tree too, so the expectation has a place of its own in the state.
#pragma once

#include <optional>

#include "expect/expectation.h"
#include "judge/judge.h"
#include "machine/memo.h"
#include "machine/setup.h"

namespace sisyfs {

class ReferenceJudge : public Judge {
 public:
  // Borrows the setup.
  explicit ReferenceJudge(const DiskSetup& setup);

  std::vector<FindingKind> may_find() const override;
  // How many variants of a wrong answer are told apart, with so many numbers for them: one for each kind of
  // op of the target, or two, where there are numbers for that: two different errnos, and an errno instead of
  // a success or the other way round. So an errno that is disputed hides no other wrong answer.
  static size_t wrong_answers(const TargetKind& kind, size_t numbers);
  // All of the tree is promised, as after a mount.
  Expectation expect(Tree tree) const;

  using Judge::begin;
  // Ops begin from here. `saved`: what the op snapshot kept, if it did. Borrows both.
  void begin(const Expectation& from, const std::optional<Tree>& saved);
  void op_ended(const OpEnd& end, Opinion& opinion) override;
  // Power cuts after so many promises of the op's log come next.
  void begin_point(size_t promises);
  void came_back(const Comeback& back, Opinion& opinion) override;

  // After op_ended(): what the op should have answered, and what is right from then on.
  const OpResult& expected() const { return expected_; }
  const Expectation& after() const { return after_; }
  // What is right at the crash point at hand, and its digest.
  const Expectation& at_point() const { return *at_point_; }
  const Digest& point_digest() const { return point_digest_; }

 protected:
  // Whether the contract allows that this came back.
  virtual bool is_allowed(const Tree& tree);

 private:
  // The answer; true if it is right.
  bool judge_answer(const Episode& episode, Opinion& opinion) const;
  // Whether the op may be refused for lack of space.
  bool is_full(const Op& op) const;
  // Whether this errno, or success (0), is a right answer.
  bool may_answer(const Op& op, int error) const;
  // The answer to a write that says that it wrote fewer bytes than it was given, as a full disk allows: the
  // op that writes these bytes. Otherwise the op as it is.
  Op shortened(const Episode& episode) const;
  void move_on(const Episode& episode, const Op& op, Tree tree);
  // Begins the op, with the parts of a write that a power cut may split.
  void begin_op(Expectation& expectation, const Op& op, const Tree& tree, bool refused) const;
  void heed_words(const Episode& episode, const Op& op, const Tree& tree, bool may_be_done);
  void promise(const Op& op);
  // The failed write that the answer reports takes back promises to come.
  void doubt(const Op& op);
  // After a failed write was reported, unmounting and mounting may leave what a power cut may leave.
  bool came_back_older(const OpEnd& end);
  // What is right once the log of the op has made so many promises.
  const Expectation& after_promises(size_t promises) const;

  const DiskSetup& setup_;
  const Expectation* from_ = nullptr;
  const std::optional<Tree>* saved_ = nullptr;
  OpResult expected_;
  Expectation during_, after_;  // during the op, and once it has returned
  size_t began_ = 0;            // older trees of after_ when the op began
  // Where the target says in the middle of the op that something is stable (machine/stable_words.h):
  const StableWords* words_ = nullptr;  // of the episode at hand
  Expectation earlier_stable_, this_stable_;
  const Expectation* at_point_ = nullptr;
  Digest point_digest_;
};

// The same with known answers of the contract: a decorator.
class RememberingReferenceJudge : public ReferenceJudge {
 public:
  explicit RememberingReferenceJudge(const DiskSetup& setup)
      : ReferenceJudge(setup), allowed_(setup.memo_bits) {}

 protected:
  bool is_allowed(const Tree& tree) override;

 private:
  Memo<bool> allowed_;  // by expectation and tree
};

}  // namespace sisyfs
