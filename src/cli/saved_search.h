// The description of a search in its checkpoint, from which `resume` makes the same check and options.
//
//   Result<SavedSearch> saved = read_search(loaded.setup());
//   Result<NamedCheck> named = registry().make(saved->setup.target, saved->setup.settings);
//
//   options.checkpoint = {.path = "run.checkpoint"};
//   describe_search(named->setup, options);                     // fills in description and identity
//
// The description is JSON; docs/formats/checkpoint.md lists its fields.
#pragma once

#include <string_view>

#include "base/result.h"
#include "explore/search.h"
#include "finding/finding.h"

namespace sisyfs::cli {

struct SavedSearch {
  Setup setup;
  // Order, dedup, depth bound, stop rule, watched findings, memory bound and interval of saves. The bounds on
  // states and time belong to one run and are not saved.
  SearchOptions options;
  uint32_t ace = 0;  // core ops of the workloads of ACE that it follows; 0: the usual workload
};

// Fills in setup and identity of options.checkpoint, which must be set. The identity covers everything that
// decides the findings and counts of the search, including the version of the program and its kind of
// fingerprint. It does not cover threads, memory and other bounds of one run. Bad input if the target's path
// is not UTF-8.
Status describe_search(const Setup& setup, SearchOptions& options, uint32_t ace = 0);

// Bad input if the description is malformed, from another version, or for another kind of fingerprint.
Result<SavedSearch> read_search(std::string_view description);

}  // namespace sisyfs::cli
