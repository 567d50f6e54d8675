// Findings as bits in the order of the catalogue, for tests that compare checks with different numbers.
#pragma once

#include <vector>

#include "finding/check.h"

namespace sisyfs {

constexpr FindingBits bit(FindingKind kind) { return FindingBits{1} << static_cast<unsigned>(kind); }

inline FindingBits catalogue_bits(const std::vector<FindingKind>& kinds) {
  FindingBits bits = 0;
  for (const FindingKind kind : kinds) bits |= bit(kind);
  return bits;
}
inline FindingBits catalogue_bits(const Check& check, FindingBits findings) {
  return catalogue_bits(check.kinds().in(findings));
}

// Searches, and numbers what was found by the catalogue.
inline SearchResult catalogued_search(const Check& check, const SearchOptions& options) {
  SearchResult result = check.search(options, {});
  result.findings = catalogue_bits(check, result.findings);
  result.met = catalogue_bits(check, result.met);
  const auto times = result.times_found;
  const auto depths = result.least_depth;
  result.times_found = {};
  result.least_depth = {};
  for (size_t number = 0; number < check.kinds().kinds().size(); ++number) {
    const auto kind = static_cast<size_t>(check.kinds()[number]);
    result.times_found[kind] = times[number];
    result.least_depth[kind] = depths[number];
  }
  return result;
}

}  // namespace sisyfs
