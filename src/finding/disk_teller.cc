#include "finding/disk_teller.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "expect/history.h"
#include "finding/step_recorder.h"
#include "finding/write_text.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

// What a system must do that had a fault, by the finding that it is.
struct FaultText {
  FindingKind kind;
  const char* expected;
};
constexpr FaultText kFaultTexts[] = {
    {FindingKind::kTargetDied, "every call returns"},
    {FindingKind::kTargetHung, "every call returns"},
    {FindingKind::kMemoryLeak, "all memory is given back at unmount"},
    {FindingKind::kHeapMisuse, "memory is used as it was allocated, and freed once"},
    {FindingKind::kRunawayMemory, "memory stays within its limit"},
    {FindingKind::kComplaint, "the kernel reports no error of its own"},
};

std::string answer_of(const OpResult& result) {
  if (result.error != 0) return errno_text(result.error);
  return result.value == 0 ? "0" : fmt::format("{}", result.value);
}

std::string name_of(const EventName& name) {
  return fmt::format("event {} of step {}{}", name.nth, name.step,
                     name.cut == 0 ? "" : fmt::format(", recovery {}", name.cut));
}

}  // namespace

DiskTeller::DiskTeller(WorkerPool& workers)
    : worker_(workers),
      kind_(workers.plan().setup.kind),
      writes_(workers.plan().blank.geometry(), worker_->machine().target()),
      names_(workers.plan().blank.geometry()) {
  if (const Recording* recording = workers.plan().setup.recording.get()) played_ = recording->begin();
}

bool DiskTeller::cannot(std::string why) {
  cannot_happen_ = std::move(why);
  return false;
}

Replayed DiskTeller::run(const DiskSystemState& initial, std::span<const Step> steps) {
  DiskSystemState state = initial;
  for (const Step& step : steps) ids_.insert(step.id);
  begin(initial, steps);
  for (const Step& step : steps) {
    // A path that has ended with a broken promise goes no further.
    if (state.over || !do_step(step, state)) break;
  }
  story_.writes = writes_.take();
  story_.findings = worker_->plan().kinds.in(findings_);
  return {std::move(story_), std::move(cannot_happen_)};
}

// What the start has left unflushed. It is told if a power cut has lost some of it.
void DiskTeller::begin(const DiskSystemState& initial, std::span<const Step> steps) {
  ids_.insert(0);
  const Log& log = initial.disk.log;
  names_.add(log, 0, log.base(), 0, 0);
  const auto is_of_start = [](const LostEvent& lost) { return lost.event.step == 0; };
  const auto loses_some = [&](const PowerCut& cut) {
    return std::any_of(cut.lost.begin(), cut.lost.end(), is_of_start);
  };
  if (std::none_of(steps.begin(), steps.end(), [&](const Step& step) {
        return std::any_of(step.cuts.begin(), step.cuts.end(), loses_some);
      }))
    return;
  StoryStep start;
  start.kind = StoryStep::Kind::kStart;
  start.op = initial.unmounted ? "format" : "format and mount";
  start.text = "these writes are not durable yet";
  tell_writes(start, log, 0, initial.disk.durable);
  story_.steps.push_back(std::move(start));
}

