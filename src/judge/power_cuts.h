// PowerCuts: what a power cut may leave of a log, recovered, one outcome after the other.
//
// Goes through the looks of a log (crash/crash_points.h) and through the crash states of each look, one by
// one or lazily, as the setup says. Recovery writes to the disk too: with nesting, what it did is a log like
// any other, and the power goes again in the middle of it, and so on to the bound.
//
//   cuts.restart(disk_state, judged);
//   while (cuts.next_point()) {
//     cuts.begin_point();
//     while (cuts.next()) judge(cuts.recovered());
//   }
//
// The outcomes of a look are numbered: each crash state is followed by those that come from power cuts in its
// recovery. Numbers depend on the state of the disk and the setup alone, never on what was remembered.
//
// A power cut in recovery is passed over as long as recovery has not changed anything that it had read: then
// it reads the same again, and does the same (FiSC, 6.1).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/digest_set.h"
#include "crash/crash_points.h"
#include "crash/crash_states.h"
#include "crash/lazy_states.h"
#include "judge/recoverer.h"

namespace sisyfs {

// How many crash states there were, and what became of them.
struct CutCounts {
  StateCount stood_for;  // crash states that were judged
  StateCount left_out;   // and those that were not, because of a bound
  uint64_t sampled = 0;  // of those judged: drawn from among many
  uint64_t outcomes = 0;
};

class PowerCuts {
 public:
  // All are borrowed.
  PowerCuts(const DiskSetup& setup, Recoverer& recoverer, const Image& blank);

  // The log of a disk, of which the first `judged` events were looked at before.
  void restart(const MediaState& state, size_t judged) { levels_[0]->points.restart(state, judged); }
  // The next look of the log, or null.
  const CrashPoint* next_point() { return point_ = levels_[0]->points.next(); }
  // The outcomes of that look come next.
  void begin_point();
  // The next one; false if there is none.
  bool next();
  // What is left of the look is not wanted, or all of it: it counts as left out.
  void leave_rest();
  void leave_point() { counts_.left_out += point_->epoch.count(); }

  // Of the outcome at hand. Lives until the next call of next().
  const Recovery& recovered() const { return *recovered_; }
  // The disk that the power cut left: what was not decided is open. And what it is known by.
  MediaState start();
  Digest start_digest();
  // How deep it is: 0 for a power cut during the op, 1 for one in the recovery from that, and so on.
  uint32_t level() const { return level_; }
  // The crash state by itself, where crash states are built one by one and this is none of recovery's.
  const CrashState* built() const { return setup_.lazy || level_ != 0 ? nullptr : levels_[0]->state; }
  // What was kept at each level; of a lazy one what was not decided is as if it had survived.
  CrashState& crash_state(uint32_t level);
  // The event of the log of that level before which the power went.
  size_t event(uint32_t level) const { return levels_[level]->event; }
  // What the recovery of the level before did to the disk, which was cut. Not of level 0.
  const Log& log(uint32_t level) const { return levels_[level - 1]->recovered.log; }
  // What came back at level 0, where this one is deeper.
  const Tree& tree_before() const { return levels_[0]->recovered.tree; }
  bool lost_anything() const;
  // Not all crash states of this look were judged.
  bool cut_short() const { return cut_short_; }
  RecoveryNotes notes();

  const CutCounts& counts() const { return counts_; }
  void clear_counts() { counts_ = {}; }

 private:
  static constexpr size_t kNoEvent = SIZE_MAX;
  struct Level {
    Level(const DiskSetup& setup, const Image& blank);

    Epoch none;  // for those below, until they get one
    CrashPoints points;
    CrashStates eager;
    LazyStates lazy;
    CrashState shown;          // of a lazy one, for reports
    size_t event = 0;          // where the power went
    uint64_t next_serial = 0;  // of the first event after the cut
    size_t skip = 0;           // up to here no event changed what was read
    bool looking = false;
    StateCount judged;   // of this look, so far
    Recovery recovered;  // where there is a level below
    CrashState* state = nullptr;
  };

  void begin(Level& level, const CrashPoint& point);
  bool next_state(Level& level);
  bool next_nested_point(Level& level);
  void descend();
  size_t first_change(const Recovery& recovery);

  const DiskSetup& setup_;
  Recoverer& recoverer_;
  std::vector<std::unique_ptr<Level>> levels_;
  const CrashPoint* point_ = nullptr;
  uint32_t level_ = 0;
  bool may_descend_ = false;
  bool cut_short_ = false;
  const Recovery* recovered_ = nullptr;
  DigestSet seen_;  // nested looks of this look
  std::vector<const Event*> events_;
  Epoch rest_;
  CutCounts counts_;
};

}  // namespace sisyfs
