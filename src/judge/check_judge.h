// CheckJudge: how a system came back by its own account: it mounts (R1), can be walked (R2), checks clean
// (R4, and problems that the catalogue knows by name, M), can be used (R5), comes back the same after a power
// cut in recovery (R6) and without its repair (R7).
#pragma once

#include "judge/judge.h"
#include "machine/setup.h"

namespace sisyfs {

// Which problems of the target's check are findings.
CheckRules check_rules(const DiskSetup& setup);

class CheckJudge : public Judge {
 public:
  // Borrows both.
  CheckJudge(const DiskSetup& setup, const CheckRules& rules);

  std::vector<FindingKind> may_find() const override;
  void came_back(const Comeback& back, Opinion& opinion) override;

 private:
  const DiskSetup& setup_;
  const CheckRules& rules_;
  std::vector<FindingKind> problems_;  // by kind of problem, where it is named
};

}  // namespace sisyfs