bool DiskTeller::can_begin(const Step& step, const Op& op, const DiskSystemState& state) {
  if (step.kind != Step::Kind::kOp)
    return cannot(
        fmt::format("step {} is one of interleaved tasks, and this target runs whole ops", step.id));
  const DiskSetup& setup = worker_->plan().setup;
  if (setup.recording != nullptr) {
    if (op.kind != OpKind::kPlay) return cannot(fmt::format("step {}: a log has no op but play", step.id));
    if (state.script_at != 0)
      return cannot(fmt::format("step {}: after a power cut no more of a log is played", step.id));
    if (op.offset <= played_ || op.offset > setup.recording->end())
      return cannot(fmt::format("step {}: the log is played up to entry {}, and this step leads to {} of {}",
                                step.id, played_, op.offset, setup.recording->end()));
  }
  if (state.damaged != (op.kind == OpKind::kFsck))
    return cannot(fmt::format("step {} {}", step.id,
                              state.damaged ? "needs a mounted system, and this one begins damaged"
                                            : "repairs a system that is mounted"));
  if (state.unmounted && op.kind != OpKind::kRemount)
    return cannot(
        fmt::format("step {} needs a mounted system, and this one begins before its first mount", step.id));
  if (op.kind != OpKind::kFsck && !kind_.ops.has(op.kind))
    return cannot(fmt::format("step {}: the target has no op '{}'", step.id, op_name(op.kind)));
  if (op.kind == OpKind::kRestore && !state.saved_tree)
    return cannot(fmt::format("step {} restores what no step before it has saved", step.id));
  if (!step.cuts.empty() && (!worker_->plan().setup.cuts.enabled || state.damaged))
    return cannot(fmt::format("step {} has a power cut, and the power never goes there", step.id));
  // The judges declare what can be found with these settings, and nothing else.
  if (step.cuts.size() > size_t{setup.cuts.nesting} + 1)
    return cannot(fmt::format("step {} has {} power cuts, and with nesting={} there are at most {}", step.id,
                              step.cuts.size(), setup.cuts.nesting, setup.cuts.nesting + 1));
  if (step.failure.kind != InjectedFailure::Kind::kNone && setup.failures.most == 0)
    return cannot(fmt::format("step {} has a call that fails, and with these settings none does", step.id));
  return true;
}

bool DiskTeller::do_step(const Step& step, DiskSystemState& state) {
  const Result<Op> op = parse_op(step.op);
  if (!op) return cannot(fmt::format("step {}: {}", step.id, op.error().message));
  if (!can_begin(step, *op, state)) return false;
  if (!worker_->run(state, *op, step.failure))
    return cannot(fmt::format(
        "step {} ('{}') has no {} {} that could fail", step.id, step.op,
        step.failure.kind == InjectedFailure::Kind::kAllocation ? "allocation" : "access", step.failure.nth));
  findings_ = worker_->outcome().findings;
  const Episode& episode = worker_->machine().episode();
  if (state.damaged) {
    tell_repair(step, *op);
  } else {
    const Log& log = worker_->machine().disk().log;
    names_.add(log, episode.events_before, log.base(), step.id, 0);
    tell_op(*op, step);
  }
  // A call that fails has no number; the next one takes its number.
  calls_.resize(state.expectation.calls());
  calls_.push_back(fmt::format("'{}' (step {})", step.op, step.id));
  past_.push_back(state.expectation.now());
  DiskSystemState next;
  if (!step.cuts.empty()) {
    if (worker_->op_is_over() && findings_ != 0) {
      // The op itself broke a promise, and the path ends there, before the power cut.
      persist_what_is_durable();
      state.over = true;
      return true;
    }
    if (!do_cuts(step, *op, next)) return false;
  } else {
    worker_->put_end(next);
    // Of the writes so far those are still in doubt that are left in the log.
    if (next.over)
      persist_what_is_durable();
    else
      writes_.persist_all_but(next.disk.log);
  }
  state = std::move(next);
  return true;
}

