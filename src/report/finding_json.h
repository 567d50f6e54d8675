// Findings and runs as JSON, schemas sisyfs.finding/1 and sisyfs.run/1 (docs/formats/).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "explore/search.h"
#include "judge/check.h"
#include "judge/finding.h"
#include "report/token.h"

namespace sisyfs {

inline constexpr const char* kFindingSchema = "sisyfs.finding/1";
inline constexpr const char* kRunSchema = "sisyfs.run/1";

nlohmann::ordered_json to_json(const Finding& finding);

// A run: what was searched, how far, with what result, and all its findings.
nlohmann::ordered_json to_json(const Setup& setup, const SearchOptions& options, const SearchResult& result,
                               std::span<const MarkInfo> marks, const std::vector<Finding>& findings);

// As it is written to files. A path may hold bytes that are no UTF-8, which JSON cannot: they are replaced,
// and the token has them.
std::string text_of(const nlohmann::ordered_json& json);

// The replays that a file holds: one for a finding, one for each finding of a run. Fails with one
// sentence for what is no JSON, no file of ours, of another version, or lacks its token.
Result<std::vector<Replay>> replays_in(const std::string& text);

}  // namespace sisyfs
