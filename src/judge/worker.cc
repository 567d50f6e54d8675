#include "judge/worker.h"

#include <fmt/format.h>

#include <utility>

#include "base/mutant.h"
#include "disk/wear.h"
#include "machine/marks.h"

namespace sisyfs {
namespace {

Workload workload_of(const Bounds& bounds) {
  Result<Workload> workload = Workload::make(bounds);
  SISYFS_ASSERT(workload, "the bounds were accepted before");
  return *std::move(workload);
}

// Whether an op is one on the whole system.
bool is_system_op(OpKind kind) {
  static constexpr OpSet kSystemOps(OpKind::kSync, OpKind::kRemount, OpKind::kSnapshot, OpKind::kRestore,
                                    OpKind::kSyncfs, OpKind::kCommit);
  return kSystemOps.has(kind);
}

// What dedup by shape remembers of an op.
uint8_t letter_of(const Op& op, const Tree& tree) {
  const auto letter = static_cast<uint8_t>(static_cast<unsigned>(op.kind) + 1);
  static constexpr OpSet kTold(OpKind::kFsync, OpKind::kRename, OpKind::kExchange, OpKind::kRenameNew);
  if (!kTold.has(op.kind)) return letter;
  Stat stat;
  const bool directory = tree.stat(op.path, &stat) == 0 && stat.type == FileType::kDirectory;
  return directory ? letter | DiskSystemState::kOnDirectory : letter;
}

// The end of an op on one machine.
struct MachineOpEnd : OpEnd {
  MachineOpEnd(std::span<const Episode* const> all, Machine& m) : OpEnd(all, m.disk()), machine(m) {}
  const ReadBack& read_back() const override { return machine.read_back(); }
  Walk walk_again() const override { return machine.walk_again(); }
  Machine& machine;
};

KindTable kinds_of(const DiskSetup& setup, const CheckRules& rules, const MakeJudges& further) {
  std::vector<FindingKind> kinds;
  const auto add = [&](const Judge& judge) {
    for (const FindingKind kind : judge.may_find()) kinds.push_back(kind);
  };
  add(ReferenceJudge(setup));
  add(CheckJudge(setup, rules));
  add(AccessJudge(setup.kind));
  if (further != nullptr)
    for (const auto& judge : further()) add(*judge);
  const size_t others = KindTable(kinds).kinds().size() - 1;
  return {std::move(kinds), FindingKind::kWrongErrno, ReferenceJudge::wrong_answers(setup.kind, 64 - others)};
}

}  // namespace

Result<CheckPlan> CheckPlan::make(DiskSetup setup, MakeJudges further) {
  // A target without a disk gets the smallest one, which it does not use, and no power cuts.
  Geometry geometry = setup.kind.disks;
  if (!setup.kind.has_disk()) geometry.block_count = BlockCount(1);
  setup.cuts.enabled = setup.cuts.enabled && setup.kind.has_disk();
  if (const Status fits = setup.cuts.device.check(geometry); !fits) return fits.error();
  if (setup.cuts.lazy && setup.cuts.device.scattered)
    return bad_input(
        "crash=lazy cannot be combined with a device that scatters writes. It is not needed there: the "
        "device "
        "keeps order, so there are few crash states. Use crash=subsets");
  if (setup.cuts.persisted && setup.cuts.nesting != 0)
    return bad_input(
        "crash=persisted cuts the power only right after a call of the workload, so nesting needs another "
        "value "
        "of crash");
  Bounds bounds = bounds_for(setup.kind, setup.bounds);
  if (const Status fits = check_start_image(setup.start.image, setup.kind, bounds); !fits)
    return fits.error();
  if (setup.start.image != StartImage::kNew && setup.start.unmounted)
    return bad_input("first_mount=on begins on a new disk, and start has another one");
  bounds.variety.ballast |= setup.start.image != StartImage::kNew;
  if (const Result<Workload> workload = Workload::make(bounds); !workload) return workload.error();
  const CheckRules rules = check_rules(setup);
  KindTable kinds = kinds_of(setup, rules, further);
  Image blank = with_bad_units(fresh_image(geometry, setup.cuts.device.fresh), setup.failures.bad_units);
  return CheckPlan{std::move(setup), std::move(bounds), std::move(blank), rules,
                   std::move(kinds), std::move(further)};
}

Worker::Worker(const CheckPlan& plan)
    : plan_(plan),
      setup_(plan.setup),
      workload_(workload_of(plan.bounds)),
      machine_(plan.setup, plan.bounds, plan.rules, plan.blank),
      reference_(plan.setup),
      check_(plan.setup, plan.rules),
      access_(plan.setup.kind),
      crash_prints_(plan.setup.memo_bits) {
  if (plan.further != nullptr) further_ = plan.further();
}

int Worker::put_initial(DiskSystemState& to) {
  Tree tree;
  if (const int error = machine_.start(&tree)) return error;
  to.damaged = setup_.start.damage != nullptr;
  to.unmounted = setup_.start.unmounted;
  to.over = false;
  to.memory = machine_.memory();
  to.disk = machine_.settler().settle(machine_.disk());
  to.saved_tree.reset();
  to.expectation = reference_.expect(tree);
  to.values.clear();
  for (const auto& judge : further_) to.values.push_back(judge->initial());
  to.system_ops = to.failures = to.script_at = 0;
  to.last_ops = 0;
  to.shape = tree.shape();
  set_known(to);
  set_print(machine_.settler().print_of(to.disk), to);
  return 0;
}

void Worker::begin(const DiskSystemState& from, StopSignal stop) {
  stop_ = stop;
  from_ = &from;
  places_.clear();
  if (from.damaged)
    ops_.assign(1, {Op::of(OpKind::kFsck)});
  else if (from.unmounted)
    ops_.assign(1, {Op::of(OpKind::kRemount)});
  else if (setup_.script != nullptr)
    list_script(from);
  else if (setup_.ace != nullptr)
    list_ace(from);
  else
    workload_.from(from.expectation.now(), &ops_);
  if (from.system_ops >= setup_.max_system_ops)
    std::erase_if(ops_, [](const Candidate& c) { return is_system_op(c.op.kind); });
  if (!from.saved_tree && setup_.script == nullptr)
    std::erase_if(ops_, [](const Candidate& c) { return c.op.kind == OpKind::kRestore; });
  seen_points_.clear();
  seen_crashes_.clear();
  crash_.at_point = false;
  machine_.cuts().clear_counts();
  machine_.begin(from.memory, from.disk, from.unmounted);
  reference_.begin(from.expectation, from.saved_tree);
  for (size_t i = 0; i < further_.size(); ++i) further_[i]->begin(from.values[i]);
}

// A restore without a snapshot ends the path.
void Worker::list_script(const DiskSystemState& from) {
  ops_.clear();
  const uint32_t cut = from.script_at & DiskSystemState::kAfterCut;
  const uint32_t position = from.script_at - cut;
  setup_.script->each_from(position, [&](const Script::Line& line, const Op& op, uint32_t next) {
    if (op.kind == OpKind::kRestore && !from.saved_tree) return;
    Tree after = from.expectation.now();
    ops_.push_back({op, sisyfs::apply(op, after).error});
    if (cut != 0) ops_.back().op.demand = 0;
    places_.push_back({next | cut, setup_.script->may_cut(line), line.after});
  });
}

void Worker::list_ace(const DiskSystemState& from) {
  ops_.clear();
  setup_.ace->from(from.script_at, from.expectation.now(), &ace_next_);
  for (const AceWorkload::Next& next : ace_next_) {
    ops_.push_back({next.op});
    places_.push_back({next.position, next.may_cut});
  }
}

void Worker::begin_op(const Op& op) {
  op_.place = {.next = from_->script_at, .may_cut = true, .cut_after = false};
  op_.position = 0;
  op_.kind = op.kind;
  op_.letter = letter_of(op, from_->expectation.now());
  crash_.is_cut = false;
}

void Worker::run(uint32_t number) {
  const Op& op = ops_[number].op;
  begin_op(op);
  if (number < places_.size()) op_.place = places_[number];
  crash_.move = op_.end = {.op = number};
  machine_.ways().begin_op(from_->failures < setup_.failures.most);
  (void)run_this_way(op);
  if (ops_.size() > setup_.limits.ops && number + 1 == setup_.limits.ops) op_.outcome.marks |= kLeftOut;
}

bool Worker::run(const DiskSystemState& from, const Op& op, const InjectedFailure& failure) {
  begin(from);
  begin_op(op);
  machine_.ways().begin_op(failure);
  return run_this_way(op);
}

bool Worker::run_again() {
  if (from_->damaged) return false;
  while (op_.position < setup_.limits.positions && machine_.ways().next())
    if (run_this_way(ops_[crash_.move.op].op)) return true;
  return false;
}

bool Worker::run_this_way(const Op& op) {
  op_.outcome = {};
  op_.over = crash_.at_point = false;
  if (from_->damaged) {
    run_repair();
    op_.end.position = op_.position++;
    return true;
  }
  if (!machine_.perform(op)) return false;
  judge_op();
  op_.outcome.new_edges = machine_.take_new_edges();
  op_.end.position = op_.position++;
  // There may be crash points and other ways that have no number.
  if (op_.position == setup_.limits.positions) op_.outcome.marks |= kLeftOut;
  return true;
}

void Worker::judge_op() {
  const Episode& episode = machine_.episode();
  const Episode* const episodes[] = {&episode};
  const MachineOpEnd end(episodes, machine_);
  Opinion opinion{&plan_.kinds};
  for (const auto& judge : further_) {
    if (!judge->wants_events()) continue;
    end.disk.log.events(events_);
    for (size_t i = episode.events_before; i < events_.size(); ++i) judge->saw(*events_[i], opinion);
  }
  reference_.op_ended(end, opinion);
  access_.op_ended(end, opinion);
  for (const auto& judge : further_) judge->op_ended(end, opinion);
  op_.outcome.findings = opinion.findings;
  op_.outcome.marks = episode.marks | opinion.marks;
  op_.over = opinion.over;
  if (episode.is_dead()) return;
  if (machine_.ways().has_undecided() && machine_.ways().undecided().decided())
    op_.outcome.marks |= kUndecidedRead;
  machine_.end_op();
  if (setup_.cuts.enabled && (!op_.over || episode.is_gone())) machine_.restart_cuts();
}

// The repair of the damaged disk that the search starts with, judged as a recovery. The power does not go in
// it.
void Worker::run_repair() {
  op_.letter = static_cast<uint8_t>(static_cast<unsigned>(OpKind::kFsck) + 1);
  machine_.perform_repair(from_->disk);
  const Recovery& repaired = machine_.repaired();
  const Recovery* const recoveries[] = {&repaired};
  const Opinion opinion = opinion_of({.recoveries = recoveries, .damaged = true});
  op_.outcome = {opinion.findings, opinion.marks | repaired.marks, repaired.work};
  op_.over = opinion.findings != 0 || !repaired.alive;
}

Opinion Worker::opinion_of(const Comeback& back) {
  Opinion opinion{&plan_.kinds};
  reference_.came_back(back, opinion);
  // Of a sound recovery these two say nothing, except that a power cut in recovery made a difference.
  if (!back.recoveries[0]->sound || back.uninterrupted != nullptr) {
    check_.came_back(back, opinion);
    access_.came_back(back, opinion);
  }
  for (const auto& judge : further_) judge->came_back(back, opinion);
  return opinion;
}

bool Worker::next_point() {
  crash_.at_point = false;
  if (!setup_.cuts.enabled || !op_.place.may_cut || (op_.over && op_.outcome.findings != 0) || from_->damaged)
    return false;
  PowerCuts& cuts = machine_.cuts();
  while (const CrashPoint* point = cuts.next_point()) {
    const uint32_t position = op_.position++;
    if (position >= setup_.limits.positions) {
      cuts.leave_point();
      continue;
    }
    if (op_.place.cut_after && point->promises == 0) continue;
    reference_.begin_point(point->promises);
    const Digest what = digest_at(1, point->epoch.digest()) + digest_at(2, reference_.point_digest());
    // Only an outcome can say that there may be points without a number. So the last one with a number is
    // tried even if it was seen.
    if (!seen_points_.insert(what) && position + 1 < setup_.limits.positions) continue;
    crash_.move.position = position;
    crash_.number = 0;
    cuts.begin_point();
    return crash_.at_point = true;
  }
  return false;
}

bool Worker::next_crash() {
  while (!stopped() && (crash_.at_point || next_point())) {
    if (!next_state()) {
      crash_.at_point = false;
      continue;
    }
    judge_crash();
    // Many power cuts leave the same disk. It is reported once, unless more is seen.
    const uint64_t seen = crash_.outcome.findings * 0x9e3779b97f4a7c15u + crash_.outcome.marks;
    if (!seen_crashes_.insert(digest_at(seen, crash_digest()))) continue;
    crash_.outcome.new_edges = machine_.take_new_edges();
    return true;
  }
  return false;
}

bool Worker::next_state() {
  if (crash_.number >= setup_.limits.outcomes) {
    machine_.cuts().leave_rest();
    return false;
  }
  if (!machine_.cuts().next()) return false;
  crash_.move.state = crash_.number++;
  return true;
}

const Outcome& Worker::judge(const Recovery& recovery, size_t promises, const Tree* uninterrupted,
                             const Tree* with_write) {
  reference_.begin_point(promises);
  const Recovery* const recoveries[] = {&recovery};
  const Opinion opinion = opinion_of({.recoveries = recoveries,
                                      .promises = promises,
                                      .uninterrupted = uninterrupted,
                                      .with_write = with_write});
  crash_.outcome = {opinion.findings, opinion.marks | recovery.marks, recovery.work};
  crash_.over = opinion.over || !recovery.alive || from_->system_ops >= setup_.max_system_ops;
  return crash_.outcome;
}

void Worker::judge_crash() {
  PowerCuts& cuts = machine_.cuts();
  const Recovery& recovery = cuts.recovered();
  const Recovery* const recoveries[] = {&recovery};
  const Opinion opinion = opinion_of({.recoveries = recoveries,
                                      .promises = cuts.promises(),
                                      .uninterrupted = cuts.level() == 0 ? nullptr : &cuts.tree_before(),
                                      .with_write = cuts.tree_with_write()});
  crash_.outcome = {opinion.findings, opinion.marks | recovery.marks, recovery.work};
  crash_.over = opinion.over || !recovery.alive || from_->system_ops >= setup_.max_system_ops;
  if (cuts.level() != 0) crash_.outcome.marks |= kCutInRecovery;
  if (cuts.lost_anything()) crash_.outcome.marks |= kPowerCutInOp;
  // The last outcome with a number may not have been the last one.
  if (cuts.cut_short() || crash_.number == setup_.limits.outcomes || op_.position == setup_.limits.positions)
    crash_.outcome.marks |= kLeftOut;
}

bool Worker::go(const DiskSystemState& from, const DiskMove& move, StopSignal stop) {
  // A path that is over has no state to begin from. A forged checkpoint may ask for one.
  crash_.is_cut = false;
  if (from.over) return false;
  begin(from, stop);
  if (move.op >= ops_.size()) return false;
  run(move.op);
  do {
    if (op_.end.position == move.position) return true;
    while (next_point()) {
      if (crash_.move.position != move.position) continue;
      do {
        if (stopped() || !next_state()) return false;
      } while (crash_.move.state != move.state);
      judge_crash();
      return crash_.is_cut = true;
    }
  } while (!stopped() && run_again());
  return false;
}

bool Worker::follow(const DiskSystemState& from, const DiskMove& move, DiskSystemState& to, StopSignal stop) {
  if (!go(from, move, stop)) return false;
  crash_.is_cut ? put_crash(to) : put_end(to);
  return true;
}

// A crash state that was built is known by its image. Others are known by what they lead to: memory, tree,
// and the disk as the power cut left it with the events of recovery.
Digest Worker::crash_digest() {
  PowerCuts& cuts = machine_.cuts();
  if (const CrashState* state = cuts.built()) return state->digest();
  const Recovery& recovered = cuts.recovered();
  if (!recovered.alive) return Digest{cuts.level(), crash_.outcome.findings};
  return digest_at(1, recovered.memory.digest()) + digest_at(2, cuts.start_digest()) +
         digest_at(3, recovered.tree.digest()) + digest_at(4, recovered.log.digest());
}

// What does not depend on the disk. False if the path is over.
bool Worker::begin_comeback(const Recovery& recovery, DiskSystemState& to) const {
  to.damaged = to.unmounted = false;
  to.over = crash_.over;
  to.print = kOverPrint;
  if (crash_.over) return false;
  to.system_ops = from_->system_ops + 1;
  to.failures = from_->failures + (machine_.episode().failed ? 1 : 0);
  to.script_at = op_.place.next;
  if (setup_.script != nullptr && setup_.script->demands()) to.script_at |= DiskSystemState::kAfterCut;
  if (setup_.ace != nullptr) to.script_at = AceWorkload::kEnd;
  // What would have been written after the power cut is not known.
  if (setup_.recording != nullptr) to.script_at = static_cast<uint32_t>(setup_.script->lines().size());
  to.last_ops = from_->last_ops << 8 | DiskSystemState::kCut | op_.letter;
  to.shape = recovery.tree.shape();
  return true;
}

void Worker::expect_comeback(const Recovery& recovery, DiskSystemState& to) const {
  to.expectation = reference_.expect(recovery.tree);
  to.saved_tree.reset();
  to.values.clear();
  for (const auto& judge : further_) to.values.push_back(judge->after_comeback());
  set_known(to);
}

void Worker::end_comeback(const Recovery& recovery, const Digest& disk_print, DiskSystemState& to) const {
  to.memory = recovery.memory;
  expect_comeback(recovery, to);
  set_print(disk_print, to);
}

void Worker::put_crash(DiskSystemState& to, Parts parts) {
  const Recovery& recovered = machine_.cuts().recovered();
  if (!begin_comeback(recovered, to) || parts == Parts::kShape) return;
  if (parts == Parts::kTree) return expect_comeback(recovered, to);
  const CrashState* built = machine_.cuts().built();
  const Digest* known = built == nullptr ? nullptr : crash_prints_.find(built->digest());
  Digest disk_print;
  if (known == nullptr || parts == Parts::kAll) {
    to.disk = machine_.recovered_disk();
    disk_print = machine_.settler().print_of(to.disk);
    if (built != nullptr) crash_prints_.put(built->digest()) = disk_print;
  } else {
    disk_print = *known;
  }
  end_comeback(recovered, disk_print, to);
}

void Worker::put_comeback(const Recovery& recovery, const MediaState& disk, DiskSystemState& to) {
  if (!begin_comeback(recovery, to)) return;
  to.disk = machine_.settler().settle(disk);
  end_comeback(recovery, machine_.settler().print_of(to.disk), to);
}

void Worker::put_end(DiskSystemState& to, Parts parts) {
  to.damaged = to.unmounted = false;
  to.over = op_.over;
  to.print = kOverPrint;
  if (op_.over) return;
  const Episode& episode = machine_.episode();
  const bool succeeded = episode.answer.error == 0;
  to.system_ops = from_->system_ops + (is_system_op(op_.kind) ? 1 : 0);
  to.failures = from_->failures + (episode.failed ? 1 : 0);
  to.script_at = op_.place.next;
  to.last_ops = from_->last_ops << 8 | op_.letter;
  to.shape = reference_.after().now().shape();
  if (parts == Parts::kShape) return;
  to.expectation = reference_.after();
  to.saved_tree = from_->saved_tree;
  if (op_.kind == OpKind::kSnapshot && succeeded) to.saved_tree = from_->expectation.now();
  if (op_.kind == OpKind::kRestore && succeeded) to.saved_tree.reset();
  to.values.clear();
  for (const auto& judge : further_) to.values.push_back(judge->after_op());
  set_known(to);
  if (parts == Parts::kTree) return;
  to.disk = machine_.settler().settle(machine_.disk());
  to.memory = machine_.memory();
  set_print(machine_.settler().print_of(to.disk), to);
}

// Where ops on the whole system are limited, their number decides what may follow.
void Worker::set_known(DiskSystemState& state) const {
  Digest print = digest_at(3, state.expectation.digest());
  if (setup_.max_system_ops != UINT32_MAX) print += digest_at(4, Digest{0, state.system_ops});
  if (state.saved_tree) print += digest_at(5, state.saved_tree->digest());
  if (state.script_at != 0) print += digest_at(7, Digest{0, state.script_at});
  if (state.failures != 0) print += digest_at(6, Digest{0, state.failures});
  for (size_t i = 0; i < state.values.size(); ++i) print += digest_at(8 + i, state.values[i].digest());
  state.known = print;
}

void Worker::set_print(const Digest& disk, DiskSystemState& state) {
  state.print = state.known + digest_at(2, disk);
  if (!mutant(Mutant::kPrintWithoutMemory)) state.print += digest_at(1, state.memory.digest());
}

}  // namespace sisyfs
