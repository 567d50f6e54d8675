#include "machine/remembering_recoverer.h"

#include <utility>

#include "base/mutant.h"

namespace sisyfs {

RememberingRecoverer::RememberingRecoverer(const DiskSetup& setup, const Bounds& bounds,
                                           const CheckRules& rules, Target& target, const Image& blank)
    : Recoverer(setup, bounds, rules, target, blank),
      memories_(setup.memo_bits),
      known_(setup.memo_bits + kByImage),
      recoveries_(setup.memo_bits + kByReads),
      decisions_(blank.geometry().is_flash() ? setup.memo_bits + kByDecisions : 0),
      checks_(setup.memo_bits + kByReads),
      trials_(setup.memo_bits + kByReads) {}

const Recovery& RememberingRecoverer::recover(CrashState& state) {
  const Known* known = known_.find(state.digest());
  if (known != nullptr && (known->entry->key == known->key || mutant(Mutant::kTrustEntry)))
    return known->entry->answer;
  ++images_;
  const auto* entry = recoveries_.find({}, state);
  if (entry == nullptr) {
    const Image& image = state.image();
    carry_out(image, nullptr, recovery_, nullptr);
    entry = &recoveries_.put({}, image, reads_.addresses(), std::move(recovery_));
  }
  known_.put(state.digest()) = {entry, entry->key};
  return entry->answer;
}

const Recovery& RememberingRecoverer::recover(LazyStates& run) {
  // A lookup that finds nothing may have read, and so decided, more than the recovery will.
  const size_t choices = run.choices();
  const Geometry& geometry = run.epoch().durable().geometry();
  const bool by_decisions = geometry.is_flash();
  if (by_decisions) {
    if (const auto* known = decisions_.find(run)) return known->answer;
    run.forget(choices);
    reads_.restart(BlockCount(geometry.stored_blocks()));
  }
  const auto* entry = recoveries_.find({}, run, by_decisions ? &reads_ : nullptr);
  if (entry == nullptr) {
    run.forget(choices);
    carry_out(run.epoch().durable(), &run, recovery_, nullptr);
    entry = &recoveries_.put({}, run, reads_.addresses(), std::move(recovery_));
  }
  if (by_decisions) decisions_.put(run, reads_.addresses(), *entry);
  return entry->answer;
}

const Snapshot& RememberingRecoverer::save() {
  Snapshot memory = save_now();
  if (const Snapshot* same = memories_.find(memory.digest())) return *same;
  return memories_.put(memory.digest()) = std::move(memory);
}

// A check that writes leaves another disk behind, so only one that does not write is remembered.
Recoverer::Checked RememberingRecoverer::check(const Image& image) {
  if (const auto* known = checks_.find({}, image, mutant(Mutant::kForgetCheckReads) ? nullptr : &reads_))
    return known->answer;
  const Checked checked = run_check(nullptr);
  if (media_.state().log.empty()) checks_.put({}, image, reads_.addresses(), checked);
  return checked;
}

// A library may cache what a walk has read and not read it again in the trial. So the trial depends on that.
Walk RememberingRecoverer::walk() {
  trial_reads_.restart(BlockCount(media_.state().current.geometry().stored_blocks()));
  media_.watch(&trial_reads_);
  Walk walk = target_.walk();
  media_.watch(&reads_);
  for (const BlockAddress address : trial_reads_.addresses()) reads_.read(address);
  return walk;
}

Recoverer::Trial RememberingRecoverer::use(const Recovery& recovery) {
  const Digest start = digest_at(1, recovery.memory.digest()) + digest_at(2, recovery.tree.digest());
  const Image image = media_.state().current;
  if (const auto* known = trials_.find(start, image, &reads_)) return known->answer;
  media_.watch(&trial_reads_);
  const Trial trial = run_trial(recovery.tree, nullptr);
  media_.watch(&reads_);
  if (!mutant(Mutant::kForgetTrialReads))
    for (const BlockAddress address : trial_reads_.addresses()) reads_.read(address);
  return trials_.put(start, image, trial_reads_.addresses(), trial).answer;
}

}  // namespace sisyfs
