// Finding: a broken promise of a system under check, with everything needed to see it again.
#pragma once

#include <string>
#include <vector>

#include "explore/system.h"
#include "judge/catalogue.h"
#include "judge/story.h"

namespace sisyfs {

// A target and the settings that differ from its defaults, as "name=value" in the order of declaration.
struct Setup {
  std::string target;
  std::vector<std::string> settings;
  bool operator==(const Setup&) const = default;
};

struct Finding {
  FindingKind kind{};
  Setup setup;
  Trace trace;
  Story story;
};

}  // namespace sisyfs
