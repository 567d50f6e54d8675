// The rules that every finding keeps, wherever it was read from: a file, a token, another program.
//
//   if (Status s = validate(finding); !s) return s.error();  // "steps[2].cuts[0].lost[1]: ..."
//
// The rules are about the value alone. Whether a target has such an op or such an event is known only when
// the steps are executed: a step that was removed by hand may leave names behind that nothing answers to.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "finding/finding.h"

namespace sisyfs {

// Limits of one finding. They bound the memory that a hostile file or token can make the program allocate.
inline constexpr size_t kMostSteps = 1'000'000;
inline constexpr size_t kMostCuts = 1'000'000;   // of all steps
inline constexpr size_t kMostLost = 1'000'000;   // lost events of all cuts
inline constexpr size_t kMostParts = 1'000'000;  // of all lost events
inline constexpr size_t kMostText = 64 << 20;    // bytes of all ops, targets, settings and facts
inline constexpr size_t kMostSettings = 1'000;   // of one target
inline constexpr size_t kMostOthers = 1'000;     // targets that are compared; also facts of the surroundings

// Bad input for a finding that breaks a rule: one sentence that names the place and what to change.
Status validate(const Finding& finding);

}  // namespace sisyfs