bool DiskTeller::build_cut(const Step& step, uint32_t level, const MediaState& disk, size_t from,
                           CrashPoints& points, CrashState& out, CutAtHand& cut) {
  const PowerCut& wanted = step.cuts[level];
  std::vector<uint64_t> serials;  // of the named events of the op or the recovery, in issue order
  std::vector<size_t> at;         // and their positions in the log
  disk.log.events(events_);
  for (size_t i = from; i < events_.size(); ++i) {
    if (!is_named(*events_[i])) continue;
    serials.push_back(disk.log.serial_of(*events_[i]));
    at.push_back(i);
  }
  const char* what = level == 0 ? "the op" : "recovery";
  if (wanted.after > serials.size())
    return cannot(fmt::format("step {}: the power goes after {} events of {}, which has only {}", step.id,
                              wanted.after, what, serials.size()));
  points.restart(disk, level == 0 ? worker_->machine().episode().events_judged : from);
  while (const CrashPoint* point = points.next()) {
    const auto issued =
        static_cast<size_t>(std::lower_bound(at.begin(), at.end(), point->event) - at.begin());
    const size_t with_fua = issued + (point->reason == CrashPointReason::kBeforeFua ? 1 : 0);
    if (with_fua < wanted.after || point->promises < wanted.promises) continue;
    // Events between the power cut and the crash point had not been issued: they are lost.
    const std::vector<uint64_t> unissued(serials.begin() + wanted.after, serials.end());
    out.restart(point->epoch);
    if (!mark_lost(step, wanted, unissued, out)) return false;
    cut.state = &out;
    cut.next_serial = wanted.after < serials.size() ? serials[wanted.after] : disk.log.next_serial();
    if (level == 0) cut.promises = point->promises;
    return true;
  }
  return cannot(fmt::format("step {}: nothing is in doubt when the power goes after {} events of {}", step.id,
                            wanted.after, what));
}

// Keeps of each chain the pieces before the first one that is lost.
bool DiskTeller::mark_lost(const Step& step, const PowerCut& cut, const std::vector<uint64_t>& unissued,
                           CrashState& out) {
  const Epoch& epoch = out.epoch();
  std::set<uint64_t> in_doubt;
  for (const Epoch::Write& write : epoch.writes()) in_doubt.insert(write.serial);
  std::map<uint64_t, const LostEvent*> lost;
  for (const LostEvent& event : cut.lost) {
    if (!ids_.contains(event.event.step)) continue;  // the step was removed
    const std::optional<uint64_t> named = names_.find(event.event);
    if (!named)
      return cannot(fmt::format("step {}: {} is no write to block {} of disk {} here", step.id,
                                name_of(event.event), event.event.address, event.event.disk));
    if (!in_doubt.contains(*named))
      return cannot(fmt::format("step {}: {} is durable when the power goes", step.id, name_of(event.event)));
    lost[*named] = &event;
  }
  const bool stages = EventParts::are_stages(epoch.model());
  std::map<uint64_t, uint32_t> stage;  // of the next piece, by serial number
  std::vector<uint32_t> keep;
  for (const Epoch::Chain& chain : epoch.chains()) keep.push_back(chain.length);
  for (const Epoch::Piece& piece : epoch.pieces()) {
    const Epoch::Write& write = epoch.writes()[piece.write];
    const auto named = lost.find(write.serial);
    const uint32_t part =
        stages ? stage[write.serial]++ : EventParts::unit_of(epoch, piece, names_.address(write.serial));
    const auto loses = [&](const LostEvent& event) {
      return event.parts.empty() || std::binary_search(event.parts.begin(), event.parts.end(), part);
    };
    const bool gone = std::binary_search(unissued.begin(), unissued.end(), write.serial) ||
                      (named != lost.end() && loses(*named->second));
    if (gone) keep[piece.chain] = std::min(keep[piece.chain], piece.rank);
  }
  for (uint32_t chain = 0; chain < keep.size(); ++chain) out.keep(chain, keep[chain]);
  return true;
}

