// Stories as text for people: what was done, what became of each write, what was seen and expected, and how
// to replay it.
//
//   fmt::print("{}", tell_all(findings, style));
//
// Findings with the same steps are one story. Each write is listed once, under the step that issued it, with
// what became of it. Runs of writes that are harmless are one line, so that a story of ten steps fits on a
// screen; TextStyle::verbose lists them all. docs/design/stories.md
#pragma once

#include <span>
#include <string>

#include "finding/told_finding.h"
#include "report/layout.h"

namespace sisyfs {

// One story, of findings with the same steps of the same target; at least one.
std::string tell(std::span<const ToldFinding> findings, const TextStyle& style);
std::string tell(const ToldFinding& finding, const TextStyle& style);

// All stories, each once, in the order of their first findings, with an empty line after each.
std::string tell_all(std::span<const ToldFinding> findings, const TextStyle& style);

}  // namespace sisyfs
