// The applications that sisyfs app knows, from src/adapters/app/ready/.
#pragma once

#include <string>
#include <vector>

#include "adapters/app/app_plan.h"
#include "base/result.h"

namespace sisyfs::cli {

struct ReadyApp {
  std::string name, summary;
  std::vector<std::string> packages, programs;
  AppPlan plan;
};

// All of them, with their variants, by name.
const std::vector<ReadyApp>& ready_apps();
// Null: there is none of this name.
const ReadyApp* ready_app(const std::string& name);
// What is missing is installed.
Status provide(const ReadyApp& app);

}  // namespace sisyfs::cli
