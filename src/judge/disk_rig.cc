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
bool promises_all(const Traits& traits, OpKind kind) {
  if (traits.durable_ops || !traits.has_disk()) return true;
  if (kind == OpKind::kFsync || kind == OpKind::kFdatasync) return traits.fsync_all;
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

ContractRules rules_of(const Traits& traits) {
  return {.data_unit = traits.write_unit, .fsync_names = traits.fsync_names};
}

}  // namespace

DiskRig::DiskRig(const DiskSetup& setup, const Bounds& bounds, const Image& blank)
    : setup_(setup),
      bounds_(bounds),
      target_(setup.make_target()),
      traits_(target_->traits()),
      workload_(workload_of(bounds)),
      disk_(blank),
      during_(traits_.contract, Tree(), rules_of(traits_)),
      after_(during_),
      epoch_(setup.device, blank),
      looks_(setup.device, DiskState(blank)),
      states_(epoch_),
      settling_(setup.device, DiskState(blank)),
      recoverer_(setup, bounds, *target_, blank),
      crash_prints_(setup.memo_bits),
      walks_(setup.memo_bits + kSmall),
      allowed_(setup.memo_bits) {}

int DiskRig::put_initial(DiskSystemState& to) {
  if (const int error = target_->format(disk_)) return error;
  // What format has written was on the disk long before we came.
  disk_.load(DiskState(disk_.state().current));
  if (const int error = target_->mount(disk_)) return error;
  const Walk walk = target_->walk();
  if (walk.error != 0) return walk.error;
  to.over = false;
  to.memory = target_->save();
  to.disk = settle(disk_.state());
  to.kept.reset();
  to.expectation = Expectation(traits_.contract, walk.tree, rules_of(traits_));
  to.system_ops = 0;
  to.last_ops = 0;
  to.shape = walk.tree.shape();
  to.print = print_of(to.memory.digest(), print_of(to.disk), to.expectation, to.kept, to.system_ops);
  return 0;
}

Digest shape_print(const DiskSystemState& state, uint32_t ops) {
  if (state.over) return kOverPrint;
  const uint64_t last = ops >= 8 ? state.last_ops : state.last_ops & ((uint64_t{1} << (8 * ops)) - 1);
  return digest_at(1, state.shape) + digest_at(2, Digest{state.system_ops, last});
}

void DiskRig::begin(const DiskSystemState& from) {
  from_ = &from;
  workload_.from(from.expectation.now(), &ops_);
  if (from.system_ops >= setup_.max_system_ops)
    std::erase_if(ops_, [](const Candidate& c) { return is_system_op(c.op.kind); });
  if (!from.kept) std::erase_if(ops_, [](const Candidate& c) { return c.op.kind == OpKind::kRestore; });
  seen_looks_.clear();
  seen_crashes_.clear();
  looking_ = false;
  left_out_ = {};
}

OpResult DiskRig::perform(const Op& op) {
  if (op.kind != OpKind::kRemount) return target_->apply(op);
  if (const int error = target_->unmount()) return OpResult::of(error);
  return OpResult::of(target_->mount(disk_));
}

void DiskRig::run(uint32_t number) {
  const Op& op = ops_[number].op;
  outcome_ = {};
  over_ = false;
  crash_move_ = {.op = number, .crash = true};
  look_number_ = 0;
  looking_ = false;
  if (ops_.size() > DiskMove::kOps && number + 1 == DiskMove::kOps) outcome_.marks |= kLeftOut;

  disk_.load(from_->disk);
  events_before_ = disk_.state().log.size();
  target_->load(from_->memory, disk_);
  Tree tree = from_->expectation.now();
  letter_ = letter_of(op, tree);
  expected_ = sisyfs::apply(op, tree);
  if (op.kind == OpKind::kRestore) tree = *from_->kept;
  disk_.mark({MarkKind::kOpBegin, 0});
  (void)target_->take_marks();
  result_ = perform(op);
  outcome_.marks |= marks_of(*target_);
  disk_.mark({MarkKind::kOpEnd, 0});

  const bool no_space =
      result_.error == ENOSPC && expected_.error == 0 && traits_.limited_space && needs_space(op.kind);
  if (no_space) outcome_.marks |= kNoSpace;
  if (expected_.error != 0) outcome_.marks |= kRefused;
  const bool same =
      mutant(Mutant::kCompareErrnoOnly) ? result_.error == expected_.error : result_ == expected_;
  if (!no_space && !same) outcome_.findings |= bit(FindingKind::kWrongErrno);

  // A power cut during an op that fails must leave what was there, one during an op that succeeds may leave
  // what it leads to as well.
  after_ = from_->expectation;
  during_ = from_->expectation;
  if (result_.error == 0) {
    during_.begin_op(tree);
    after_.begin_op(std::move(tree));
    after_.end_op(0);
  }
  if (result_.error == 0 && promises_all(traits_, op.kind)) {
    disk_.mark({MarkKind::kPromise, 0});
    after_.promise_all();
  } else if (result_.error == 0 && (op.kind == OpKind::kFsync || op.kind == OpKind::kFdatasync)) {
    disk_.mark({MarkKind::kPromise, 0});
    op.kind == OpKind::kFsync ? after_.promise_file(op.path) : after_.promise_data(op.path);
  }
  judge_op();
}

