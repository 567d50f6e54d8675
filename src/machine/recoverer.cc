#include "machine/recoverer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mutant.h"
#include "machine/marks.h"
#include "machine/usable.h"

namespace sisyfs {

uint64_t CheckRules::counted(const CheckFacts& facts, bool damaged) const {
  const uint64_t reported = report_repaired ? ~uint64_t{0} : critical;
  const bool forgiven = damaged || mutant(Mutant::kForgiveRepaired);
  const uint64_t repaired = report_repaired ? ~uint64_t{0} : forgiven ? 0 : critical;
  return named & ((facts.found & reported) | (facts.repaired & repaired) | (facts.left & critical));
}

Recoverer::Recoverer(const DiskSetup& setup, const Bounds& bounds, const CheckRules& rules, Target& target,
                     const Image& blank)
    : setup_(setup),
      target_(target),
      media_(blank),
      bounds_(bounds),
      rules_(rules),
      saves_(target.saves_memory()),
      check_(setup.kind.has_fsck ? target.checks_offline() : nullptr),
      faults_(target.has_faults()),
      marks_(target.reaches_marks()) {
  media_.set_discard(setup.cuts.device.discard);
}

const Recovery& Recoverer::recover(CrashState& state) {
  ++images_;
  carry_out(state.image(), nullptr, recovery_, nullptr);
  return recovery_;
}

const Recovery& Recoverer::recover(LazyStates& run) {
  carry_out(run.epoch().durable(), &run, recovery_, nullptr);
  return recovery_;
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
  (void)marks_of(marks_);
  media_.load(MediaState(image));
  reads_.restart(BlockCount(image.geometry().stored_blocks()));
  media_.watch(&reads_, run);
  // Blocks that are decided on the way go to no image; the log says what recovery did to them.
  if (run != nullptr) media_.begin_scratch(Media::Keep::kLog);
  target_.power_cut();
  // Parts of a recovery are known again by an image, which lazy crash states do not have.
  const bool whole = run != nullptr || notes != nullptr || damaged_;
  alone_ = setup_.recovery.mount_alone && !damaged_;
  const bool repairs = check_ != nullptr && !alone_;
  const Checked checked = !repairs ? Checked() : whole ? run_check(notes) : check(image);
  out.check = checked.facts;
  out.faults = checked.faults;
  out.marks = checked.marks;
  out.alive = out.mount_failed = out.walk_failed = out.unusable = out.two_outcomes = false;
  bool used = false;
  const int error = is_dead(out.faults) ? EIO : target_.mount(media_);
  out.faults |= take_faults();
  out.work = blocks_written();
  if (is_dead(out.faults)) {
    // The call has no answer.
  } else if (error != 0) {
    out.mount_failed = true;
    if (notes != nullptr) notes->mount_error = error;
  } else {
    // The memory is saved before the walk: a walk changes nothing but caches.
    out.memory = save();
    Walk walked = whole ? target_.walk() : walk();
    out.faults |= take_faults();
    if (is_dead(out.faults))
      walked.error = EIO;
    else if (walked.error != 0)
      out.walk_failed = true;
    else
      out.alive = true;
    if (notes != nullptr) notes->walk = walked;
    out.tree = std::move(walked.tree);
  }
  out.out_of_range = media_.state().log.strays() != 0;
  out.flash_misused = media_.state().log.misuses() != 0;
  out.marks |= marks_of(marks_);
  const auto is_sound = [&] {
    return out.alive && out.faults == 0 && !out.out_of_range && !out.flash_misused && !out.unusable &&
           rules_.is_sound(out.check, damaged_);
  };
  if (out.alive) {
    out.log = media_.state().log;
    out.reads = static_cast<uint32_t>(reads_.addresses().size());
    used = is_sound() && setup_.recovery.usability && !mutant(Mutant::kNeverUsed);
    if (used) {
      const Trial trial = whole ? run_trial(out.tree, notes == nullptr ? nullptr : &notes->trial) : use(out);
      out.faults |= trial.faults;
      out.unusable = trial.unusable;
      out.out_of_range = trial.out_of_range;
      out.flash_misused = trial.flash_misused;
      if (notes != nullptr) notes->strayed = "the trial of use";
    }
  }
  // What the mount left to the check also fails the trial of use; both are told.
  const bool obeys = out.alive && out.faults == 0 && !out.out_of_range && !out.flash_misused;
  if (obeys && alone_ && check_ != nullptr) check_after_mount(image, run, out, notes);
  if (is_sound() && setup_.recovery.both_ways && check_ != nullptr && setup_.kind.claims.mount_recovers) {
    compare_ways(image, run, out, notes);
    if (notes != nullptr)
      notes->strayed = alone_ ? "the mount after its repair" : "the mount without its check";
  }
  if (is_sound() && !out.two_outcomes && setup_.recovery.both_modes && repairs && setup_.kind.has_preen) {
    compare_modes(image, run, out, notes);
    if (notes != nullptr) notes->strayed = "the repair in its cautious mode";
  }
  out.sound = is_sound() && !out.two_outcomes;
  media_.watch(nullptr);
  if (notes != nullptr) notes->log = media_.state().log;
  if (notes != nullptr && faults_ != nullptr) {
    notes->fault = (used ? "when it was used afterwards, " : "") + faults_->fault_text();
    notes->fault_frames = faults_->fault_frames();
  }
  // The check may say why the disk does not mount.
  if (notes != nullptr && alone_ && out.mount_failed && check_ != nullptr) {
    load_again(image, run);
    report_.clear();
    check_->fsck(media_, FsckMode::kCheck, &report_);
    (void)take_faults();
    notes->check = report_;
  }
  if (setup_.cuts.nesting != 0) out.blocks.assign(reads_.addresses().begin(), reads_.addresses().end());
  out.log_with_write = Log();
  if (out.sound && notes == nullptr && setup_.cuts.nesting != 0 && setup_.recovery.with_first_write) {
    media_.watch(&reads_, run);
    write_first(image, run, out);
    media_.watch(nullptr);
  }
}

// A fault or an answer that is wrong is found when the op is one of a path.
void Recoverer::write_first(const Image& image, LazyStates* run, Recovery& out) {
  const std::optional<Op> op = first_write(setup_.kind, bounds_, out.tree);
  if (!op) return;
  load_again(image, run);
  if (check_ != nullptr && !alone_) {
    report_.clear();
    check_->fsck(media_, FsckMode::kRepair, &report_);
  }
  const int error = target_.mount(media_);
  const size_t events = media_.state().log.size();
  const int answer = error == 0 ? target_.apply(*op).error : error;
  (void)marks_of(marks_);
  if (take_faults() != 0 || error != 0 || events != out.log.size()) return;
  out.log_with_write = media_.state().log;
  out.tree_with_write = out.tree;
  if (answer == 0) (void)sisyfs::apply(*op, out.tree_with_write);
}

const Snapshot& Recoverer::save() { return memory_ = save_now(); }

Recoverer::Checked Recoverer::check(const Image&) { return run_check(nullptr); }

Walk Recoverer::walk() { return target_.walk(); }

Recoverer::Trial Recoverer::use(const Recovery& recovery) { return run_trial(recovery.tree, nullptr); }

// The check repairs, and then checks again: what it still finds is a broken system.
Recoverer::Checked Recoverer::run_check(RecoveryNotes* notes) {
  Checked out;
  report_.clear();
  check_->fsck(media_, FsckMode::kRepair, &report_);
  if (out.faults = take_faults(); is_dead(out.faults)) return out;
  const auto bit_of = [](const Problem& problem) { return uint64_t{1} << problem.kind; };
  for (const Problem& problem : report_.problems) {
    if (problem.repaired) out.marks |= kFsckRepaired;
    (problem.repaired ? out.facts.repaired : out.facts.found) |= bit_of(problem);
  }
  report_again_.clear();
  check_->fsck(media_, FsckMode::kCheck, &report_again_);
  if (out.faults |= take_faults(); is_dead(out.faults)) return out;
  for (const Problem& problem : report_again_.problems) out.facts.left |= bit_of(problem);
  out.facts.failed = report_.error != 0 || report_again_.error != 0;
  if (notes != nullptr) notes->repair = report_, notes->check = report_again_;
  out.marks |= marks_of(marks_);
  return out;
}

// An access that is not allowed is told unless it is why the trial fails.
Recoverer::Trial Recoverer::run_trial(const Tree& tree, TrialNotes* notes) {
  Trial trial;
  const bool usable = is_usable(setup_.kind, target_, media_, bounds_, tree, notes);
  if (trial.faults = take_faults(); trial.faults != 0) return trial;
  trial.unusable = !usable;
  if (!usable) return trial;
  trial.out_of_range = media_.state().log.strays() != 0;
  trial.flash_misused = media_.state().log.misuses() != 0;
  return trial;
}

void Recoverer::load_again(const Image& image, LazyStates* run) {
  Image start = image;
  BlockRef block;
  if (run != nullptr) {
    for (const BlockAddress address : reads_.addresses())
      if (run->known_block(address, &block)) start.set(address, std::move(block));
  }
  media_.load(MediaState(std::move(start)));
  reads_.rewind();
  target_.power_cut();
}

void Recoverer::check_after_mount(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes) {
  load_again(image, run);
  report_.clear();
  if (target_.mount(media_) == 0 && target_.unmount() == 0) check_->fsck(media_, FsckMode::kCheck, &report_);
  (void)marks_of(marks_);
  out.faults |= take_faults();
  for (const Problem& problem : report_.problems) out.check.left |= uint64_t{1} << problem.kind;
  out.check.failed = report_.error != 0;
  out.out_of_range = media_.state().log.strays() != 0;
  out.flash_misused = media_.state().log.misuses() != 0;
  if (notes == nullptr) return;
  notes->check = report_;
  notes->strayed = "the check after the mount";
}

// The disk once more as the power cut left it. Where the repair came before the mount, now the mount alone;
// where the mount was alone, now the repair first.
void Recoverer::compare_ways(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes) {
  load_again(image, run);
  report_.clear();
  if (alone_) check_->fsck(media_, FsckMode::kRepair, &report_);
  compare_mount(out, notes);
}

void Recoverer::compare_modes(const Image& image, LazyStates* run, Recovery& out, RecoveryNotes* notes) {
  load_again(image, run);
  report_.clear();
  check_->fsck(media_, FsckMode::kPreen, &report_);
  const bool refused =
      report_.error != 0 || std::any_of(report_.problems.begin(), report_.problems.end(),
                                        [](const Problem& problem) { return !problem.repaired; });
  if (refused) {
    (void)marks_of(marks_);
    out.faults |= take_faults();
    return;
  }
  compare_mount(out, notes);
  if (notes != nullptr) notes->other_mode = true;
}

void Recoverer::compare_mount(Recovery& out, RecoveryNotes* notes) {
  const int error = target_.mount(media_);
  const Walk walk = error == 0 ? target_.walk() : Walk{error, Path("/"), {}};
  (void)marks_of(marks_);
  if (const uint32_t faults = take_faults()) {
    out.faults |= faults;
  } else if (walk.error == 0 && walk.tree == out.tree) {
    out.out_of_range = media_.state().log.strays() != 0;
    out.flash_misused = media_.state().log.misuses() != 0;
  } else {
    if (notes != nullptr) notes->other_way = walk;
    out.two_outcomes = true;
  }
}

uint16_t Recoverer::blocks_written() {
  uint64_t blocks = 0;
  for (const Event* event : media_.state().log.events(events_))
    if (event->changes_blocks()) blocks += event->count.value;
  return static_cast<uint16_t>(std::min<uint64_t>(blocks, UINT16_MAX));
}

}  // namespace sisyfs