bool DiskTeller::do_cuts(const Step& step, const Op& op, DiskSystemState& next) {
  Machine& machine = worker_->machine();
  const Episode episode = machine.episode();
  MediaState disk = machine.disk();
  CrashPoints points(worker_->plan().setup.cuts.device, disk);
  const Epoch none(worker_->plan().setup.cuts.device, disk.durable);
  CrashState state(none);
  CutAtHand cut;
  StoryStep told;
  told.kind = StoryStep::Kind::kCrash;
  told.step = step.id;
  Recovery recovery;
  RecoveryNotes notes;
  Tree uninterrupted, with_write;
  bool in_write = false,
       in_this = false;  // a power cut, and this one, was in the first write after a recovery
  Image image = disk.durable;
  uint64_t serial = disk.log.next_serial();
  for (uint32_t level = 0; level < step.cuts.size(); ++level) {
    if (!build_cut(step, level, disk, level == 0 ? episode.events_before : 0, points, state, cut))
      return false;
    if (level == 0) {
      const bool returned = cut.promises > episode.words.count() && episode.answer.error == 0;
      if (returned) {
        StoryStep& last = story_.steps.back();
        last.text.replace(0, last.text.find(';'), fmt::format("answers {}", answer_of(episode.answer)));
      }
      told.text = fmt::format("the power goes {} '{}'", returned ? "after" : "in the middle of", to_text(op));
    } else {
      story_.steps.push_back(std::move(told));
      told = {};
      told.kind = StoryStep::Kind::kCrash;
      told.step = step.id;
      told.op = "recovery";
      told.text = in_this ? "the power goes again, in the first write after recovery"
                          : "the power goes again, in the middle of recovery";
      tell_writes(told, disk.log, 0, image);
    }
    writes_.cut(*cut.state, cut.next_serial, told);
    image = state.image();
    recovery = machine.recoverer().recover(state);
    if (level == 0) uninterrupted = recovery.tree;
    if (level + 1 == step.cuts.size()) {
      notes = machine.recoverer().notes(state);
      break;
    }
    if (!recovery.alive)
      return cannot(
          fmt::format("step {}: recovery {} fails before the power goes in it", step.id, level + 1));
    disk = MediaState(image, serial);
    disk.log = recovery.log;
    const auto is_event = [](const Event* event) { return is_named(*event); };
    disk.log.events(events_);
    // A power cut beyond the events of the recovery is in the first write after it.
    const auto events = static_cast<size_t>(std::count_if(events_.begin(), events_.end(), is_event));
    in_this = level == 0 && step.cuts[1].after > events && !recovery.log_with_write.empty();
    if (in_this) {
      in_write = true;
      with_write = recovery.tree_with_write;
      disk.log = recovery.log_with_write;
    }
    disk.log.rebase(serial);
    serial = disk.log.next_serial();
    names_.add(disk.log, 0, disk.log.base(), step.id, level + 1);
  }
  story_.image = image;
  const Tree* before = step.cuts.size() > 1 ? &uninterrupted : nullptr;
  findings_ = worker_->judge(recovery, cut.promises, before, in_write ? &with_write : nullptr).findings;
  tell_recovery(told, findings_, recovery, notes, before);
  story_.steps.push_back(std::move(told));
  before_calls_ = fmt::format("the recovery in step {}", step.id);
  Media media{MediaState(image, serial)};
  if (recovery.alive) media.redo(recovery.log);
  if (recovery.alive)
    names_.add(media.state().log, 0, media.state().log.base(), step.id,
               static_cast<uint32_t>(step.cuts.size()));
  worker_->put_comeback(recovery, media.state(), next);
  return true;
}

// Of an op after which the path ends.
void DiskTeller::persist_what_is_durable() {
  Machine& machine = worker_->machine();
  if (kind_.disks.is_flash())
    writes_.persist_all_but(Log());
  else
    writes_.persist_all_but(machine.settler().settle(machine.disk()).log);
}

std::string DiskTeller::fault_text() const {
  HasFaults* const faults = worker_->machine().target().has_faults();
  return faults == nullptr ? "" : faults->fault_text();
}

std::vector<std::string> DiskTeller::fault_frames() const {
  HasFaults* const faults = worker_->machine().target().has_faults();
  return faults == nullptr ? std::vector<std::string>() : faults->fault_frames();
}

