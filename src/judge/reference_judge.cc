#include "judge/reference_judge.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mutant.h"
#include "judge/access_judge.h"
#include "machine/marks.h"
#include "workload/right_errnos.h"
#include "workload/write_parts.h"

namespace sisyfs {
namespace {

ContractRules rules_of(const TargetKind& kind) {
  return {.data_unit = kind.limits.write_unit,
          .fsync_names = kind.claims.fsync_names,
          .rename_both = kind.claims.rename_both,
          .stale_data = kind.claims.stale_data};
}

// How many kinds of ops before this one the target has.
size_t rank_of(const TargetKind& kind, size_t op) {
  size_t rank = 0;
  for (size_t i = 0; i < op; ++i) rank += kind.ops.has(static_cast<OpKind>(i)) ? 1 : 0;
  return rank;
}

// The finding of a tree that is not the one that the reference has.
FindingKind wrong_effect(const Episode& episode) {
  if (!episode.failed && !episode.is_refusal()) return FindingKind::kWrongEffect;
  return episode.answer.error == 0 ? FindingKind::kHiddenError : FindingKind::kFailedChange;
}

}  // namespace

ReferenceJudge::ReferenceJudge(const DiskSetup& setup)
    : setup_(setup),
      during_(expect(Tree())),
      after_(during_),
      earlier_stable_(during_),
      this_stable_(during_) {}

Expectation ReferenceJudge::expect(Tree tree) const {
  ContractRules rules = rules_of(setup_.kind);
  rules.sees_all = setup_.recording == nullptr;
  return {setup_.kind.claims.contract, std::move(tree), rules};
}

std::vector<FindingKind> ReferenceJudge::may_find() const {
  std::vector<FindingKind> kinds = {FindingKind::kWrongErrno, FindingKind::kWrongEffect};
  if (setup_.failures.most != 0 || setup_.kind.disks.flash.units_go_bad)
    kinds.insert(kinds.end(), {FindingKind::kHiddenError, FindingKind::kFailedChange});
  const bool comes_back = setup_.cuts.enabled || setup_.start.damage != nullptr;
  if (setup_.kind.has_disk() && comes_back) kinds.push_back(FindingKind::kNotAllowed);
  return kinds;
}

void ReferenceJudge::begin(const Expectation& from, const std::optional<Tree>& saved) {
  from_ = &from;
  saved_ = &saved;
}

void ReferenceJudge::op_ended(const OpEnd& end, Opinion& opinion) {
  const Episode& episode = *end.episodes[0];
  Tree tree = from_->now();
  const Op op = shortened(episode);
  expected_ = sisyfs::apply(op, tree);
  if (episode.op.kind == OpKind::kRestore) tree = **saved_;
  if (episode.op.kind == OpKind::kPlay && setup_.recording != nullptr)
    tree = setup_.recording->tree_after(episode.op);
  if (episode.is_dead()) {
    // It has given no answer.
    during_ = after_ = *from_;
    return;
  }
  bool right = judge_answer(episode, opinion);
  move_on(episode, op, std::move(tree));
  if (right && !episode.is_gone()) {
    const ReadBack& seen = end.read_back();
    right = seen.faults == 0 && seen.error == 0 &&
            (seen.tree == after_.now().seen_digest() || came_back_older(end));
    add_faults(seen.faults, opinion);
    if (!right && seen.faults == 0) opinion.found(wrong_effect(episode));
  }
  // Beyond what the reference knows there is nothing to compare the system with.
  if (!right || episode.is_gone()) opinion.over = true;
}

Op ReferenceJudge::shortened(const Episode& episode) const {
  Op op = episode.op;
  const OpResult& answer = episode.answer;
  const bool in_full = op.demand == 1;
  const bool shorter = answer.error == 0 && answer.value != 0 && answer.value < op.length && !in_full;
  // A store into a mapping is no call that could say how much of it was done.
  const bool may_be_shorter = kWriteOps.has(op.kind) && op.kind != OpKind::kWriteMapped;
  if (!shorter || !may_be_shorter || !setup_.kind.claims.limited_space) return op;
  const Limits& limits = setup_.kind.limits;
  // A write that begins or ends within a unit may be cut short at the end of a unit.
  uint64_t at = op.offset;
  Stat stat;
  if (by_path(op.kind) == OpKind::kAppend && from_->now().stat(op.path, &stat) == 0) at = stat.size;
  const bool at_boundary = limits.any_byte && (at + answer.value) % limits.write_unit == 0;
  if (answer.value % limits.write_unit == 0 || at_boundary) op.length = static_cast<uint32_t>(answer.value);
  return op;
}

size_t ReferenceJudge::wrong_answers(const TargetKind& kind, size_t numbers) {
  const size_t ops = std::max<size_t>(rank_of(kind, kOpKinds), 1);
  return numbers >= 2 * ops ? 2 * ops : numbers >= ops ? ops : 1;
}

bool ReferenceJudge::judge_answer(const Episode& episode, Opinion& opinion) const {
  const OpResult& answer = episode.answer;
  const Op& op = episode.op;
  const bool no_space = answer.error == ENOSPC && is_full(op);
  if (no_space) opinion.marks |= kNoSpace;
  if (expected_.error != 0) opinion.marks |= kRefused;
  const bool same = mutant(Mutant::kCompareErrnoOnly) ? answer.error == expected_.error : answer == expected_;
  if (episode.is_refusal()) return true;
  // A script may demand one of several right answers. In a finding from which steps were left out, that one
  // may not be right any more.
  const bool demanded = op.demand == 0 || answer.error == op.demanded() || !may_answer(op, op.demanded());
  if ((no_space || same || is_right_errno(op, from_->now(), expected_.error, answer.error)) && demanded)
    return true;
  if (episode.failed) {
    opinion.found(FindingKind::kHiddenError);
    return false;
  }
  const size_t variants = opinion.kinds->variants(FindingKind::kWrongErrno);
  const bool two_errnos = answer.error != 0 && expected_.error != 0;
  const size_t ops = rank_of(setup_.kind, kOpKinds);
  size_t variant = rank_of(setup_.kind, static_cast<size_t>(episode.op.kind));
  if (variants == 2 * ops) variant = 2 * variant + (two_errnos ? 1 : 0);
  opinion.found(FindingKind::kWrongErrno, variant < variants ? variant : 0);
  return false;
}

bool ReferenceJudge::is_full(const Op& op) const {
  return expected_.error == 0 && setup_.kind.claims.limited_space && needs_space(op.kind);
}

bool ReferenceJudge::may_answer(const Op& op, int error) const {
  return error == expected_.error || (error == ENOSPC && is_full(op)) ||
         is_right_errno(op, from_->now(), expected_.error, error);
}

// A power cut during an op that fails must leave what was there. A power cut during an op that succeeds may
// leave what the op leads to as well. So may a power cut during and after an op that an injected failure made
// fail: the op may have taken effect without being seen. To the expectation it was done and undone.
void ReferenceJudge::move_on(const Episode& episode, const Op& op, Tree tree) {
  after_ = *from_;
  during_ = *from_;
  const int error = episode.answer.error;
  const bool may_be_done = episode.is_refusal() && expected_.error == 0 && !mutant(Mutant::kRefusalUndone);
  words_ = &episode.words;
  if (words_->count() != 0) heed_words(episode, op, tree, may_be_done);
  began_ = after_.older().size();
  if (error == 0 || may_be_done) {
    begin_op(during_, op, tree, may_be_done);
    begin_op(after_, op, tree, may_be_done);
    after_.end_op(0, may_be_done ? &from_->now() : nullptr);
  }
  if (words_->said() == Stable::kThisCallToo && error == 0) after_.promise_all();
  // A call that must fail promises nothing, whatever it answers.
  if (episode.promised && expected_.error == 0) promise(op);
  if (episode.reports_lost_write() && !setup_.kind.claims.retries_sync && !from_->older().empty()) doubt(op);
}

void ReferenceJudge::doubt(const Op& op) {
  const PromiseScope scope = promise_of(setup_.kind, op.kind);
  const bool single =
      scope == PromiseScope::kFile || scope == PromiseScope::kData || scope == PromiseScope::kWrite;
  if (single)
    after_.fail_device(op.path);
  else
    after_.fail_device();
}

bool ReferenceJudge::came_back_older(const OpEnd& end) {
  const Episode& episode = *end.episodes[0];
  if (episode.op.kind != OpKind::kRemount || episode.answer.error != 0) return false;
  // Where every call that succeeds is durable, the window holds only what calls with an injected failure may
  // have done.
  const bool refused = setup_.kind.claims.all_durable() && !from_->older().empty();
  if (!from_->is_in_doubt() && !refused) return false;
  Walk walk = end.walk_again();
  if (walk.error != 0 || !from_->crash_allowed(walk.tree)) return false;
  after_.is_read_back(std::move(walk.tree));
  return true;
}

// A write that was refused because of a failure has not said how much of it there was space for.
void ReferenceJudge::begin_op(Expectation& expectation, const Op& op, const Tree& tree, bool refused) const {
  const Claims& claims = setup_.kind.claims;
  if (claims.split_writes || (refused && claims.limited_space))
    each_part(op, from_->now(), setup_.kind.limits.write_unit,
              [&](Tree part) { expectation.reach_part(std::move(part)); });
  expectation.begin_op(tree);
}

void ReferenceJudge::promise(const Op& op) {
  switch (promise_of(setup_.kind, op.kind)) {
    case PromiseScope::kNone:
      return;
    case PromiseScope::kAll:
      // What was mounted was read from the disk.
      if (op.kind == OpKind::kRemount) return after_.is_read_back(after_.now());
      return after_.promise_all();
    case PromiseScope::kFile:
      return after_.promise_file(op.path);
    case PromiseScope::kData:
      return after_.promise_data(op.path);
    case PromiseScope::kWrite:
      return after_.promise_write(op.path, op.offset, op.length);
    case PromiseScope::kChanges:
      return after_.promise_changes(began_);
  }
}

// A call that fails has done nothing: nothing more can be stable than what came before it.
void ReferenceJudge::heed_words(const Episode& episode, const Op& op, const Tree& tree, bool may_be_done) {
  const bool succeeds = episode.answer.error == 0;
  after_.promise_stable(after_.calls() + (succeeds ? 1 : 0));
  earlier_stable_ = this_stable_ = after_;
  if (succeeds || may_be_done) begin_op(earlier_stable_, op, tree, may_be_done);
  if (!succeeds) {
    this_stable_ = earlier_stable_;
    return;
  }
  this_stable_.begin_op(tree);
  this_stable_.end_op(0);
  this_stable_.promise_all();
}

// The promise of the op itself is the last one of its log.
const Expectation& ReferenceJudge::after_promises(size_t promises) const {
  if (promises > words_->count()) return after_;
  if (mutant(Mutant::kDeafToWords)) return during_;
  switch (words_->by(promises)) {
    case Stable::kNothing:
      return during_;
    case Stable::kEarlierCalls:
      return earlier_stable_;
    case Stable::kThisCallToo:
      return this_stable_;
  }
  return during_;
}

void ReferenceJudge::begin_point(size_t promises) {
  at_point_ = &after_promises(promises);
  point_digest_ = at_point_->digest();
}

void ReferenceJudge::came_back(const Comeback& back, Opinion& opinion) {
  const Recovery& recovery = *back.recoveries[0];
  if (back.damaged) {
    // A repair may take what is damaged and nothing else: there is no window.
    during_ = after_ = *from_;
    at_point_ = &after_;
    if (recovery.alive && !(recovery.tree == from_->now())) opinion.found(FindingKind::kNotAllowed);
    return;
  }
  if (!recovery.alive) return;
  if (is_allowed(recovery.tree)) return;
  // What the contract allowed after the first power cut, with the first write after recovery.
  if (back.with_write != nullptr && recovery.tree == *back.with_write) return;
  opinion.found(FindingKind::kNotAllowed);
  opinion.over = true;
}

bool ReferenceJudge::is_allowed(const Tree& tree) { return at_point_->crash_allowed(tree); }

bool RememberingReferenceJudge::is_allowed(const Tree& tree) {
  const Digest key = digest_at(1, tree.digest()) + digest_at(2, point_digest());
  if (const bool* known = allowed_.find(key)) return *known;
  return allowed_.put(key) = ReferenceJudge::is_allowed(tree);
}

}  // namespace sisyfs
