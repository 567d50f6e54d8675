// This program again, in a fresh process: what a replay must not owe to what the search left in memory.
//
//   Result<int> code = run_self({"sisyfs", "replay", "--quiet", token}, SelfOutput::kShown);
//   if (code && *code == kFound) ...
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sisyfs::cli {

enum class SelfOutput { kShown, kDropped };

// Runs this program with these words, the first of which is its name, and waits for its end. Its exit code,
// or a system error where it could not be started or did not end by itself.
Result<int> run_self(std::vector<std::string> words, SelfOutput output);

}  // namespace sisyfs::cli