std::string DiskTeller::stale_text(const Tree& tree) const {
  if (worker_->plan().setup.cuts.device.fresh == FreshContent::kZeros) return {};
  constexpr size_t kMost = 1 << 20;  // bytes of a file that are looked at
  std::vector<std::byte> bytes;
  for (uint32_t id = 0; id < tree.node_limit(); ++id) {
    if (!tree.has_node(NodeId{id}) || tree.node(NodeId{id}).type != FileType::kFile) continue;
    const FileData& data = tree.node(NodeId{id}).data;
    bytes.resize(std::min<uint64_t>(data.size(), kMost));
    (void)data.read(0, bytes);
    if (const auto block = find_garbage(bytes))
      return fmt::format("; {} holds bytes that were on the disk before it was formatted, of block {}",
                         path_of(tree, tree.birth(NodeId{id})), *block);
  }
  return {};
}

void DiskTeller::tell_op(const Op& op, const Step& named) {
  const bool cut = !named.cuts.empty();
  Machine& machine = worker_->machine();
  const Episode& episode = machine.episode();
  StoryStep step;
  step.kind = op.kind == OpKind::kRead ? StoryStep::Kind::kVerify : StoryStep::Kind::kOp;
  step.step = named.id;
  step.op = to_text(op);
  step.task = process_of(op, worker_->plan().bounds.variety.processes);
  step.text =
      cut || episode.is_dead() ? "does not return" : fmt::format("answers {}", answer_of(episode.answer));
  if (episode.failed)
    step.text += episode.failure.kind == InjectedFailure::Kind::kAllocation
                     ? fmt::format("; allocation {} fails", episode.failure.nth)
                     : fmt::format("; access {} to the disk fails", episode.failure.nth);
  const size_t promises = cut ? named.cuts[0].promises : SIZE_MAX;
  const Stable stable = episode.is_dead()                  ? Stable::kNothing
                        : promises > episode.words.count() ? episode.words.said()
                                                           : episode.words.by(promises);
  if (stable != Stable::kNothing)
    step.text +=
        fmt::format("; says that {} stable", stable == Stable::kThisCallToo ? "it is" : "all before it is");
  tell_writes(step, machine.disk().log, episode.events_before, worker_->from().disk.current);
  if (const Recording* recording = worker_->plan().setup.recording.get()) {
    step.text = recording->describe(op);
    writes_.label(step.writes, recording->names(played_, op.offset));
    played_ = op.offset;
  }
  const FindingBits findings = findings_;
  const OpResult& expected = worker_->reference().expected();
  const bool answered_wrong = episode.answer != expected;
  for (const FaultText& fault : kFaultTexts) {
    if (!found(findings, fault.kind)) continue;
    // Where the walk after the op is known from elsewhere it is carried out once more.
    if (fault_text().empty()) (void)machine.walk_again();
    step.observed.push_back({fault.kind, fault_text(), fault_frames()});
    step.expected.emplace_back(fault.expected);
  }
  const bool wrong_errno = found(findings, FindingKind::kWrongErrno);
  if (wrong_errno || (found(findings, FindingKind::kHiddenError) && answered_wrong)) {
    const bool other_demanded = op.demand != 0 && episode.answer == expected;
    const bool same_answer = answer_of(episode.answer) == answer_of(expected) && !other_demanded;
    step.observed.push_back({wrong_errno ? FindingKind::kWrongErrno : FindingKind::kHiddenError,
                             same_answer ? "what it read is not what was written"
                                         : fmt::format("it answers {}", answer_of(episode.answer))});
    step.expected.push_back(same_answer      ? "the data that was written there"
                            : other_demanded ? fmt::format("it answers {}", errno_text(op.demanded()))
                                             : fmt::format("it answers {}", answer_of(expected)));
  }
  for (const FindingKind kind :
       {FindingKind::kWrongEffect, FindingKind::kFailedChange, FindingKind::kHiddenError}) {
    if (!found(findings, kind) || (kind == FindingKind::kHiddenError && answered_wrong)) continue;
    const Walk walk = machine.walk_again();
    step.observed.push_back({kind, walk.error != 0
                                       ? error_text(walk)
                                       : first_difference(walk.tree, worker_->reference().after().now()) +
                                             stale_text(walk.tree)});
    step.expected.push_back(kind == FindingKind::kFailedChange
                                ? "the tree as it was: the op has failed"
                                : "the tree that the reference has after this op");
  }
  story_.steps.push_back(std::move(step));
}

