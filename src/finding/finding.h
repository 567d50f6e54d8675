// Finding: a broken promise of a system under check, with everything needed to see it again. A plain value.
//
//   Finding finding{.kind = FindingKind::kNotAllowed, .setup = {"journal", {"revoke=off"}}, .steps = steps};
//   std::string token = make_token(finding);          // finding/token.h
//   Replayed replayed = check.replay(finding.steps);  // finding/check.h
#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge/catalogue.h"
#include "machine/step.h"

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
  // Systems that were run beside it and compared with it; empty for a check of one target.
  std::vector<Setup> others;
  // Facts about the surroundings that a replay must have too, by name: the version of a kernel, ... Names
  // that a program does not know make it refuse the finding.
  std::map<std::string, std::string> surroundings;
  std::vector<Step> steps;

  bool operator==(const Finding&) const = default;
};

}  // namespace sisyfs
