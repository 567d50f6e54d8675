// Runs as JSON, schema sisyfs.run/2 (docs/formats/run.md), with the stories of their findings.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "explore/search.h"
#include "finding/check.h"
#include "finding/told_finding.h"

namespace sisyfs {

inline constexpr const char* kRunSchema = "sisyfs.run/2";

// A finding (finding/finding_json.h) with its token and its story.
nlohmann::ordered_json to_json(const ToldFinding& told);

// A run: what was searched, how far, with what result, and all its findings.
nlohmann::ordered_json to_json(const Setup& setup, const Check& check, const SearchOptions& options,
                               const SearchResult& result, const std::vector<ToldFinding>& findings);

}  // namespace sisyfs
