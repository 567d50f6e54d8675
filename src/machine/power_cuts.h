// PowerCuts: every power cut in a log, and what comes back from it, one outcome after the other.
//
// Goes through the crash points of a log (crash/crash_points.h) and through the crash states of each point,
// one by one or lazily, as the setup says. Recovery writes to the disk too: with nesting, the events of
// recovery are a log like any other, and the power goes again in the middle of it, down to the bound.
//
//   cuts.restart(media_state, judged);
//   while (cuts.next_point()) {
//     cuts.begin_point();
//     while (cuts.next()) judge(cuts.recovered());
//   }
//
// The outcomes of a crash point are numbered: each crash state is followed by the outcomes of power cuts in
// its recovery. The numbers depend on the disk and the setup alone, never on what was remembered.
//
// A system may leave a part of its recovery to its first write (RecoverySetup::with_first_write). The power
// cuts in that write follow those in the recovery, at the same level.
//
// With CutSetup::persisted only the crash points right after a promise are tried, each with one crash state:
// everything that was written until then. CrashMonkey does the same.
//
// A power cut in recovery is skipped as long as recovery has changed nothing that it had read: a second
// recovery then reads the same and does the same (FiSC, 6.1).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/digest_set.h"
#include "crash/crash_points.h"
#include "crash/crash_states.h"
#include "crash/lazy_states.h"
#include "machine/recoverer.h"

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

  // The log of media, of which the first `judged` events were tried before.
  void restart(const MediaState& state, size_t judged) {
    levels_[0]->points.restart(state, judged);
    levels_[0]->serial = state.log.next_serial();
  }
  // The next crash point of the log, or null. Points that the setup leaves out are counted and passed over.
  const CrashPoint* next_point();
  // The outcomes of that point come next.
  void begin_point();
  // The next one; false if there is none.
  bool next();
  // The rest of the point is not tried, or all of it: it counts as left out.
  void leave_rest();
  void leave_point() { counts_.left_out += point_->epoch.count(); }

  // The outcome at hand. Lives until the next call of next().
  const Recovery& recovered() const { return *recovered_; }
  // The disk that the power cut left, with what was not decided, and its digest.
  MediaState start();
  Digest start_digest();
  // How deep it is: 0 for a power cut during the op, 1 for one in the recovery from that, and so on.
  uint32_t level() const { return level_; }
  // The crash state, where crash states are built one by one and this one is not in recovery.
  const CrashState* built() const { return setup_.cuts.lazy || level_ != 0 ? nullptr : levels_[0]->state; }
  // What came back at level 0, where this outcome is deeper.
  const Tree& tree_before() const { return levels_[0]->recovered.tree; }
  // Where a power cut up to the one at hand was in the first write after a recovery: the tree with that
  // write.
  const Tree* tree_with_write() const;
  // Promises of the op's log that had been made when the power went in the op.
  size_t promises() const { return levels_[0]->promises; }
  bool lost_anything() const;
  // Not all crash states of this point were tried.
  bool cut_short() const { return cut_short_; }

  // For reports: the power cut of a level up to the one at hand.
  struct Cut {
    const Epoch* epoch;  // what was in doubt
    CrashPointReason reason;
    size_t event;     // the event of the log of that level before which the power went
    size_t promises;  // that had been made
    const Log* log;   // null at level 0: that of the op
    uint64_t base;    // the serial number of the first event of that log, where it is not null
    // How much of each chain survived. `decided_by_trial`: with what only the trial of use read.
    std::vector<Epoch::KeptRange> kept;
  };
  Cut cut(uint32_t level, bool decided_by_trial);
  // The serial number of the first event of the recovery at hand.
  uint64_t serial_of_recovery() const { return levels_[level_]->serial; }

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
    CrashPointReason reason{};
    size_t event = 0;     // where the power went
    size_t promises = 0;  // made before that
    uint64_t serial = 0;  // of the first event of the recovery from it
    size_t skip = 0;      // up to here no event changed what was read
    bool at_point = false;
    bool in_write = false;  // the log is that of the first write after the recovery
    StateCount judged;      // of this crash point, so far
    Recovery recovered;     // where there is a level below
    CrashState* state = nullptr;
  };

  void begin(Level& level, const CrashPoint& point);
  bool next_state(Level& level);
  bool next_nested_point(Level& level);
  void descend();
  bool begin_write(Level& level);
  const Log& log_of(uint32_t number) const {
    const Recovery& from = levels_[number - 1]->recovered;
    return levels_[number]->in_write ? from.log_with_write : from.log;
  }
  size_t first_change(const Recovery& recovery);

  const DiskSetup& setup_;
  Recoverer& recoverer_;
  std::vector<std::unique_ptr<Level>> levels_;
  const CrashPoint* point_ = nullptr;
  uint32_t level_ = 0;
  bool may_descend_ = false;
  bool cut_short_ = false;
  const Recovery* recovered_ = nullptr;
  DigestSet seen_;  // nested crash points of this one
  std::vector<const Event*> events_;
  Epoch rest_;
  CutCounts counts_;
};

}  // namespace sisyfs
