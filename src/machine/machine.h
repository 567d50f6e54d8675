// Machine: a target on its media. It does one op, cuts the power, recovers, and is brought back to an earlier
// state. It executes and never judges.
//
//   machine.begin(memory, disk);                // from this state
//   machine.ways().begin_op(may_fail);
//   if (machine.perform(op)) {                  // one way of the op
//     const Episode& episode = machine.episode();
//     machine.read_back();                      // what a walk sees now
//     machine.end_op();
//     machine.restart_cuts();                   // every power cut during the op
//     while (machine.cuts().next_point()) ...
//   }
//
// How it is brought back: the disks are values and are copied. The memory of the target is loaded where the
// target can save it (SavesMemory); otherwise the target is mounted again on the image, which is right only
// for a target that keeps nothing in memory between two ops. A target with a past that cannot be saved
// repeats its calls by itself (adapters/plugin does).
#pragma once

#include <memory>
#include <utility>

#include "machine/episode.h"
#include "machine/memo.h"
#include "machine/power_cuts.h"
#include "machine/recoverer.h"
#include "machine/settler.h"
#include "machine/ways.h"

namespace sisyfs {

class Machine {
 public:
  // Makes the one instance of the target. The setup and the bounds outlive the machine.
  Machine(const DiskSetup& setup, const Bounds& bounds, const CheckRules& rules, const Image& blank);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  virtual ~Machine() = default;

  // The formatted target after the ops of the start: mounted; or damaged, or before its first mount, and not
  // mounted. The tree is what is there. An errno if it cannot be had.
  int start(Tree* tree);

  // Ops begin from this state from now on. Borrows both. `unmounted`: the first op is the first mount.
  void begin(const Snapshot& memory, const MediaState& disk, bool unmounted = false);
  // Which way the op goes; see ways.h.
  Ways& ways() { return ways_; }
  // One way of an op. False if the failure of this way did not come about; then nothing can be said of it.
  bool perform(const Op& op);
  // The repair of a damaged disk, as an op.
  void perform_repair(const MediaState& disk);
  const Episode& episode() const { return episode_; }
  // After perform(): the memory before any walk.
  const Snapshot& memory() const { return memory_; }
  // What a walk reads back now.
  virtual const ReadBack& read_back();
  // The whole tree, walked once more, for reports.
  Walk walk_again();
  // What the op read decides what earlier power cuts left undecided; reads after this decide nothing.
  void end_op();
  // The media as they are after perform().
  const MediaState& disk() const { return media_.state(); }

  // Power cuts during the op, once it has ended.
  void restart_cuts() { cuts_.restart(media_.state(), episode_.events_judged); }
  PowerCuts& cuts() { return cuts_; }
  const PowerCuts& cuts() const { return cuts_; }
  // The disk that the recovery at hand leaves behind.
  MediaState recovered_disk();
  // After perform_repair().
  const Recovery& repaired() const { return repaired_; }

  Recoverer& recoverer() { return *recoverer_; }
  Settler& settler() { return settler_; }
  Target& target() { return *target_; }
  uint16_t take_new_edges();
  // The kinds of op that were performed since the last call.
  OpSet take_performed() { return std::exchange(performed_, OpSet()); }

 protected:
  // A walk that is carried out.
  ReadBack walk_now();
  bool has_undecided() const { return ways_.has_undecided(); }

 private:
  int start_unmounted(Tree* tree);
  int run_start(Tree* tree);
  OpResult call(const Op& op);
  void watch_undecided();
  void load();

  // The optional abilities of the target, asked for once.
  struct Abilities {
    SavesMemory* memory;
    FailsAllocations* allocations;
    HasFaults* faults;
    ReachesMarks* marks;
    CoversCode* code;
  };
  Snapshot save() const { return abilities_.memory == nullptr ? Snapshot() : abilities_.memory->save(); }
  uint32_t take_faults() { return abilities_.faults == nullptr ? 0 : abilities_.faults->take_faults(); }

  const DiskSetup& setup_;
  const Bounds& bounds_;
  std::unique_ptr<Target> target_;
  const Abilities abilities_;
  Media media_;
  Ways ways_;
  Settler settler_;
  std::unique_ptr<Recoverer> recoverer_;
  PowerCuts cuts_;
  FirstReads reads_;
  const Snapshot* from_memory_ = nullptr;
  const MediaState* from_disk_ = nullptr;
  bool from_unmounted_ = false;
  Episode episode_;
  Snapshot memory_;
  ReadBack read_back_;
  Recovery repaired_;
  OpSet performed_;
  std::vector<const Event*> events_;
};

// A machine that does not repeat walks that are known: a decorator with equal answers.
class RememberingMachine : public Machine {
 public:
  RememberingMachine(const DiskSetup& setup, const Bounds& bounds, const CheckRules& rules,
                     const Image& blank);
  const ReadBack& read_back() override;

 private:
  Memo<ReadBack> walks_;
  ReadBack forgotten_;  // one that is not kept
};

}  // namespace sisyfs
