#include "machine/ways.h"

#include "base/mutant.h"

namespace sisyfs {

Ways::Ways(const DiskSetup& setup, const Image& blank, bool allocations)
    : setup_(setup),
      allocations_(allocations),
      before_(setup.cuts.device, blank),
      after_(before_),
      states_(before_) {}

void Ways::begin_state(const MediaState& disk) {
  has_undecided_ = !disk.undecided.empty();
  if (has_undecided_) before_.restart(disk.durable, disk.undecided);
}

void Ways::begin_op(bool may_fail) {
  may_fail_ = may_fail;
  failure_ = {};
  failed_yet_ = false;
  begin_reads();
}

void Ways::begin_op(const InjectedFailure& failure) {
  begin_op(false);
  failure_ = failure;
}

void Ways::begin_reads() {
  states_.restart(before_);
  (void)states_.next();
}

bool Ways::next() {
  using Kind = InjectedFailure::Kind;
  if (has_undecided_ && states_.next()) return true;
  if (!may_fail_) return false;
  if (failure_.kind == Kind::kNone) {
    failure_ = {setup_.failures.disk ? Kind::kDiskAccess : Kind::kAllocation, 0};
    if (failure_.kind == Kind::kAllocation && !(setup_.failures.memory && allocations_)) return false;
  } else if (!failed_yet_) {
    // The op has fewer accesses than that. After the accesses come the allocations.
    if (failure_.kind == Kind::kAllocation || !setup_.failures.memory || !allocations_) return false;
    failure_ = {Kind::kAllocation, 0};
  }
  if (mutant(Mutant::kFailFirstOnly) && failure_.nth == 1) return false;
  ++failure_.nth;
  failed_yet_ = false;
  begin_reads();
  return true;
}

const Epoch& Ways::narrowed() {
  before_.narrow(states_.known(), after_);
  return after_;
}

}  // namespace sisyfs