void DiskRig::judge_op() {
  memory_ = target_->save();
  if (outcome_.findings == 0) {
    const WalkAnswer& seen = walk(memory_);
    if (seen.error != 0 || seen.tree != after_.now().digest())
      outcome_.findings |= bit(FindingKind::kWrongEffect);
  }
  // Beyond what the reference knows there is nothing to hold the system against.
  over_ = outcome_.findings != 0;
  log_ = disk_.state().log;
  if (log_.strays() != 0) outcome_.findings |= bit(FindingKind::kOutOfRange);
  if (over_) return;
  if (setup_.crashes) looks_.restart(disk_.state(), events_before_);
}

bool DiskRig::next_look() {
  if (!setup_.crashes || over_) return false;
  while (const Look* look = looks_.next()) {
    const uint32_t number = look_number_++;
    if (number >= DiskMove::kLooks) break;
    crash_event_ = look->event;
    crash_expectation_ = look->promises == 0 ? &during_ : &after_;
    crash_expectation_digest_ = crash_expectation_->digest();
    const Digest what = digest_at(1, look->epoch.digest()) + digest_at(2, crash_expectation_digest_);
    if (!seen_looks_.insert(what)) continue;
    crash_move_.look = number;
    state_number_ = 0;
    states_.restart(look->epoch, setup_.enumeration);
    if (!states_.complete()) left_out_ += states_.cut_off();
    return looking_ = true;
  }
  return looking_ = false;
}

bool DiskRig::next_crash() {
  while (looking_ || next_look()) {
    if (!next_state()) {
      looking_ = false;
      continue;
    }
    judge_crash();
    // The same disk may come from many cuts; it is told once, unless more is seen.
    const uint64_t seen = uint64_t{crash_outcome_.findings} << 32 | crash_outcome_.marks;
    if (seen_crashes_.insert(digest_at(seen, crash_state_->digest()))) return true;
  }
  return false;
}

bool DiskRig::next_state() {
  crash_state_ = state_number_ < DiskMove::kStates ? states_.next() : nullptr;
  if (crash_state_ == nullptr) return false;
  crash_move_.state = state_number_++;
  return true;
}

void DiskRig::judge_crash() {
  recovered_ = &recoverer_.recover(*crash_state_);
  crash_outcome_ = {recovered_->findings, recovered_->marks, recovered_->work};
  crash_over_ = !recovered_->alive || from_->system_ops >= setup_.max_system_ops;
  if (recovered_->alive && !is_allowed(recovered_->tree)) {
    crash_outcome_.findings |= bit(FindingKind::kNotAllowed);
    crash_over_ = true;
  }
  if (crash_state_->lost_pieces() != 0) crash_outcome_.marks |= kPowerCutInOp;
  // The last number may not have been the last state.
  if (!states_.complete() || state_number_ == DiskMove::kStates || look_number_ == DiskMove::kLooks)
    crash_outcome_.marks |= kLeftOut;
}

bool DiskRig::is_allowed(const Tree& tree) {
  const Digest key = digest_at(1, tree.digest()) + crash_expectation_digest_;
  if (const bool* known = allowed_.find(key)) return *known;
  return allowed_.put(key) = crash_expectation_->crash_allowed(tree);
}

bool DiskRig::follow(const DiskSystemState& from, const DiskMove& move, DiskSystemState& to) {
  begin(from);
  if (from.over || move.op >= ops_.size()) return false;
  run(move.op);
  if (!move.crash) {
    put_end(to);
    return true;
  }
  while (next_look())
    if (crash_move_.look == move.look) break;
  if (!looking_) return false;
  do {
    if (!next_state()) return false;
  } while (crash_move_.state != move.state);
  judge_crash();
  put_crash(to);
  return true;
}

void DiskRig::put_crash(DiskSystemState& to, Parts parts) {
  to.over = crash_over_;
  to.print = kOverPrint;
  if (crash_over_) return;
  to.system_ops = from_->system_ops + 1;
  to.last_ops = from_->last_ops << 8 | DiskSystemState::kCut | letter_;
  to.shape = recovered_->tree.shape();
  if (parts == Parts::kShape) return;
  const Digest* disk_print = crash_prints_.find(crash_state_->digest());
  if (disk_print == nullptr || parts == Parts::kAll) {
    disk_.load(DiskState(crash_state_->image()));
    disk_.redo(recovered_->log);
    to.disk = settle(disk_.state());
    disk_print = &(crash_prints_.put(crash_state_->digest()) = print_of(to.disk));
  }
  to.memory = recovered_->memory;
  to.expectation = Expectation(traits_.contract, recovered_->tree, rules_of(traits_));
  to.kept.reset();
  to.print = print_of(to.memory.digest(), *disk_print, to.expectation, to.kept, to.system_ops);
}

