// The catalogue of findings: every promise that can be seen broken, with its stable code.
//
// A finding's number is its bit in Outcome::findings; its code and name never change once released, its
// wording may. Reports, tokens and `--only` speak in names and codes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "target/problem.h"

namespace sisyfs {

enum class FindingKind : uint8_t {
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
};

struct FindingInfo {
  FindingKind kind;
  std::string_view code;
  std::string_view name;
  Severity severity;
  std::string_view says;  // what is broken, as a sentence
};

std::span<const FindingInfo> catalogue();
const FindingInfo& info(FindingKind kind);
constexpr uint32_t bit(FindingKind kind) { return uint32_t{1} << static_cast<unsigned>(kind); }

// All kinds that there are, and the names of some, with commas between them.
uint32_t known_kinds();
std::string kind_names(uint32_t kinds);

// The entry with this code or name.
std::optional<FindingInfo> find_kind(std::string_view code_or_name);

}  // namespace sisyfs