// The repair of the damaged disk that the search starts with.
void DiskTeller::tell_repair(const Step& named, const Op& op) {
  Machine& machine = worker_->machine();
  const Recovery repaired = machine.repaired();
  const FindingBits findings = findings_;
  StoryStep step;
  step.step = named.id;
  step.op = to_text(op);
  step.text = "of the damaged disk, and mount";
  if (repaired.alive) {
    tell_writes(step, machine.disk().log, 0, worker_->from().disk.durable);
    persist_what_is_durable();
  }
  const RecoveryNotes notes = machine.recoverer().notes_of_repair(worker_->from().disk.durable);
  tell_recovery(step, findings, repaired, notes, nullptr);
  story_.steps.push_back(std::move(step));
}

// The events of an op or a recovery, before which the disks held `before`.
void DiskTeller::tell_writes(StoryStep& step, const Log& log, size_t from, const Image& before) {
  log.events(events_);
  for (size_t i = from; i < events_.size(); ++i) {
    if (events_[i]->kind != EventKind::kStray) continue;
    StrayText stray = text_of_stray(*events_[i], worker_->plan().blank.geometry());
    step.observed.push_back({stray.kind, std::move(stray.observed)});
    step.expected.emplace_back(stray.expected);
  }
  step.writes = writes_.add(log, from, step.op, before);
}

// The calls of a trial of use, up to the one that failed, or in which the target died.
void DiskTeller::tell_trial(StoryStep& step, const TrialNotes& trial, bool died) {
  uint32_t number = 1;
  for (const TrialNotes::Call& call : trial.calls) {
    const bool answered = !died || &call != &trial.calls.back();
    step.trial.push_back({call.call, answered ? call.answer : ""});
    step.trial.back().writes = writes_.describe(trial.log, call.begin, call.end, call.disk, number);
    number += static_cast<uint32_t>(step.trial.back().writes.size());
  }
}

std::string DiskTeller::history_of_block(const Problem& problem, const ProblemKind& kind) {
  if (kind.block < 0) return {};
  return writes_.history_of(
      BlockAddress(static_cast<uint64_t>(problem.context[static_cast<size_t>(kind.block)])));
}

std::string DiskTeller::broken_promise(const Tree& tree) const {
  const auto broken = worker_->reference().at_point().broken_promise(tree);
  if (!broken) return {};
  const std::string& who =
      broken->call > 0 && broken->call <= calls_.size() ? calls_[broken->call - 1] : before_calls_;
  return fmt::format("what {} promised, {}; after the power cut {}", who, broken->promised,
                     broken->came_back);
}

