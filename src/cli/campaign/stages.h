// The stages of a campaign: searches of one target from cheap to stern, each with settings of its own.
//
//   const std::vector<Stage> stages = stages_for(entry.options, {"files=3"});
//   for (const Stage& stage : stages) (void)Options::parse(entry.options, stage.settings);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/options.h"

namespace sisyfs::cli {

struct Stage {
  enum class Kind : uint8_t {
    kDeepened,   // breadth-first, one step deeper in each round
    kSmallDisk,  // the same on the smallest disk on which each call still works
    kCoverage,   // the same in the order of new edges, for targets whose code is instrumented
    kWalks,      // random walks, twice as many in each round
  };
  std::string_view name;  // "reordered"
  std::string_view says;  // what it tries, for the table and the progress line
  Kind kind = Kind::kDeepened;
  std::vector<std::string> settings;  // beyond those of the user
  uint32_t walk_length = 0;           // of kWalks
  uint32_t setbacks_rarer = 1;        // of kWalks: WalkOptions::setbacks_rarer
  uint32_t rounds = 0;                // after so many, other stages try the rest; 0: no limit
};

// All stages that a target with these options can have, in their order. Of the settings of a stage those are
// left out that the user has set, and those that the target does not have; a stage without any of the
// settings that make it is left out.
std::vector<Stage> stages_for(const std::vector<OptionSpec>& options,
                              const std::vector<std::string>& settings);

// Those of the stages that are named in a list such as "calls,torn", in their order. Bad input names the
// stages that there are.
Result<std::vector<Stage>> chosen_stages(std::vector<Stage> stages, std::string_view list);

// Whether a setting such as "crash=lazy" asks for one search, because it is what stages differ in.
bool is_of_one_search(std::string_view setting);

}  // namespace sisyfs::cli
