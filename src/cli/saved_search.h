// What a checkpoint says of its search in words, so that `resume` can make the same check and options.
//
//   Result<SavedSearch> saved = read_search(loaded.setup());
//   Result<NamedCheck> named = registry().make(saved->setup.target, saved->setup.settings);
//
//   options.checkpoint = {.path = "run.checkpoint"};
//   describe_search(named->setup, options);                     // the words and the identity
//
// The words are JSON; docs/formats/checkpoint.md names the fields.
#pragma once

#include <string_view>

#include "base/result.h"
#include "explore/search.h"
#include "judge/finding.h"

namespace sisyfs::cli {

struct SavedSearch {
  Setup setup;
  // Order, dedup, depth bound, stop rule, what is watched, the memory bound and the interval of saves.
  // The bounds on states and time are those of one run and not kept.
  SearchOptions options;
};

// Fills setup and identity of options.checkpoint, which is there. The identity covers all that decides what
// the search finds and counts, the version of the program and its kind of fingerprint included; it does not
// cover threads, memory and other bounds of one run. Bad input for a target that JSON has no word for.
Status describe_search(const Setup& setup, SearchOptions& options);

// Bad input for words that are not ours, of another version or of another kind of fingerprint.
Result<SavedSearch> read_search(std::string_view words);

}  // namespace sisyfs::cli
