// RememberingRecoverer: a Recoverer that repeats nothing that is known. A decorator: the answers are equal.
//
// Most crash states come back as others did. Known again are: an image that came before; an image that agrees
// with an earlier one in all that was read of it (read_memo.h); and the same for the two expensive parts of a
// recovery, the target's own check and the trial of use. docs/design/adapter.md has the figures.
#pragma once

#include "machine/decision_memo.h"
#include "machine/memo.h"
#include "machine/read_memo.h"
#include "machine/recoverer.h"

namespace sisyfs {

class RememberingRecoverer : public Recoverer {
 public:
  RememberingRecoverer(const DiskSetup& setup, const Bounds& bounds, const CheckRules& rules, Target& target,
                       const Image& blank);

  const Recovery& recover(CrashState& state) override;
  const Recovery& recover(LazyStates& run) override;

 protected:
  Checked check(const Image& image) override;
  Walk walk() override;
  Trial use(const Recovery& recovery) override;
  const Snapshot& save() override;

 private:
  // Bits more than the setup says. Measured on f2fs; each ReadMemo has 512 bytes of nodes for an answer.
  static constexpr unsigned kByImage = 2, kByReads = 1, kByDecisions = 3;
  struct Known {
    const ReadMemo<Recovery>::Entry* entry = nullptr;
    Digest key;  // of the entry, as long as it holds this recovery
  };

  Memo<Snapshot> memories_;        // by digest: equal memories are kept once
  Memo<Known> known_;              // by image
  ReadMemo<Recovery> recoveries_;  // by what was read
  DecisionMemo decisions_;         // on raw flash: by what was decided
  ReadMemo<Checked> checks_;       // by what the check read
  ReadMemo<Trial> trials_;         // by memory, tree, and what the walk and the trial read
  FirstReads trial_reads_;         // of the walk and the trial
};

}  // namespace sisyfs