void DiskRig::put_end(DiskSystemState& to, Parts parts) {
  to.over = over_;
  to.print = kOverPrint;
  if (over_) return;
  const OpKind kind = ops_[crash_move_.op].op.kind;
  to.system_ops = from_->system_ops + (is_system_op(kind) ? 1 : 0);
  to.last_ops = from_->last_ops << 8 | letter_;
  to.shape = after_.now().shape();
  if (parts == Parts::kShape) return;
  to.disk = settle(disk_.state());
  to.memory = memory_;
  to.expectation = after_;
  to.kept = from_->kept;
  if (kind == OpKind::kSnapshot && result_.error == 0) to.kept = from_->expectation.now();
  if (kind == OpKind::kRestore && result_.error == 0) to.kept.reset();
  to.print = print_of(to.memory.digest(), print_of(to.disk), to.expectation, to.kept, to.system_ops);
}

// Where ops on the whole system are limited, how many there were decides what may follow.
Digest DiskRig::print_of(const Digest& memory, const Digest& disk, const Expectation& expectation,
                         const std::optional<Tree>& kept, uint32_t system_ops) const {
  Digest print = digest_at(2, disk) + digest_at(3, expectation.digest());
  if (!mutant(Mutant::kPrintWithoutMemory)) print += digest_at(1, memory);
  if (setup_.max_system_ops != UINT32_MAX) print += digest_at(4, Digest{0, system_ops});
  if (kept) print += digest_at(5, kept->digest());
  return print;
}

const DiskRig::WalkAnswer& DiskRig::walk(const Snapshot& memory) {
  const Digest key = digest_at(1, memory.digest()) + digest_at(2, disk_.state().current.digest());
  if (const WalkAnswer* known = walks_.find(key)) return *known;
  WalkAnswer& out = walks_.put(key);
  const Walk walk = target_->walk();
  out = {walk.error, walk.tree.digest()};
  return out;
}

const Walk& DiskRig::walk_again() { return walk_ = target_->walk(); }

// Nearly always everything is durable: the device writes through, or a flush came last.
DiskState DiskRig::settle(const DiskState& state) {
  bool durable = setup_.device.cache == WriteCache::kWriteThrough;
  if (!durable) {
    state.log.events(events_);
    const auto last = std::find_if(events_.rbegin(), events_.rend(), [](const Event* event) {
      return event->changes_blocks() || event->kind == EventKind::kFlush;
    });
    durable = last == events_.rend() || (*last)->kind == EventKind::kFlush;
  }
  if (durable) return DiskState(state.current);
  settling_.restart(state);
  while (settling_.next() != nullptr) {
  }
  return settling_.settled();
}

Digest DiskRig::print_of(const DiskState& disk) {
  if (disk.log.empty()) return digest_at(0, disk.durable.digest());  // what an empty epoch has
  epoch_.restart(disk.durable);
  for (const Event* event : disk.log.events(events_)) {
    if (event->changes_blocks()) epoch_.add(*event);
  }
  return epoch_.digest();
}

RigPool::~RigPool() {
  for (std::atomic<DiskRig*>& slot : free_) delete slot.load(std::memory_order_relaxed);
}

namespace {

// Where this thread looks first.
size_t home() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

void RigPool::add_left_out(const StateCount& more) {
  constexpr uint64_t kMost = ~uint64_t{0};
  uint64_t known = left_out_.load(std::memory_order_relaxed);
  uint64_t sum = 0;
  do {
    const StateCount exact = StateCount(known) + more;
    sum = exact < StateCount(kMost) ? known + more.low() : kMost;
  } while (!left_out_.compare_exchange_weak(known, sum, std::memory_order_relaxed));
}

std::unique_ptr<DiskRig> RigPool::take() {
  for (size_t i = 0; i < kSlots; ++i) {
    std::atomic<DiskRig*>& slot = free_[(home() + i) % kSlots];
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (DiskRig* rig = slot.exchange(nullptr, std::memory_order_acquire))
      return std::unique_ptr<DiskRig>(rig);
  }
  return std::make_unique<DiskRig>(setup_, bounds_, blank_);
}

void RigPool::give(std::unique_ptr<DiskRig> rig) {
  for (size_t i = 0; i < kSlots; ++i) {
    DiskRig* none = nullptr;
    if (!free_[(home() + i) % kSlots].compare_exchange_strong(none, rig.get(), std::memory_order_release))
      continue;
    (void)rig.release();
    return;
  }
}

}  // namespace sisyfs
