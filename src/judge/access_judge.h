// AccessJudge: accesses outside of the disk (D) and faults of the target's code (T).
#pragma once

#include "judge/judge.h"

namespace sisyfs {

class AccessJudge : public Judge {
 public:
  explicit AccessJudge(const TargetKind& kind) : kind_(kind) {}

  std::vector<FindingKind> may_find() const override;
  void op_ended(const OpEnd& end, Opinion& opinion) override;
  void came_back(const Comeback& back, Opinion& opinion) override;

 private:
  const TargetKind& kind_;
};

// The finding that a fault is. One bit of Fault.
FindingKind finding_of(Fault fault);
// The findings of some faults.
void add_faults(uint32_t faults, Opinion& opinion);

}  // namespace sisyfs
