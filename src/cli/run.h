// One run, from a check and its options to the exit code: what check and resume have in common.
//
//   return search_and_report(*named, *options, {.progress = "auto", .json = "run.json"});
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "finding/registry.h"
#include "finding/told_finding.h"

namespace sisyfs::cli {

// What a search found, told.
struct Explanation {
  std::vector<ToldFinding> findings;      // with the shortest trace of each kind
  std::vector<std::string> untraced;  // the kinds for which none could be made, by name
  std::string why;                    // that is so, as a sentence that begins with these names; or nothing
};

// A system error where a replay, or the search for the traces, differs from the search.
Result<Explanation> explain(const NamedCheck& named, const SearchOptions& options, const SearchResult& result,
                            const std::string& progress = "off");

struct RunOutput {
  std::string progress;  // as --progress says it
  std::string json;      // a file, "-" or nothing
};

// Bad input unless checkpoints can be written there.
Status can_save(const std::string& path);

// Bad input unless the output can be written, and without harm to what the search saves: better known before
// the search than after it.
Status can_report(const RunOutput& output, const SearchOptions& options);

// Searches, tells what was found and what was covered, and gives the exit code.
int search_and_report(const NamedCheck& named, const SearchOptions& options, const RunOutput& output);

// The same on each of DeviceModel::perspectives() in turn, and up to the first that has a finding (with
// StopRule::kNever through all, each kind of finding in the first that has it).
int search_in_perspectives(const std::string& target, const std::vector<std::string>& settings,
                           SearchOptions options, const std::string& progress);

}  // namespace sisyfs::cli
