// ToldFinding: a finding with its story, as reports print it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "finding/finding.h"
#include "finding/story.h"

namespace sisyfs {

// How often a finding happened again, each time with a target that was made anew.
struct Confirmed {
  uint32_t times = 0, of = 0;
  std::string differs = {};  // what happened instead, the first time; empty: nothing did
};

struct ToldFinding {
  Finding finding;
  Story story;
  std::optional<Confirmed> confirmed = {};  // nothing: it was not tried
};

}  // namespace sisyfs
