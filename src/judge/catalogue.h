// The catalogue of findings: every promise that can be seen broken, with its stable code.
//
// Code and name of a kind never change once released; its wording may. Reports, tokens and `--only` use names
// and codes. The catalogue may grow: a check numbers only the kinds that it uses (kind_table.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "target/problem.h"

namespace sisyfs {

enum class FindingKind : uint16_t {
  kDeadBlock,
  kLostBlock,
  kDoublePointer,
  kContentError,
  kWrongErrno,
  kWrongEffect,
  kNotMountable,
  kNotWalkable,
  kNotAllowed,
  kNotClean,
  kNotUsable,
  kOutOfRange,
  kDeadNode,
  kSharedNode,
  kLostNode,
  kBadEntry,
  kBadSummary,
  kLostRoot,
  kNotRepeatable,
  kFailedChange,
  kHiddenError,
  kTwoOutcomes,
  kFlashMisuse,
  kTargetDied,
  kTargetHung,
  kMemoryLeak,
  kHeapMisuse,
  kRunawayMemory,
  kComplaint,
};
inline constexpr size_t kFindingKinds = 29;

struct FindingInfo {
  FindingKind kind;
  std::string_view code;
  std::string_view name;
  Severity severity;
  std::string_view says;  // what is broken, as a sentence
};

std::span<const FindingInfo> catalogue();
const FindingInfo& info(FindingKind kind);
// The names of some kinds with commas between them, and their codes with spaces.
std::string names_of(std::span<const FindingKind> kinds);
std::string codes_of(std::span<const FindingKind> kinds);

// The entry with this code or name.
std::optional<FindingInfo> find_kind(std::string_view code_or_name);

}  // namespace sisyfs
