// From kinds of findings to findings with their stories.
#pragma once

#include <vector>

#include "base/result.h"
#include "judge/finding.h"
#include "judge/registry.h"

namespace sisyfs::cli {

// The shortest trace of each kind, told. A system error where a replay differs from the search.
Result<std::vector<Finding>> explain(const NamedCheck& named, const SearchOptions& options,
                                     const SearchResult& result);

}  // namespace sisyfs::cli
