// What a search of an application found, as JSON (docs/formats/app.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "adapters/app/app_audit.h"

namespace sisyfs {

struct AppReport {
  std::string application, verdict;  // pass, fail, unknown
  AppSearch search;
  AppResult result;
  std::vector<RulesVerdict> rules;
  std::vector<std::vector<FlushChanges::Added>> cures;
  std::optional<AppAudit> audit;
};

nlohmann::ordered_json app_json(const AppRecording& recording, const AppReport& report);

}  // namespace sisyfs
