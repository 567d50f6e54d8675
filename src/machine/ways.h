// Ways: the ways in which one op can go from one state.
//
// Usually there is one. There are more where an access or an allocation may fail, and where the op reads a
// block that an earlier power cut left undecided: then the op runs once for each content of that block.
//
//   ways.begin_state(disk);
//   ways.begin_op(may_fail);
//   do {
//     machine.perform(..., ways);
//   } while (ways.next());
#pragma once

#include <cstdint>

#include "crash/epoch.h"
#include "crash/lazy_states.h"
#include "machine/setup.h"
#include "machine/step.h"

namespace sisyfs {

class Ways {
 public:
  // Borrows the setup. `allocations`: the target can make them fail.
  Ways(const DiskSetup& setup, const Image& blank, bool allocations);

  // Ops begin from this disk.
  void begin_state(const MediaState& disk);
  // The first way of an op. `may_fail`: failures are still allowed on this path.
  void begin_op(bool may_fail);
  // Performs just this failure, and no other way comes after it.
  void begin_op(const InjectedFailure& failure);
  // The next way; false if there is none. Before that, note_failed() says how the last one went.
  bool next();
  void note_failed(bool failed) { failed_yet_ = failed_yet_ || failed; }

  const InjectedFailure& failure() const { return failure_; }
  bool has_undecided() const { return has_undecided_; }
  // What reads of this way decide.
  LazyStates& undecided() { return states_; }
  const LazyStates& undecided() const { return states_; }
  // What is still undecided after the op, as an epoch.
  const Epoch& narrowed();

 private:
  void begin_reads();

  const DiskSetup& setup_;
  const bool allocations_;
  Epoch before_, after_;  // what power cuts have left undecided, before and after the op
  LazyStates states_;
  InjectedFailure failure_;
  bool has_undecided_ = false;
  bool may_fail_ = false;
  bool failed_yet_ = false;  // some way with this failure reached it
};

}  // namespace sisyfs
