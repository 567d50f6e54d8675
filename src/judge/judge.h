// Judge: looks at what machines showed and names broken promises.
//
// Several judges look at one machine: the reference tree with its contract, the target's own check, accesses
// and faults. Adding one touches no other. A judge that compares systems is shown the episodes of several
// machines; most judges look at the first.
//
// A judge is stateless but for its value: a small value that is a part of each explored state. The value of
// the state at hand is given with begin(); what it becomes is asked for after each transition.
//
//   class NoLongNames : public Judge {
//     std::vector<FindingKind> may_find() const override { return {FindingKind::kBadEntry}; }
//     void op_ended(const OpEnd& end, Opinion& opinion) override {
//       if (end.episodes[0]->op.path.text().size() > 8) opinion.found(FindingKind::kBadEntry);
//     }
//   };
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "disk/media.h"
#include "explore/system.h"
#include "judge/catalogue.h"
#include "judge/kind_table.h"
#include "machine/episode.h"
#include "machine/recovery.h"

namespace sisyfs {

// What the judges say about one transition. All add to one opinion.
struct Opinion {
  const KindTable* kinds = nullptr;
  FindingBits findings = 0;
  uint32_t marks = 0;
  bool over = false;  // nobody can say what would be right after this: the path ends

  void found(FindingKind kind, size_t variant = 0) { findings |= kinds->bit(kind, variant); }
};

// An op has returned, or its target has died.
struct OpEnd {
  std::span<const Episode* const> episodes;  // one for each machine
  const MediaState& disk;                    // of the first machine, with the log of the op
  // Reads the tree of the first machine back; see Machine::read_back().
  virtual const ReadBack& read_back() const = 0;
  // The same tree as a value; see Machine::walk_again().
  virtual Walk walk_again() const = 0;

  OpEnd(std::span<const Episode* const> all, const MediaState& media) : episodes(all), disk(media) {}

 protected:
  ~OpEnd() = default;
};

// A system has come back after a power cut, or a damaged one after its repair.
struct Comeback {
  std::span<const Recovery* const> recoveries;  // one for each machine
  size_t promises = 0;                  // promises of the op's log that had been made when the power went
  const Tree* uninterrupted = nullptr;  // after a power cut in recovery: what came back without it
  // After a power cut in the first write after recovery: what came back without it, and that write.
  const Tree* with_write = nullptr;
  bool damaged = false;  // there was no power cut: the repair of a damaged start
};

class Judge {
 public:
  virtual ~Judge() = default;

  // All that it may find. A search for anything else would find nothing and prove nothing.
  virtual std::vector<FindingKind> may_find() const = 0;

  // Its value in the initial state. Judges without a value have an empty one.
  virtual Snapshot initial() const { return {}; }
  // Transitions from a state with this value come next.
  virtual void begin(const Snapshot& value) { (void)value; }
  // An event of the op (a write, a flush, ...), in issue order, before op_ended(). Only if it wants them.
  virtual bool wants_events() const { return false; }
  virtual void saw(const Event& event, Opinion& opinion) { (void)event, (void)opinion; }
  virtual void op_ended(const OpEnd& end, Opinion& opinion) { (void)end, (void)opinion; }
  virtual void came_back(const Comeback& back, Opinion& opinion) { (void)back, (void)opinion; }
  // Its value after the op that ended, and after the comeback, that it was shown last.
  virtual Snapshot after_op() const { return {}; }
  virtual Snapshot after_comeback() const { return {}; }
};

// Makes the further judges of one worker.
using MakeJudges = std::function<std::vector<std::unique_ptr<Judge>>()>;

}  // namespace sisyfs
