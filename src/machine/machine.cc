#include "machine/machine.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mutant.h"
#include "disk/wear.h"
#include "machine/marks.h"
#include "machine/remembering_recoverer.h"

namespace sisyfs {

namespace {

// Variants of a call are durable where the plain call is.
OpKind plain_variant(OpKind op) {
  if (op == OpKind::kExchange || op == OpKind::kRenameNew) return OpKind::kRename;
  return op == OpKind::kWriteDirect ? OpKind::kWrite : op;
}

}  // namespace

PromiseScope promise_of(const TargetKind& kind, OpKind performed) {
  const OpKind op = by_path(performed);
  // Nobody has asked for what the system writes back on its own account, and a store is no call.
  if (op == OpKind::kCommit && mutant(Mutant::kCommitPromises)) return PromiseScope::kAll;
  static constexpr OpSet kPromisesNothing(OpKind::kCommit, OpKind::kWriteMapped);
  if (kPromisesNothing.has(op) && kind.has_disk()) return PromiseScope::kNone;
  static constexpr OpSet kSyncsFile(OpKind::kFsync, OpKind::kFdatasync, OpKind::kWriteSync, OpKind::kMsync);
  static constexpr OpSet kSyncsAll(OpKind::kSync, OpKind::kSyncfs, OpKind::kRemount);
  const bool syncs_file = kSyncsFile.has(op);
  const bool all = kind.claims.all_durable() || !kind.has_disk() ||
                   (syncs_file ? kind.claims.fsync_all : kSyncsAll.has(op));
  // Under `names` a call that changes names is durable when it returns.
  static constexpr OpSet kNameOps(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir,
                                  OpKind::kRename, OpKind::kLink, OpKind::kSymlink, OpKind::kSetxattr,
                                  OpKind::kRemovexattr, OpKind::kChmod, OpKind::kExchange,
                                  OpKind::kRenameNew);
  const bool durable = kind.claims.durable.has(op) || kind.claims.durable.has(plain_variant(op)) ||
                       (kind.claims.contract == Contract::kNames && kNameOps.has(op));
  if (all) return PromiseScope::kAll;
  if (durable) return PromiseScope::kChanges;
  if (!syncs_file) return PromiseScope::kNone;
  if (op == OpKind::kFsync) return PromiseScope::kFile;
  return op == OpKind::kWriteSync ? PromiseScope::kWrite : PromiseScope::kData;
}

Machine::Machine(const DiskSetup& setup, const Bounds& bounds, const CheckRules& rules, const Image& blank)
    : setup_(setup),
      bounds_(bounds),
      target_(setup.kind.make()),
      abilities_{target_->saves_memory(), target_->fails_allocations(), target_->has_faults(),
                 target_->reaches_marks(), target_->covers_code()},
      media_(blank),
      ways_(setup, blank, abilities_.allocations != nullptr),
      settler_(setup.cuts.device, blank),
      recoverer_(std::make_unique<RememberingRecoverer>(setup, bounds, rules, *target_, blank)),
      cuts_(setup, *recoverer_, blank) {
  media_.set_discard(setup.cuts.device.discard);
}

int Machine::start(Tree* tree) {
  if (const int error = target_->format(media_)) return error;
  if (setup_.start.unmounted) return start_unmounted(tree);
  if (const int error = run_start(tree)) return error;
  // What was written until now was on the disk before the search began.
  media_.load(MediaState(media_.state().current));
  if (setup_.start.damage == nullptr) {
    if (const int error = target_->mount(media_)) return error;
    Walk walk = target_->walk();
    if (walk.error != 0) return walk.error;
    *tree = std::move(walk.tree);
  }
  memory_ = save();
  return 0;
}

// Mounts once to see what is there, and takes that back.
int Machine::start_unmounted(Tree* tree) {
  const MediaState formatted = media_.state();
  memory_ = save();
  if (const int error = target_->mount(media_)) return error;
  Walk walk = target_->walk();
  if (walk.error != 0) return walk.error;
  *tree = std::move(walk.tree);
  media_.load(formatted);
  if (abilities_.memory != nullptr)
    abilities_.memory->load(memory_, media_);
  else
    target_->power_cut();
  return 0;
}

// Does the ops of the start and unmounts. EIO if one answers what it should not.
int Machine::run_start(Tree* tree) {
  const StartSetup& start = setup_.start;
  if (start.ops.empty() && start.damage == nullptr && start.image == StartImage::kNew) return 0;
  if (const int error = target_->mount(media_)) return error;
  if (start.image != StartImage::kNew) {
    Walk made = target_->walk();  // by format
    if (made.error != 0) return made.error;
    *tree = std::move(made.tree);
  }
  for (const Op& op : setup_.start.ops) {
    const OpResult expected = sisyfs::apply(op, *tree), answer = target_->apply(op);
    if (!(answer == expected)) return answer.error != 0 ? answer.error : EIO;
  }
  if (start.image != StartImage::kNew) {
    const auto call = [&](const Op& op) { return target_->apply(op); };
    if (const int error = make_start_image(start.image, setup_.kind, bounds_, call, *tree)) return error;
  }
  const Walk walk = target_->walk();
  if (walk.error != 0 || !(walk.tree == *tree)) return walk.error != 0 ? walk.error : EIO;
  if (const int error = target_->unmount()) return error;
  if (setup_.start.damage != nullptr) setup_.start.damage(media_);
  return 0;
}

void Machine::begin(const Snapshot& memory, const MediaState& disk, bool unmounted) {
  from_memory_ = &memory;
  from_disk_ = &disk;
  from_unmounted_ = unmounted;
  ways_.begin_state(disk);
}

void Machine::load() {
  media_.load(*from_disk_);
  if (abilities_.memory != nullptr) {
    abilities_.memory->load(*from_memory_, media_);
  } else {
    target_->power_cut();
    if (!from_unmounted_) (void)target_->mount(media_);
  }
}

OpResult Machine::call(const Op& op) {
  if (op.kind != OpKind::kRemount) return target_->apply(op);
  if (!from_unmounted_)
    if (const int error = target_->unmount()) return OpResult::of(error);
  return OpResult::of(target_->mount(media_));
}

// Reads decide the blocks that power cuts have left undecided, unless a pending write lies over them.
void Machine::watch_undecided() {
  if (!ways_.has_undecided()) return;
  reads_.restart(BlockCount(media_.state().current.geometry().stored_blocks()));
  for (const Event* event : from_disk_->log.events(events_)) {
    for (uint64_t i = 0; event->changes_blocks() && i < event->count.value; ++i)
      reads_.written(event->first + BlockCount(i));
  }
  media_.watch(&reads_, &ways_.undecided());
}

uint16_t Machine::take_new_edges() {
  if (abilities_.code == nullptr) return 0;
  return static_cast<uint16_t>(std::min<uint64_t>(abilities_.code->take_new_edges(), UINT16_MAX));
}

bool Machine::perform(const Op& op) {
  load();
  performed_ = performed_ | OpSet(op.kind);
  episode_.op = op;
  episode_.failure = ways_.failure();
  episode_.events_before = media_.state().log.size();
  episode_.events_judged = from_unmounted_ ? 0 : episode_.events_before;
  episode_.promised = episode_.write_failed = episode_.bad_units = false;
  media_.note({BoundaryKind::kOpBegin, 0});
  (void)marks_of(abilities_.marks);
  (void)take_new_edges();
  watch_undecided();
  FailsAllocations* const allocations =
      episode_.failure.kind == InjectedFailure::Kind::kAllocation ? abilities_.allocations : nullptr;
  if (allocations != nullptr)
    allocations->fail_allocation(episode_.failure.nth);
  else
    media_.fail_call(episode_.failure.nth);
  episode_.answer = call(op);
  if (episode_.answer.error != 0) episode_.bad_units = has_bad_unit(media_.state().current);
  episode_.failed = allocations != nullptr ? allocations->allocation_failed() : media_.call_failed();
  episode_.write_failed = allocations == nullptr && media_.write_failed();
  if (allocations != nullptr)
    allocations->fail_allocation(0);
  else
    media_.fail_call(0);
  if (episode_.failure.nth != 0 && !episode_.failed) {
    media_.watch(nullptr);
    return false;
  }
  ways_.note_failed(episode_.failed);
  episode_.marks = marks_of(abilities_.marks) | (episode_.failed ? uint32_t{kAccessFailed} : 0);
  media_.note({BoundaryKind::kOpEnd, 0});
  episode_.faults = take_faults();
  if (episode_.is_dead()) {
    media_.watch(nullptr);
    return true;
  }
  episode_.words.restart(media_.state().log);
  if (episode_.answer.error == 0 && promise_of(setup_.kind, op.kind) != PromiseScope::kNone) {
    media_.note({BoundaryKind::kPromise, 0});
    episode_.promised = true;
  }
  memory_ = save();
  return true;
}

void Machine::perform_repair(const MediaState& disk) {
  episode_ = {};
  episode_.op = Op::of(OpKind::kFsck);
  const Image image = disk.durable;
  repaired_ = recoverer_->repair(image);
  episode_.marks = repaired_.marks;
  memory_ = repaired_.memory;
  media_.load(MediaState(image));
  if (repaired_.alive) media_.redo(repaired_.log);
}

ReadBack Machine::walk_now() {
  const Walk walk = target_->walk();
  return {walk.error, take_faults(), walk.tree.seen_digest()};
}

const ReadBack& Machine::read_back() { return read_back_ = walk_now(); }

Walk Machine::walk_again() {
  Walk walk = target_->walk();
  (void)take_faults();
  return walk;
}

void Machine::end_op() {
  if (!ways_.has_undecided()) return;
  media_.watch(nullptr);
  const Epoch& left = ways_.narrowed();
  media_.load(MediaState(left.durable(), media_.state().current, media_.state().log, left.undecided_log()));
}

MediaState Machine::recovered_disk() {
  media_.load(cuts_.start());
  media_.redo(cuts_.recovered().log);
  return settler_.settle(media_.state());
}

RememberingMachine::RememberingMachine(const DiskSetup& setup, const Bounds& bounds, const CheckRules& rules,
                                       const Image& blank)
    : Machine(setup, bounds, rules, blank), walks_(setup.memo_bits + 2) {}

// Only a walk that made no access outside of the disk is remembered: such accesses are told each time.
const ReadBack& RememberingMachine::read_back() {
  if (has_undecided()) return forgotten_ = walk_now();  // the images do not say what is there
  const Digest key = digest_at(1, memory().digest()) + digest_at(2, disk().current.digest());
  if (const ReadBack* known = walks_.find(key)) return *known;
  const auto strays = [&] { return disk().log.strays() + disk().log.misuses(); };
  const size_t before = strays();
  const ReadBack now = walk_now();
  return (strays() == before ? walks_.put(key) : forgotten_) = now;
}

}  // namespace sisyfs
