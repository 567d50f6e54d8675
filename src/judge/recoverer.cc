#include "judge/recoverer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mutant.h"
#include "judge/catalogue.h"
#include "judge/usable.h"

namespace sisyfs {

uint32_t findings_of(const Log& log) {
  return (log.strays() != 0 ? bit(FindingKind::kOutOfRange) : 0) |
         (log.misuses() != 0 ? bit(FindingKind::kFlashMisuse) : 0);
}

uint32_t findings_of_faults(uint32_t faults) {
  constexpr std::pair<uint32_t, FindingKind> kFaults[] = {{kDied, FindingKind::kTargetDied},
                                                          {kHung, FindingKind::kTargetHung},
                                                          {kLeaked, FindingKind::kMemoryLeak},
                                                          {kHeapMisused, FindingKind::kHeapMisuse},
                                                          {kTooMuchMemory, FindingKind::kRunawayMemory}};
  uint32_t findings = 0;
  for (const auto& [fault, kind] : kFaults)
    if ((faults & fault) != 0) findings |= bit(kind);
  return findings;
}

uint32_t faults_of(Target& target) {
  HasFaults* has = target.has_faults();
  const uint32_t faults = has == nullptr ? 0 : has->take_faults();
  return faults == 0 ? 0 : findings_of_faults(faults);
}

uint32_t marks_of(Target& target) {
  ReachesMarks* reaches = target.reaches_marks();
  return reaches == nullptr ? 0 : reaches->take_marks() * uint32_t{kOfTarget} & ~uint32_t{kLeftOut};
}

Recoverer::Recoverer(const DiskSetup& setup, const Bounds& bounds, Target& target, const Image& blank)
    : setup_(setup),
      bounds_(bounds),
      target_(target),
      kind_(setup.kind),
      saves_(*target.saves_memory()),
      offline_(setup.kind.has_fsck ? target.checks_offline() : nullptr),
      disk_(blank),
      memories_(setup.memo_bits),
      known_(setup.memo_bits + kByImage),
      recoveries_(setup.memo_bits + kByReads),
      checks_(setup.memo_bits + kByReads),
      trials_(setup.memo_bits + kByReads) {
  disk_.set_discard(setup.device.discard);
  for (const ProblemKind& problem : kind_.words.problems) {
    const auto kind = find_kind(problem.code);
    problem_findings_.push_back(kind && kind->name == problem.name ? bit(kind->kind) : 0);
  }
}

const Recovery& Recoverer::recover(CrashState& state) {
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

const Recovery& Recoverer::recover(LazyStates& run) {
  // Where nothing is known, more may have been asked for than will be read.
  const size_t choices = run.choices();
  const auto* entry = recoveries_.find({}, run);
  if (entry == nullptr) {
    run.forget(choices);
    carry_out(run.epoch().durable(), &run, recovery_, nullptr);
    entry = &recoveries_.put({}, run, reads_.addresses(), std::move(recovery_));
  }
  return entry->answer;
}

RecoveryNotes Recoverer::notes(CrashState& state) {
  RecoveryNotes notes;
  carry_out(state.image(), nullptr, recovery_, &notes);
  return notes;
}

RecoveryNotes Recoverer::notes(LazyStates& run) {
  RecoveryNotes notes;
  run.rewind();
  carry_out(run.epoch().durable(), &run, recovery_, &notes);
  return notes;
}

Recovery Recoverer::repair(const Image& image) {
  damaged_ = true;
  carry_out(image, nullptr, recovery_, nullptr);
  damaged_ = false;
  return std::move(recovery_);
}

RecoveryNotes Recoverer::notes_of_repair(const Image& image) {
  RecoveryNotes notes;
  damaged_ = true;
  carry_out(image, nullptr, recovery_, &notes);
  damaged_ = false;
  return notes;
}

void Recoverer::carry_out(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes) {
  ++runs_;
  (void)marks_of(target_);
  disk_.load(MediaState(image));
  reads_.restart(image.geometry().block_count);
  disk_.watch(&reads_, run);
  // What is decided on the way goes to no image, and what is done to it is told by the log.
  if (run != nullptr) disk_.begin_scratch(Media::Keep::kLog);
  target_.power_cut();
  // What is decided on the way is in no image, by which parts of a recovery could be known again.
  const bool whole = run != nullptr || notes != nullptr || damaged_;
  const Checked checked = offline_ == nullptr ? Checked() : whole ? judge_fsck(notes) : check(image);
  out.findings = checked.findings;
  out.marks = checked.marks;
  out.alive = false;
  bool used = false;
  const int error = found_dead(out.findings) ? EIO : target_.mount(disk_);
  out.findings |= faults_of(target_);
  out.work = blocks_written();
  if (found_dead(out.findings)) {
    // There is nothing to judge.
  } else if (error != 0) {
    out.findings |= bit(FindingKind::kNotMountable);
    if (notes != nullptr) notes->mount_error = error;
  } else {
    // A walk changes nothing that counts, but what a library remembers of what it has read.
    out.memory = save();
    Walk walk = whole ? target_.walk() : watched_walk();
    out.findings |= faults_of(target_);
    if (found_dead(out.findings))
      walk.error = EIO;
    else if (walk.error != 0)
      out.findings |= bit(FindingKind::kNotWalkable);
    else
      out.alive = true;
    if (notes != nullptr) notes->walk = walk;
    out.tree = std::move(walk.tree);
  }
  out.findings |= findings_of(disk_.state().log);
  out.marks |= marks_of(target_);
  if (out.alive) {
    out.log = disk_.state().log;
    out.reads = static_cast<uint32_t>(reads_.addresses().size());
    const bool trial = out.findings == 0 && setup_.usability && !mutant(Mutant::kNeverUsed);
    std::string* why = notes == nullptr ? nullptr : &notes->unusable;
    if (trial) out.findings |= whole ? try_use(out.tree, why) : known_use(out);
    if (trial && notes != nullptr) notes->strayed = "who uses it afterwards";
    used = trial;
  }
  if (out.alive && out.findings == 0 && setup_.both_ways && offline_ != nullptr &&
      kind_.claims.mount_recovers) {
    out.findings |= compare_ways(image, run, out.tree, notes);
    if (notes != nullptr) notes->strayed = "the mount without its check";
  }
  disk_.watch(nullptr);
  if (notes != nullptr) notes->log = disk_.state().log;
  if (notes != nullptr && target_.has_faults() != nullptr)
    notes->fault = (used ? "when it was used afterwards, " : "") + target_.has_faults()->fault_text();
  if (setup_.nesting != 0) out.blocks.assign(reads_.addresses().begin(), reads_.addresses().end());
}

// What the target remembers, in the same place as when it came before: so it is kept once, and in the cache.
const Snapshot& Recoverer::save() {
  Snapshot memory = saves_.save();
  if (const Snapshot* same = memories_.find(memory.digest())) return *same;
  return memories_.put(memory.digest()) = std::move(memory);
}

// A check that writes leaves another disk behind, so only one that does not is remembered.
Recoverer::Checked Recoverer::check(const Image& image) {
  if (const auto* known = checks_.find({}, image, mutant(Mutant::kForgetCheckReads) ? nullptr : &reads_))
    return known->answer;
  const Checked checked = judge_fsck(nullptr);
  if (disk_.state().log.empty()) checks_.put({}, image, reads_.addresses(), checked);
  return checked;
}

// The check repairs, and then looks again: what it still finds is a broken system. Problems that the
// catalogue knows are told by their name.
Recoverer::Checked Recoverer::judge_fsck(RecoveryNotes* notes) {
  Checked out;
  report_.clear();
  offline_->fsck(disk_, FsckMode::kRepair, &report_);
  if (out.findings = faults_of(target_); found_dead(out.findings)) return out;
  for (const Problem& problem : report_.problems) {
    if (problem.repaired) out.marks |= kFsckRepaired;
    const bool harmless = kind_.words.problems[problem.kind].severity == Severity::kRepairable ||
                          ((damaged_ || mutant(Mutant::kForgiveRepaired)) && problem.repaired);
    if (!harmless || setup_.report_repaired) out.findings |= finding_of(problem);
  }
  report_again_.clear();
  offline_->fsck(disk_, FsckMode::kCheck, &report_again_);
  if (out.findings |= faults_of(target_); found_dead(out.findings)) return out;
  bool clean = report_.error == 0 && report_again_.error == 0;
  for (const Problem& problem : report_again_.problems) {
    const bool named =
        finding_of(problem) != 0 && kind_.words.problems[problem.kind].severity == Severity::kCritical;
    if (named)
      out.findings |= finding_of(problem);
    else
      clean = false;
  }
  if (!clean) out.findings |= bit(FindingKind::kNotClean);
  if (notes != nullptr) notes->repair = report_, notes->check = report_again_;
  out.marks |= marks_of(target_);
  return out;
}

// An access that must not be is told unless it is why the trial fails.
uint32_t Recoverer::try_use(const Tree& tree, std::string* why) {
  const bool usable = is_usable(kind_, target_, disk_, bounds_, tree, why);
  if (const uint32_t faults = faults_of(target_)) return faults;
  return usable ? findings_of(disk_.state().log) : bit(FindingKind::kNotUsable);
}

// What a walk has read a library may remember, and not read again in the trial. So the trial depends on that.
Walk Recoverer::watched_walk() {
  trial_reads_.restart(disk_.geometry().block_count);
  disk_.watch(&trial_reads_);
  Walk walk = target_.walk();
  disk_.watch(&reads_);
  for (const BlockAddress address : trial_reads_.addresses()) reads_.read(address);
  return walk;
}

// The trial depends on what is remembered, on the tree and on what it and the walk read of the disk.
uint32_t Recoverer::known_use(const Recovery& recovery) {
  const Digest start = digest_at(1, recovery.memory.digest()) + digest_at(2, recovery.tree.digest());
  const Image image = disk_.state().current;
  if (const auto* known = trials_.find(start, image, &reads_)) return known->answer;
  disk_.watch(&trial_reads_);
  const uint32_t findings = try_use(recovery.tree, nullptr);
  disk_.watch(&reads_);
  if (!mutant(Mutant::kForgetTrialReads))
    for (const BlockAddress address : trial_reads_.addresses()) reads_.read(address);
  return trials_.put(start, image, trial_reads_.addresses(), findings).answer;
}

// The disk once more as the power cut left it, and the mount alone. What was decided on the way stays so.
uint32_t Recoverer::compare_ways(const Image& image, LazyStates* run, const Tree& tree,
                                 RecoveryNotes* notes) {
  Image start = image;
  BlockRef block;
  if (run != nullptr) {
    for (const BlockAddress address : reads_.addresses())
      if (run->known_block(address, &block)) start.set(address, std::move(block));
  }
  disk_.load(MediaState(std::move(start)));
  reads_.rewind();
  target_.power_cut();
  const int error = target_.mount(disk_);
  const Walk walk = error == 0 ? target_.walk() : Walk{error, Path("/"), {}};
  (void)marks_of(target_);
  if (const uint32_t faults = faults_of(target_)) return faults;
  if (walk.error == 0 && walk.tree == tree) return findings_of(disk_.state().log);
  if (notes != nullptr) notes->mounted_alone = walk;
  return bit(FindingKind::kTwoOutcomes);
}

uint16_t Recoverer::blocks_written() {
  uint64_t blocks = 0;
  for (const Event* event : disk_.state().log.events(events_))
    if (event->changes_blocks()) blocks += event->count.value;
  return static_cast<uint16_t>(std::min<uint64_t>(blocks, UINT16_MAX));
}

}  // namespace sisyfs
