#include "judge/check_judge.h"

#include <bit>

#include "base/assert.h"

namespace sisyfs {
namespace {

// The finding of the catalogue that has the code and the name of a problem.
std::optional<FindingKind> named(const ProblemKind& problem) {
  const auto kind = find_kind(problem.code);
  if (!kind || kind->name != problem.name) return std::nullopt;
  return kind->kind;
}

}  // namespace

CheckRules check_rules(const DiskSetup& setup) {
  const std::span<const ProblemKind> problems = setup.kind.words.problems;
  SISYFS_ASSERT(problems.size() <= 64, "a target has at most 64 kinds of problems");
  CheckRules rules;
  rules.report_repaired = setup.recovery.report_repaired;
  for (size_t i = 0; i < problems.size(); ++i) {
    if (named(problems[i])) rules.named |= uint64_t{1} << i;
    if (problems[i].severity == Severity::kCritical) rules.critical |= uint64_t{1} << i;
  }
  return rules;
}

CheckJudge::CheckJudge(const DiskSetup& setup, const CheckRules& rules) : setup_(setup), rules_(rules) {
  for (const ProblemKind& problem : setup.kind.words.problems)
    problems_.push_back(named(problem).value_or(FindingKind::kNotClean));
}

std::vector<FindingKind> CheckJudge::may_find() const {
  const bool comes_back = setup_.cuts.enabled || setup_.start.damage != nullptr;
  if (!setup_.kind.has_disk() || !comes_back) return {};
  std::vector<FindingKind> kinds = {FindingKind::kNotMountable, FindingKind::kNotWalkable,
                                    FindingKind::kNotClean, FindingKind::kNotUsable};
  if (setup_.cuts.nesting != 0) kinds.push_back(FindingKind::kNotRepeatable);
  const bool two_ways = setup_.recovery.both_ways && setup_.kind.claims.mount_recovers;
  const bool two_modes = setup_.recovery.both_modes && setup_.kind.has_preen;
  if (two_ways || two_modes) kinds.push_back(FindingKind::kTwoOutcomes);
  const uint64_t counted = rules_.named & (rules_.report_repaired ? ~uint64_t{0} : rules_.critical);
  for (size_t i = 0; i < problems_.size(); ++i)
    if ((counted >> i & 1) != 0) kinds.push_back(problems_[i]);
  return kinds;
}

void CheckJudge::came_back(const Comeback& back, Opinion& opinion) {
  const Recovery& recovery = *back.recoveries[0];
  const auto is = [&](const Tree* tree) { return tree != nullptr && recovery.tree == *tree; };
  if (back.uninterrupted != nullptr && recovery.alive && !is(back.uninterrupted) && !is(back.with_write))
    opinion.found(FindingKind::kNotRepeatable);
  if (recovery.sound) return;
  for (uint64_t left = rules_.counted(recovery.check, back.damaged); left != 0; left &= left - 1)
    opinion.found(problems_[static_cast<size_t>(std::countr_zero(left))]);
  if (rules_.is_unclean(recovery.check)) opinion.found(FindingKind::kNotClean);
  if (recovery.mount_failed) opinion.found(FindingKind::kNotMountable);
  if (recovery.walk_failed) opinion.found(FindingKind::kNotWalkable);
  if (recovery.unusable) opinion.found(FindingKind::kNotUsable);
  if (recovery.two_outcomes) opinion.found(FindingKind::kTwoOutcomes);
}

}  // namespace sisyfs
