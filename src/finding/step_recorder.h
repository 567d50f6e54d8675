// StepRecorder: the moves of a search by names.
//
// A search knows its moves as ordinals. The recorder follows them on a worker, and writes down what each was:
// the op, the failure, and for each power cut the events that were lost. Where crash states are decided as
// they are read, an event that a cut left undecided may be decided by a later step; it is then named in the
// cut in which it was in doubt. Events that were never decided count as kept: nothing has read them.
//
//   StepRecorder recorder(worker);
//   worker.go(state, move);
//   recorder.add(is_last);
//   std::vector<Step> steps = recorder.take();
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "finding/event_names.h"
#include "judge/worker.h"
#include "machine/step.h"

namespace sisyfs {

// The parts of writes that a power cut may lose by themselves.
class EventParts {
 public:
  // The part that a piece of an epoch is, as LostEvent::parts names it; `address` is that of its event in the
  // address space of all disks.
  static uint32_t unit_of(const Epoch& epoch, const Epoch::Piece& piece, uint64_t address);
  // Whether parts are stages of a write and not units.
  static bool are_stages(const DeviceModel& device) { return device.flash || device.scattered; }
};

class StepRecorder {
 public:
  // Borrows the worker.
  explicit StepRecorder(Worker& worker) : worker_(worker), names_(worker.plan().blank.geometry()) {}

  // The worker has gone one move. `last`: nothing follows it, so what the trial of use read counts too.
  void add(bool last);
  std::vector<Step> take();

 private:
  // An event that a power cut may have lost.
  struct Doubt {
    size_t step = 0, cut = 0;   // in steps_
    size_t parts = 0;           // how many it has
    std::set<uint32_t> lost;    // of these
    uint32_t known_stages = 0;  // stages that surely survived, where parts are stages
  };

  void add_cut(uint32_t level, bool last);
  void add_doubts(const Epoch& epoch);
  void add_lost(const Epoch& epoch, std::span<const Epoch::KeptRange> kept);

  Worker& worker_;
  std::vector<Step> steps_;
  EventNames names_;
  std::map<uint64_t, Doubt> doubts_;  // by serial number
  std::vector<const Event*> events_;
};

}  // namespace sisyfs
