#include "judge/disk_rig.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mutant.h"

namespace sisyfs {
namespace {

constexpr unsigned kSmall = 2;  // bits more for answers that take a few bytes

// Where all paths end that end with a broken promise.
constexpr Digest kOverPrint{0x6f766572, 1};

Workload workload_of(const Bounds& bounds) {
  Result<Workload> workload = Workload::make(bounds);
  SISYFS_ASSERT(workload, "the bounds were accepted before");
  return *std::move(workload);
}

// Whether an op may be refused for lack of space.
bool needs_space(OpKind kind) {
  static constexpr OpSet kNeedsNone(OpKind::kRead, OpKind::kReaddir, OpKind::kStat, OpKind::kUnlink,
                                    OpKind::kRmdir, OpKind::kOpen);
  return !kNeedsNone.has(kind);
}

// Whether an op is one on the whole system.
bool is_system_op(OpKind kind) {
  static constexpr OpSet kSystemOps(OpKind::kSync, OpKind::kRemount, OpKind::kSnapshot, OpKind::kRestore);
  return kSystemOps.has(kind);
}

// Whether an op that succeeds promises that everything is durable.
bool promises_all(const TargetKind& target, OpKind kind) {
  if (target.claims.durable_ops || !target.has_disk()) return true;
  if (OpSet(OpKind::kFsync, OpKind::kFdatasync, OpKind::kWriteSync).has(kind)) return target.claims.fsync_all;
  return kind == OpKind::kSync || kind == OpKind::kRemount;
}

// What dedup by shape remembers of an op.
uint8_t letter_of(const Op& op, const Tree& tree) {
  const auto letter = static_cast<uint8_t>(static_cast<unsigned>(op.kind) + 1);
  if (op.kind != OpKind::kFsync && op.kind != OpKind::kRename) return letter;
  Stat stat;
  const bool directory = tree.stat(op.path, &stat) == 0 && stat.type == FileType::kDirectory;
  return directory ? letter | DiskSystemState::kOnDirectory : letter;
}

ContractRules rules_of(const TargetKind& kind) {
  return {.data_unit = kind.limits.write_unit,
          .fsync_names = kind.claims.fsync_names,
          .rename_both = kind.claims.rename_both};
}

uint16_t new_edges_of(Target& target) {
  CoversCode* covers = target.covers_code();
  return covers == nullptr ? uint16_t{0}
                           : static_cast<uint16_t>(std::min<uint64_t>(covers->take_new_edges(), UINT16_MAX));
}

std::unique_ptr<Target> make_target(const TargetKind& kind) {
  std::unique_ptr<Target> target = kind.make();
  SISYFS_ASSERT(target->saves_memory() != nullptr, "a search needs a target whose memory can be saved");
  return target;
}

}  // namespace

DiskRig::DiskRig(const DiskSetup& setup, const Bounds& bounds, const Image& blank)
    : setup_(setup),
      bounds_(bounds),
      target_(make_target(setup.kind)),
      kind_(setup.kind),
      saves_(*target_->saves_memory()),
      workload_(workload_of(bounds)),
      disk_(blank),
      recoverer_(setup, bounds, *target_, blank),
      during_(kind_.claims.contract, Tree(), rules_of(kind_)),
      after_(during_),
      earlier_stable_(during_),
      this_stable_(during_),
      open_(setup.device, blank),
      open_after_(open_),
      open_states_(open_),
      cuts_(setup, recoverer_, blank),
      epoch_(setup.device, blank),
      settling_(setup.device, MediaState(blank)),
      crash_prints_(setup.memo_bits),
      walks_(setup.memo_bits + kSmall),
      allowed_(setup.memo_bits) {
  disk_.set_discard(setup.device.discard);
}

int DiskRig::put_initial(DiskSystemState& to) {
  if (const int error = target_->format(disk_)) return error;
  Walk walk;
  if (const int error = prepare(&walk.tree)) return error;
  // What was written until now was on the disk long before we came.
  disk_.load(MediaState(disk_.state().current));
  if (setup_.damage == nullptr) {
    if (const int error = target_->mount(disk_)) return error;
    walk = target_->walk();
    if (walk.error != 0) return walk.error;
  }
  to.damaged = setup_.damage != nullptr;
  to.over = false;
  to.memory = saves_.save();
  to.disk = settle(disk_.state());
  to.kept.reset();
  to.expectation = Expectation(kind_.claims.contract, walk.tree, rules_of(kind_));
  to.system_ops = to.failures = 0;
  to.last_ops = 0;
  to.shape = walk.tree.shape();
  to.print = print_of(print_of(to.disk), to);
  return 0;
}

Digest shape_print(const DiskSystemState& state, uint32_t ops) {
  if (state.over) return kOverPrint;
  const uint64_t last = ops >= 8 ? state.last_ops : state.last_ops & ((uint64_t{1} << (8 * ops)) - 1);
  return digest_at(state.damaged ? 3 : 1, state.shape) + digest_at(2, Digest{state.system_ops, last});
}

void DiskRig::begin(const DiskSystemState& from) {
  from_ = &from;
  if (from.damaged)
    ops_.assign(1, {Op::of(OpKind::kFsck)});
  else
    workload_.from(from.expectation.now(), &ops_);
  if (from.system_ops >= setup_.max_system_ops)
    std::erase_if(ops_, [](const Candidate& c) { return is_system_op(c.op.kind); });
  if (!from.kept) std::erase_if(ops_, [](const Candidate& c) { return c.op.kind == OpKind::kRestore; });
  seen_points_.clear();
  seen_crashes_.clear();
  looking_ = false;
  cuts_.clear_counts();
  if (!from.disk.undecided.empty()) open_.restart(from.disk.durable, from.disk.undecided);
}

OpResult DiskRig::perform(const Op& op) {
  if (op.kind != OpKind::kRemount) return target_->apply(op);
  if (const int error = target_->unmount()) return OpResult::of(error);
  return OpResult::of(target_->mount(disk_));
}

void DiskRig::run(uint32_t number) {
  crash_move_ = end_move_ = {.op = number};
  position_ = 0;
  fail_ = 0;
  fail_memory_ = !setup_.fail_disk;
  failed_yet_ = false;
  open_states_.restart(open_);
  (void)open_states_.next();
  (void)run_this_way();
  if (ops_.size() > DiskMove::kOps && number + 1 == DiskMove::kOps) outcome_.marks |= kLeftOut;
}

bool DiskRig::run_again() {
  for (;;) {
    if (position_ >= DiskMove::kPositions || from_->damaged) return false;
    if (from_->disk.undecided.empty() || !open_states_.next()) {
      // The next access fails, as long as there was one to fail.
      if (from_->failures >= setup_.failures) return false;
      if (fail_ != 0 && !failed_yet_) {
        // After the accesses to the disk come the allocations.
        if (fail_memory_ || !setup_.fail_memory || target_->fails_allocations() == nullptr) return false;
        fail_memory_ = true;
        fail_ = 0;
      }
      if (mutant(Mutant::kFailFirstOnly) && fail_ == 1) return false;
      ++fail_;
      failed_yet_ = false;
      open_states_.restart(open_);
      (void)open_states_.next();
    }
    if (run_this_way()) return true;
  }
}

// What power cuts have left open is decided where the op reads it, unless something lies over it.
void DiskRig::watch_open() {
  if (from_->disk.undecided.empty()) return;
  reads_.restart(disk_.geometry().block_count);
  for (const Event* event : from_->disk.log.events(events_)) {
    for (uint64_t i = 0; event->changes_blocks() && i < event->count.value; ++i)
      reads_.written(event->first + BlockCount(i));
  }
  disk_.watch(&reads_, &open_states_);
}

void DiskRig::set_failure(uint32_t number) {
  if (!fail_memory_)
    disk_.fail_call(number);
  else if (FailsAllocations* allocations = target_->fails_allocations())
    allocations->fail_allocation(number);
}

bool DiskRig::memory_failed() {
  const FailsAllocations* allocations = target_->fails_allocations();
  return allocations != nullptr && allocations->allocation_failed();
}

bool DiskRig::run_this_way() {
  const Op& op = ops_[crash_move_.op].op;
  outcome_ = {};
  over_ = failed_ = looking_ = false;
  if (from_->damaged) {
    run_repair();
    end_move_.position = position_++;
    return true;
  }
  disk_.load(from_->disk);
  events_before_ = disk_.state().log.size();
  saves_.load(from_->memory, disk_);
  Tree tree = from_->expectation.now();
  letter_ = letter_of(op, tree);
  expected_ = sisyfs::apply(op, tree);
  if (op.kind == OpKind::kRestore) tree = *from_->kept;
  disk_.note({BoundaryKind::kOpBegin, 0});
  (void)marks_of(*target_);
  (void)new_edges_of(*target_);
  watch_open();
  set_failure(fail_);
  result_ = perform(op);
  const bool failed = fail_memory_ ? memory_failed() : disk_.call_failed();
  set_failure(0);
  if (fail_ != 0 && !failed) {
    disk_.watch(nullptr);
    return false;
  }
  failed_ = failed;
  failed_yet_ = failed_yet_ || failed;
  outcome_.marks |= marks_of(*target_);
  if (failed) outcome_.marks |= kAccessFailed;
  disk_.note({BoundaryKind::kOpEnd, 0});
  const uint32_t faults = faults_of(*target_);
  if (found_dead(faults)) {
    judge_death(faults);
  } else {
    judge_answer(op, std::move(tree));
    judge_op();
    outcome_.findings |= faults;
  }
  outcome_.new_edges = new_edges_of(*target_);
  end_move_.position = position_++;
  // There may be looks and other ways that have no number.
  if (position_ == DiskMove::kPositions) outcome_.marks |= kLeftOut;
  return true;
}

// Whether an op may give this answer because the disk failed it.
bool DiskRig::is_refusal() const {
  if (fail_memory_) return failed_ && (result_.error == ENOMEM || result_.error == ENOBUFS);
  return failed_ && (result_.error == EIO || result_.error == EROFS);
}

void DiskRig::judge_answer(const Op& op, Tree tree) {
  const bool no_space =
      result_.error == ENOSPC && expected_.error == 0 && kind_.claims.limited_space && needs_space(op.kind);
  if (no_space) outcome_.marks |= kNoSpace;
  if (expected_.error != 0) outcome_.marks |= kRefused;
  const bool same =
      mutant(Mutant::kCompareErrnoOnly) ? result_.error == expected_.error : result_ == expected_;
  if (!no_space && !same && !is_refusal())
    outcome_.findings |= bit(failed_ ? FindingKind::kHiddenError : FindingKind::kWrongErrno);

  // A power cut during an op that fails must leave what was there, one during an op that succeeds may leave
  // what it leads to as well. So may one that the disk has failed, then and later: it may have been done and
  // is not seen. To the expectation it was done and undone.
  after_ = from_->expectation;
  during_ = from_->expectation;
  const bool may_be_done = is_refusal() && expected_.error == 0 && !mutant(Mutant::kRefusalUndone);
  words_.restart(disk_.state().log);
  if (words_.count() != 0) heed_words(tree, may_be_done);
  if (result_.error == 0 || may_be_done) {
    during_.begin_op(tree);
    after_.begin_op(std::move(tree));
    after_.end_op(0);
  }
  if (may_be_done) {
    after_.begin_op(from_->expectation.now());
    after_.end_op(0);
  }
  if (words_.said() == Stable::kThisCallToo && result_.error == 0) after_.promise_all();
  if (result_.error == 0 && promises_all(kind_, op.kind)) {
    disk_.note({BoundaryKind::kPromise, 0});
    after_.promise_all();
  } else if (result_.error == 0 && (op.kind == OpKind::kFsync || op.kind == OpKind::kFdatasync)) {
    disk_.note({BoundaryKind::kPromise, 0});
    op.kind == OpKind::kFsync ? after_.promise_file(op.path) : after_.promise_data(op.path);
  } else if (result_.error == 0 && op.kind == OpKind::kWriteSync) {
    disk_.note({BoundaryKind::kPromise, 0});
    after_.promise_write(op.path, op.offset, op.length);
  }
}

// A call that fails has done nothing: there is no more to be stable than what came before it.
void DiskRig::heed_words(const Tree& after, bool may_be_done) {
  const bool succeeds = result_.error == 0;
  after_.promise_stable(after_.calls() + (succeeds ? 1 : 0));
  earlier_stable_ = this_stable_ = after_;
  if (succeeds || may_be_done) earlier_stable_.begin_op(after);
  if (!succeeds) {
    this_stable_ = earlier_stable_;
    return;
  }
  this_stable_.begin_op(after);
  this_stable_.end_op(0);
  this_stable_.promise_all();
}

// The promise of the op itself is the last one of its log.
const Expectation& DiskRig::expectation_after(size_t promises) const {
  if (promises > words_.count()) return after_;
  if (mutant(Mutant::kDeafToWords)) return during_;
  switch (words_.by(promises)) {
    case Stable::kNothing:
      return during_;
    case Stable::kEarlierCalls:
      return earlier_stable_;
    case Stable::kThisCallToo:
      return this_stable_;
  }
  return during_;
}

void DiskRig::judge_op() {
  memory_ = saves_.save();
  // Who could not be unmounted or mounted again because the disk failed has nothing to show.
  const bool gone = is_refusal() && ops_[crash_move_.op].op.kind == OpKind::kRemount;
  if (outcome_.findings == 0 && !gone) {
    const WalkAnswer& seen = walk(memory_);
    if (seen.faults != 0)
      outcome_.findings |= seen.faults;
    else if (seen.error != 0 || seen.tree != after_.now().digest())
      outcome_.findings |= bit(wrong_effect());
  }
  const bool was_open = !from_->disk.undecided.empty();
  if (was_open) disk_.watch(nullptr);
  // Beyond what the reference knows there is nothing to hold the system against.
  over_ = outcome_.findings != 0 || gone;
  log_ = disk_.state().log;
  outcome_.findings |= findings_of(log_);
  if (over_ && !gone) return;
  if (was_open) {
    if (open_states_.decided()) outcome_.marks |= kUndecidedRead;
    open_.narrow(open_states_.known(), open_after_);
    disk_.load(MediaState(open_after_.durable(), disk_.state().current, log_, open_after_.undecided_log()));
  }
  if (setup_.crashes) cuts_.restart(disk_.state(), events_before_);
}

// Whoever died has given no answer and left nothing behind.
void DiskRig::judge_death(uint32_t findings) {
  disk_.watch(nullptr);
  during_ = after_ = from_->expectation;
  log_ = disk_.state().log;
  outcome_.findings |= findings | findings_of(log_);
  over_ = true;
}

FindingKind DiskRig::wrong_effect() const {
  if (!failed_) return FindingKind::kWrongEffect;
  return result_.error == 0 ? FindingKind::kHiddenError : FindingKind::kFailedChange;
}

bool DiskRig::next_point() {
  if (!setup_.crashes || (over_ && outcome_.findings != 0) || from_->damaged) return false;
  while (const CrashPoint* point = cuts_.next_point()) {
    const uint32_t position = position_++;
    if (position >= DiskMove::kPositions) {
      cuts_.leave_point();
      continue;
    }
    promises_before_cut_ = point->promises;
    crash_expectation_ = &expectation_after(point->promises);
    crash_expectation_digest_ = crash_expectation_->digest();
    const Digest what = digest_at(1, point->epoch.digest()) + digest_at(2, crash_expectation_digest_);
    // Only an outcome can say that there may be looks without a number, so the last one that has one counts.
    if (!seen_points_.insert(what) && position + 1 < DiskMove::kPositions) continue;
    crash_move_.position = position;
    state_number_ = 0;
    cuts_.begin_point();
    return looking_ = true;
  }
  return looking_ = false;
}

bool DiskRig::next_crash() {
  while (looking_ || next_point()) {
    if (!next_state()) {
      looking_ = false;
      continue;
    }
    judge_crash();
    // The same disk may come from many cuts; it is told once, unless more is seen.
    const uint64_t seen = uint64_t{crash_outcome_.findings} << 32 | crash_outcome_.marks;
    if (!seen_crashes_.insert(digest_at(seen, crash_digest()))) continue;
    crash_outcome_.new_edges = new_edges_of(*target_);
    return true;
  }
  return false;
}

bool DiskRig::next_state() {
  if (state_number_ >= DiskMove::kStates) {
    cuts_.leave_rest();
    return false;
  }
  if (!cuts_.next()) return false;
  crash_move_.state = state_number_++;
  return true;
}

void DiskRig::judge_crash() {
  const Recovery& recovered = cuts_.recovered();
  crash_outcome_ = {recovered.findings, recovered.marks, recovered.work};
  crash_over_ = !recovered.alive || from_->system_ops >= setup_.max_system_ops;
  if (recovered.alive && !is_allowed(recovered.tree)) {
    crash_outcome_.findings |= bit(FindingKind::kNotAllowed);
    crash_over_ = true;
  }
  if (cuts_.level() != 0) {
    crash_outcome_.marks |= kCutInRecovery;
    if (recovered.alive && recovered.tree != cuts_.tree_before())
      crash_outcome_.findings |= bit(FindingKind::kNotRepeatable);
  }
  if (cuts_.lost_anything()) crash_outcome_.marks |= kPowerCutInOp;
  // The last number may not have been the last state.
  if (cuts_.cut_short() || state_number_ == DiskMove::kStates || position_ == DiskMove::kPositions)
    crash_outcome_.marks |= kLeftOut;
}

bool DiskRig::go(const DiskSystemState& from, const DiskMove& move) {
  begin(from);
  is_cut_ = false;
  if (from.over || move.op >= ops_.size()) return false;
  run(move.op);
  do {
    if (end_move_.position == move.position) return true;
    while (next_point()) {
      if (crash_move_.position != move.position) continue;
      do {
        if (!next_state()) return false;
      } while (crash_move_.state != move.state);
      judge_crash();
      return is_cut_ = true;
    }
  } while (run_again());
  return false;
}

bool DiskRig::follow(const DiskSystemState& from, const DiskMove& move, DiskSystemState& to) {
  if (!go(from, move)) return false;
  is_cut_ ? put_crash(to) : put_end(to);
  return true;
}

bool DiskRig::is_allowed(const Tree& tree) {
  const Digest key = digest_at(1, tree.digest()) + crash_expectation_digest_;
  if (const bool* known = allowed_.find(key)) return *known;
  return allowed_.put(key) = crash_expectation_->crash_allowed(tree);
}

RecoveryNotes DiskRig::notes() {
  return from_->damaged ? recoverer_.notes_of_repair(from_->disk.durable) : cuts_.notes();
}

MediaState DiskRig::crash_disk() {
  disk_.load(cuts_.start());
  disk_.redo(cuts_.recovered().log);
  return settle(disk_.state());
}

// A crash state that was built is known by its image, and others by what they lead to: memory, tree, and the
// disk as it was left with what recovery did to it.
Digest DiskRig::crash_digest() {
  if (const CrashState* state = cuts_.built()) return state->digest();
  const Recovery& recovered = cuts_.recovered();
  if (!recovered.alive) return Digest{cuts_.level(), recovered.findings};
  return digest_at(1, recovered.memory.digest()) + digest_at(2, cuts_.start_digest()) +
         digest_at(3, recovered.tree.digest()) + digest_at(4, recovered.log.digest());
}

void DiskRig::put_crash(DiskSystemState& to, Parts parts) {
  to.damaged = false;
  to.over = crash_over_;
  to.print = kOverPrint;
  if (crash_over_) return;
  const Recovery& recovered = cuts_.recovered();
  to.system_ops = from_->system_ops + 1;
  to.failures = from_->failures + (failed_ ? 1 : 0);
  to.last_ops = from_->last_ops << 8 | DiskSystemState::kCut | letter_;
  to.shape = recovered.tree.shape();
  if (parts == Parts::kShape) return;
  const CrashState* built = cuts_.built();
  const Digest* known = built == nullptr ? nullptr : crash_prints_.find(built->digest());
  Digest disk_print;
  if (known == nullptr || parts == Parts::kAll) {
    to.disk = crash_disk();
    disk_print = print_of(to.disk);
    if (built != nullptr) crash_prints_.put(built->digest()) = disk_print;
  } else {
    disk_print = *known;
  }
  to.memory = recovered.memory;
  to.expectation = Expectation(kind_.claims.contract, recovered.tree, rules_of(kind_));
  to.kept.reset();
  to.print = print_of(disk_print, to);
}

void DiskRig::put_end(DiskSystemState& to, Parts parts) {
  to.damaged = false;
  to.over = over_;
  to.print = kOverPrint;
  if (over_) return;
  const OpKind kind = ops_[crash_move_.op].op.kind;
  to.system_ops = from_->system_ops + (is_system_op(kind) ? 1 : 0);
  to.failures = from_->failures + (failed_ ? 1 : 0);
  to.last_ops = from_->last_ops << 8 | letter_;
  to.shape = after_.now().shape();
  if (parts == Parts::kShape) return;
  to.disk = settle(disk_.state());
  to.memory = memory_;
  to.expectation = after_;
  to.kept = from_->kept;
  if (kind == OpKind::kSnapshot && result_.error == 0) to.kept = from_->expectation.now();
  if (kind == OpKind::kRestore && result_.error == 0) to.kept.reset();
  to.print = print_of(print_of(to.disk), to);
}

// Where ops on the whole system are limited, how many there were decides what may follow.
Digest DiskRig::print_of(const Digest& disk, const DiskSystemState& state) const {
  Digest print = digest_at(2, disk) + digest_at(3, state.expectation.digest());
  if (!mutant(Mutant::kPrintWithoutMemory)) print += digest_at(1, state.memory.digest());
  if (setup_.max_system_ops != UINT32_MAX) print += digest_at(4, Digest{0, state.system_ops});
  if (state.kept) print += digest_at(5, state.kept->digest());
  if (state.failures != 0) print += digest_at(6, Digest{0, state.failures});
  return print;
}

const DiskRig::WalkAnswer& DiskRig::walk(const Snapshot& memory) {
  const Digest key = digest_at(1, memory.digest()) + digest_at(2, disk_.state().current.digest());
  // Of a disk with open blocks the images say too little.
  const WalkAnswer* known = from_->disk.undecided.empty() ? walks_.find(key) : nullptr;
  if (known != nullptr) return *known;
  const auto strays = [&] { return disk_.state().log.strays() + disk_.state().log.misuses(); };
  const size_t before = strays();
  const Walk walk = target_->walk();
  // An access that must not be is told by the log, each time.
  WalkAnswer& out = strays() == before && from_->disk.undecided.empty() ? walks_.put(key) : strayed_walk_;
  out = {walk.error, faults_of(*target_), walk.tree.digest()};
  return out;
}

const Walk& DiskRig::walk_again() {
  walk_ = target_->walk();
  (void)faults_of(*target_);
  return walk_;
}

// Nearly always everything is durable: the device writes through, or a flush came last.
MediaState DiskRig::settle(const MediaState& state) {
  bool durable = setup_.device.cache == WriteCache::kWriteThrough;
  if (!durable) {
    state.log.events(events_);
    const auto last = std::find_if(events_.rbegin(), events_.rend(), [](const Event* event) {
      return event->changes_blocks() || event->kind == EventKind::kFlush;
    });
    durable = last == events_.rend() || (*last)->kind == EventKind::kFlush;
  }
  if (durable && state.undecided.empty()) return MediaState(state.current);
  settling_.restart(state);
  while (settling_.next() != nullptr) {
  }
  return settling_.settled();
}

Digest DiskRig::print_of(const MediaState& disk) {
  if (disk.log.empty() && disk.undecided.empty())
    return digest_at(0, disk.durable.digest());  // what an empty epoch has
  epoch_.restart(disk.durable, disk.undecided);
  // The same writes may be open behind a power cut or in doubt, and only of the latter a flush makes an end.
  const Digest open = digest_at(7, Digest{0, epoch_.frozen_pieces()});
  for (const Event* event : disk.log.events(events_)) {
    if (event->changes_blocks()) epoch_.add(*event);
  }
  return disk.undecided.empty() ? epoch_.digest() : epoch_.digest() + open;
}

}  // namespace sisyfs
