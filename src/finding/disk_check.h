// The check of a target: its machine and judges as a transition system, and its stories.
//
//   Result<std::unique_ptr<Check>> check = make_disk_check(setup);
#pragma once

#include <memory>

#include "finding/check.h"
#include "judge/judge.h"
#include "machine/setup.h"

namespace sisyfs {

// The check, or why it cannot be made. `further` makes judges beyond those that every check has, for each
// worker.
Result<std::unique_ptr<Check>> make_disk_check(DiskSetup setup, MakeJudges further = {});

}  // namespace sisyfs
