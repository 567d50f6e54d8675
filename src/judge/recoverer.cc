#include "judge/recoverer.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "judge/usable.h"

namespace sisyfs {

Recoverer::Recoverer(const DiskSetup& setup, const Bounds& bounds, Target& target, MemDisk& disk)
    : setup_(setup),
      bounds_(bounds),
      target_(target),
      traits_(target.traits()),
      disk_(disk),
      epoch_(setup.device, disk.state().current),
      rest_(epoch_),
      settling_(setup.device, DiskState(disk.state().current)),
      by_digest_(setup.memo_bits),
      by_reads_(setup.memo_bits) {
  for (const ProblemKind& problem : traits_.problems) {
    const auto kind = find_kind(problem.code);
    problem_findings_.push_back(kind && kind->name == problem.name ? bit(kind->kind) : 0);
  }
}

void Recoverer::watch(const Image& image, LazyStates* run) {
  disk_.load(DiskState(image));
  reads_.restart(image.geometry().block_count);
  disk_.watch(&reads_, run);
}

const Recovered& Recoverer::recover(CrashState& state) {
  if (const Recovered* known = by_digest_.find(state.digest())) return *known;
  ++images_;
  Recovered& out = by_digest_.put(state.digest());
  const Image& image = state.image();
  const auto block = [&](BlockAddress address) { return image.block(address); };
  if (const Recovery* known = by_reads_.find(block)) {
    static_cast<Recovery&>(out) = *known;
  } else {
    watch(image, nullptr);
    carry_out(out, nullptr);
    by_reads_.put(block, reads_.addresses(), out);
  }
  if (out.alive) finish(out, image, {});
  return out;
}

const Recovered& Recoverer::recover(LazyStates& run) {
  Recovered& out = lazily_;
  const auto block = [&](BlockAddress address) { return run.block(address); };
  // A walk through what is known that leads nowhere may have asked for more than will be read.
  const size_t choices = run.choices();
  if (const Recovery* known = by_reads_.find(block)) {
    static_cast<Recovery&>(out) = *known;
  } else {
    run.forget(choices);
    watch(run.epoch().durable(), &run);
    carry_out(out, nullptr);
    by_reads_.put(block, reads_.addresses(), out);
  }
  if (!out.alive) return out;
  run.epoch().narrow(run.known_after(out.reads), rest_);
  finish(out, rest_.durable(), rest_.open_log());
  return out;
}

void Recoverer::finish(Recovered& out, Image start, Log open) {
  out.start = std::move(start);
  out.open = std::move(open);
  disk_.load(DiskState(out.start, out.start, {}, out.open));
  disk_.redo(out.log);
  out.disk = settle(disk_.state());
  out.disk_print = print_of(out.disk);
}

RecoveryNotes Recoverer::notes(CrashState& state) {
  RecoveryNotes notes;
  Recovery again;
  watch(state.image(), nullptr);
  carry_out(again, &notes);
  return notes;
}

RecoveryNotes Recoverer::notes(LazyStates& run) {
  RecoveryNotes notes;
  Recovery again;
  run.rewind();
  watch(run.epoch().durable(), &run);
  carry_out(again, &notes);
  return notes;
}

// The check repairs, and then looks again: what it still finds is a broken system. Problems that the
// catalogue knows are told by their name.
uint32_t Recoverer::judge_fsck(RecoveryNotes* notes, uint32_t* marks) {
  uint32_t findings = 0;
  report_.clear();
  target_.fsck(disk_, FsckMode::kRepair, &report_);
  for (const Problem& problem : report_.problems) {
    if (problem.repaired) *marks |= kFsckRepaired;
    const bool harmless = traits_.problems[problem.kind].severity == Severity::kRepairable ||
                          (mutant(Mutant::kForgiveRepaired) && problem.repaired);
    if (!harmless || setup_.report_repaired) findings |= finding_of(problem);
  }
  report_again_.clear();
  target_.fsck(disk_, FsckMode::kCheck, &report_again_);
  bool clean = report_.error == 0 && report_again_.error == 0;
  for (const Problem& problem : report_again_.problems) {
    const bool named =
        finding_of(problem) != 0 && traits_.problems[problem.kind].severity == Severity::kCritical;
    if (named)
      findings |= finding_of(problem);
    else
      clean = false;
  }
  if (!clean) findings |= bit(FindingKind::kNotClean);
  if (notes != nullptr) notes->repair = report_, notes->check = report_again_;
  return findings;
}

// The disk is loaded and watched. What it holds does not matter afterwards, only what was read of it.
void Recoverer::carry_out(Recovery& out, RecoveryNotes* notes) {
  ++runs_;
  out.findings = out.marks = 0;
  out.alive = false;
  (void)target_.take_marks();
  target_.power_cut();
  if (traits_.has_fsck) out.findings |= judge_fsck(notes, &out.marks);
  const int error = target_.mount(disk_);
  out.work = blocks_written();
  if (error != 0) {
    out.findings |= bit(FindingKind::kNotMountable);
    if (notes != nullptr) notes->mount_error = error;
  } else {
    Walk walk = target_.walk();
    if (walk.error != 0)
      out.findings |= bit(FindingKind::kNotWalkable);
    else
      out.alive = true;
    if (notes != nullptr) notes->walk = walk;
    out.tree = std::move(walk.tree);
  }
  if (disk_.state().log.strays() != 0) out.findings |= bit(FindingKind::kOutOfRange);
  out.marks |= marks_of_target();
  if (out.alive) {
    out.memory = target_.save();
    out.log = disk_.state().log;
    out.reads = static_cast<uint32_t>(reads_.addresses().size());
    const bool trial = out.findings == 0 && setup_.usability && !mutant(Mutant::kNeverUsed);
    std::string* why = notes == nullptr ? nullptr : &notes->unusable;
    if (trial && !is_usable(target_, disk_, bounds_, out.tree, why))
      out.findings |= bit(FindingKind::kNotUsable);
  }
  disk_.watch(nullptr);
  if (setup_.nesting != 0) out.blocks.assign(reads_.addresses().begin(), reads_.addresses().end());
}

uint16_t Recoverer::blocks_written() {
  uint64_t blocks = 0;
  for (const Event* event : disk_.state().log.events(events_))
    if (event->changes_blocks()) blocks += event->count.value;
  return static_cast<uint16_t>(std::min<uint64_t>(blocks, UINT16_MAX));
}

uint32_t Recoverer::marks_of_target() {
  return target_.take_marks() * uint32_t{kOfTarget} & ~uint32_t{kLeftOut};
}

// Nearly always everything is durable: the device writes through, or a flush came last.
DiskState Recoverer::settle(const DiskState& state) {
  bool durable = setup_.device.cache == WriteCache::kWriteThrough;
  if (!durable) {
    state.log.events(events_);
    const auto last = std::find_if(events_.rbegin(), events_.rend(), [](const Event* event) {
      return event->changes_blocks() || event->kind == EventKind::kFlush;
    });
    durable = last == events_.rend() || (*last)->kind == EventKind::kFlush;
  }
  if (durable && state.open.empty()) return DiskState(state.current);
  settling_.restart(state);
  while (settling_.next() != nullptr) {
  }
  return settling_.settled();
}

Digest Recoverer::print_of(const DiskState& disk) {
  if (disk.log.empty() && disk.open.empty())
    return digest_at(0, disk.durable.digest());  // what an empty epoch has
  epoch_.restart(disk.durable, disk.open);
  for (const Event* event : disk.log.events(events_)) {
    if (event->changes_blocks()) epoch_.add(*event);
  }
  return epoch_.digest();
}

}  // namespace sisyfs
