// Findings as JSON, schema sisyfs.finding/2 (docs/formats/finding.md).
//
//   std::string text = text_of(to_json(finding));
//   Result<std::vector<Finding>> again = findings_in(text, {"sisyfs.run/2"});
//
// Reading is strict: a key that nobody knows, a wrong type or a number out of range is an error, which names
// its place: steps[2].cuts[0].lost[1].nth. So a slip of the hand in an edited file is noticed.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "finding/finding.h"

namespace sisyfs {

inline constexpr const char* kFindingSchema = "sisyfs.finding/2";

nlohmann::ordered_json to_json(const Finding& finding);
// Only the array "steps" of it.
nlohmann::ordered_json to_json(const std::vector<Step>& steps);

// Keys that reports add to a finding for people. The reader ignores them, whatever they hold.
std::span<const std::string_view> report_keys();

// For a finding that validate() accepts, from_json(to_json(finding)) is equal to it. Fails with one sentence
// that names the place and what to change.
Result<Finding> finding_from_json(const nlohmann::ordered_json& json);
Result<std::vector<Step>> steps_from_json(const nlohmann::ordered_json& json);

// Reads text as JSON. Refuses what is not JSON, keys that come twice in one object, objects with more than a
// thousand keys and values that are nested more than a hundred levels deep.
Result<nlohmann::ordered_json> parse_json(std::string_view text);

// The findings in a file: itself if it is a finding; those in "findings" if its schema is one of these.
Result<std::vector<Finding>> findings_in(std::string_view text,
                                         std::initializer_list<std::string_view> run_schemas);

// As it is written to files. JSON is UTF-8; bytes of a path that are not are replaced. The token has them.
std::string text_of(const nlohmann::ordered_json& json);

}  // namespace sisyfs