void DiskTeller::tell_recovery(StoryStep& step, FindingBits findings, const Recovery& recovery,
                               const RecoveryNotes& notes, const Tree* uninterrupted) {
  const bool damaged = worker_->from_damaged();
  const bool alone = worker_->plan().setup.recovery.mount_alone && !damaged;
  const std::span<const ProblemKind> kinds = kind_.words.problems;
  const auto observe = [&](FindingKind kind, std::string text, std::string expected) {
    step.observed.push_back({kind, std::move(text)});
    if (!expected.empty()) step.expected.push_back(std::move(expected));
  };
  std::string repaired, why_not_mounted;
  for (const RepairReport* report : {&notes.repair, &notes.check}) {
    for (const Problem& problem : report->problems) {
      if (report == &notes.check && std::find(notes.repair.problems.begin(), notes.repair.problems.end(),
                                              problem) != notes.repair.problems.end())
        continue;  // told
      const std::string text = problem_text(worker_->machine().target(), problem, kinds);
      const auto named = find_kind(kinds[problem.kind].code);
      // Damage from before the search is a finding only if it stays.
      const bool expected = damaged && problem.repaired;
      if (named && named->name == kinds[problem.kind].name && !expected)
        observe(named->kind,
                text.substr(text.find(": ") + 2) + history_of_block(problem, kinds[problem.kind]),
                "");  // its code and name are told anyway
      else if (!problem.repaired && alone && recovery.mount_failed)
        why_not_mounted += "; its check finds: " + text;
      else if (!problem.repaired)
        observe(FindingKind::kNotClean, text, "");
      else
        repaired += fmt::format("{}{}", repaired.empty() ? "; repaired: " : ", ", text);
    }
  }
  step.text += repaired;
  for (const FaultText& fault : kFaultTexts)
    if (found(findings, fault.kind)) {
      observe(fault.kind, notes.fault, fault.expected);
      step.observed.back().where = notes.fault_frames;
    }
  for (const RepairReport* report : {&notes.repair, &notes.check})
    if (report->error != 0 && found(findings, FindingKind::kNotClean))
      observe(FindingKind::kNotClean, fmt::format("its own check answers {}", errno_text(report->error)), "");
  if (found(findings, FindingKind::kNotClean))
    step.expected.emplace_back(alone ? "its own check is clean after the mount, which recovers alone"
                                     : "its own check is clean once it has repaired");
  if (found(findings, FindingKind::kNotMountable))
    observe(FindingKind::kNotMountable,
            fmt::format("mount answers {}{}", errno_text(notes.mount_error), why_not_mounted), "it mounts");
  if (found(findings, FindingKind::kNotWalkable))
    observe(FindingKind::kNotWalkable, error_text(notes.walk), "everything can be read");
  if (found(findings, FindingKind::kNotAllowed) && damaged)
    observe(FindingKind::kNotAllowed, first_difference(recovery.tree, worker_->reference().at_point().now()),
            "all that was there and is not damaged");
  else if (found(findings, FindingKind::kNotAllowed))
    observe(FindingKind::kNotAllowed,
            worker_->reference().at_point().why_not(recovery.tree, past_) + stale_text(recovery.tree),
            fmt::format("what the contract '{}' allows", contract_name(kind_.claims.contract)));
  const bool told = !found(findings, FindingKind::kNotAllowed) || damaged;
  if (const std::string broken = told ? "" : broken_promise(recovery.tree); !broken.empty())
    step.expected.push_back(broken);
  if (found(findings, FindingKind::kNotRepeatable))
    observe(FindingKind::kNotRepeatable, first_difference(recovery.tree, *uninterrupted),
            "what recovery brings back when it is not interrupted");
  if (found(findings, FindingKind::kTwoOutcomes))
    observe(FindingKind::kTwoOutcomes,
            fmt::format("{}: {}",
                        notes.other_mode ? "after its check in the cautious mode"
                        : alone          ? "with its check"
                                         : "without its check",
                        notes.other_way.error != 0 ? errno_text(notes.other_way.error)
                                                   : first_difference(notes.other_way.tree, recovery.tree)),
            alone ? "what the mount alone brings back" : "what the check and the mount bring back");
  if (found(findings, FindingKind::kNotUsable))
    observe(FindingKind::kNotUsable, notes.trial.why, "it can be used like a new one");
  if (!notes.trial.why.empty()) tell_trial(step, notes.trial, is_dead(recovery.faults));
  // The first access of each kind.
  std::set<FindingKind> told_strays;
  for (const Event* event : notes.log.events(events_)) {
    if (event->kind != EventKind::kStray) continue;
    const StrayText stray = text_of_stray(*event, worker_->plan().blank.geometry());
    if (!found(findings, stray.kind) || !told_strays.insert(stray.kind).second) continue;
    observe(stray.kind, fmt::format("{} {}", notes.strayed, stray.observed), stray.expected);
  }
}

}  // namespace sisyfs
