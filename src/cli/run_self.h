// Runs this program in a fresh process, so that a replay cannot depend on memory left by the search.
//
//   Result<int> code = run_self({"sisyfs", "replay", "--quiet", token}, SelfOutput::kShown);
//   if (code && *code == kFound) ...
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sisyfs::cli {

enum class SelfOutput { kShown, kDropped };

// Runs this program with these arguments, the first of which is its name, and waits for it. Returns its exit
// code, or a system error if it could not be started or was killed by a signal.
Result<int> run_self(std::vector<std::string> words, SelfOutput output);

}  // namespace sisyfs::cli
