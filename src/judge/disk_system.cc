#include "judge/disk_system.h"

#include <fmt/format.h>

#include <utility>

namespace sisyfs {

Result<DiskSystem> DiskSystem::make(DiskSetup setup, MakeJudges further) {
  Result<CheckPlan> plan = CheckPlan::make(std::move(setup), further);
  if (!plan) return plan.error();
  auto workers = std::make_unique<WorkerPool>(*std::move(plan));
  State initial;
  const int error = WorkerPool::Lease(*workers)->put_initial(initial);
  if (error != 0)
    return bad_input(
        fmt::format("the target cannot be formatted and brought to its start: {}", errno_text(error)));
  return DiskSystem(std::move(workers), std::move(initial));
}

}  // namespace sisyfs
