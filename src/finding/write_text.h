// Words for events of a disk, for stories.
#pragma once

#include <span>
#include <string>

#include "crash/crash_state.h"
#include "judge/catalogue.h"
#include "target/target.h"

namespace sisyfs {

// What was written, in the target's words; empty if it has none.
std::string words_of(Target& target, const Event& event, const Geometry& geometry);
// The first bytes that were written, as numbers.
std::string bytes_of(const Event& event, const Geometry& geometry);

// An access that had no effect, and what would be right.
struct StrayText {
  FindingKind kind;
  std::string observed;
  const char* expected;
};
StrayText text_of_stray(const Event& event, const Geometry& geometry);

// Of raw flash: "cut off", and on NOR where: "cut off at byte 16 of page 3".
std::string cut_off_text(const CrashState& cut, uint32_t write);
// "torn: of blocks 2 to 4 it kept 2, 4", where the device cuts writes into blocks and nothing smaller.
std::string torn_text(const CrashState& cut, uint32_t write);

// A problem of the target's own check in words.
std::string problem_text(Target& target, const Problem& problem, std::span<const ProblemKind> kinds);

}  // namespace sisyfs
