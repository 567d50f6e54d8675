// Searches that do not begin with a new system: one that was used before, or one whose disk was damaged
// since.
//
// A damaged disk is not mounted. What can be done with it is the op fsck: the repair, a second check, the
// mount and the walk, judged as every recovery is, with two differences. What the repair reports and mends is
// the damage, and no finding. And there is no window: what the ops had made is what must come back, under
// every contract, because a repair may take what is damaged and nothing else.
//
// The power does not go while it repairs; that is for crashes in recovery.
#include <cerrno>

#include "judge/disk_rig.h"

namespace sisyfs {

// Does the ops of the start and unmounts; the tree is what they made. EIO if one answers what it should not.
int DiskRig::prepare(Tree* tree) {
  if (setup_.start.empty() && setup_.damage == nullptr) return 0;
  if (const int error = target_->mount(disk_)) return error;
  for (const Op& op : setup_.start) {
    const OpResult expected = sisyfs::apply(op, *tree), result = target_->apply(op);
    if (!(result == expected)) return result.error != 0 ? result.error : EIO;
  }
  const Walk walk = target_->walk();
  if (walk.error != 0 || !(walk.tree == *tree)) return walk.error != 0 ? walk.error : EIO;
  if (const int error = target_->unmount()) return error;
  if (setup_.damage != nullptr) setup_.damage(disk_);
  return 0;
}

void DiskRig::run_repair() {
  const Image& image = from_->disk.durable;
  result_ = expected_ = {};
  during_ = after_ = from_->expectation;
  letter_ = static_cast<uint8_t>(static_cast<unsigned>(OpKind::kFsck) + 1);
  events_before_ = 0;
  repaired_ = recoverer_.repair(image);
  outcome_.findings = repaired_.findings;
  outcome_.marks |= repaired_.marks;
  outcome_.work = repaired_.work;
  if (repaired_.alive && !(repaired_.tree == after_.now()))
    outcome_.findings |= bit(FindingKind::kNotAllowed);
  crash_outcome_ = outcome_;
  crash_expectation_ = &during_;
  log_ = repaired_.alive ? repaired_.log : Log();
  over_ = outcome_.findings != 0;
  if (over_) return;
  memory_ = repaired_.memory;
  disk_.load(MediaState(image));
  disk_.redo(log_);
}

}  // namespace sisyfs
