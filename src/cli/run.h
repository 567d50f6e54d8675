// One run of a search, from a check and its options to the exit code. Shared by check and resume.
//
//   return search_and_report(*named, *options, {.progress = "auto", .json = "run.json"});
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/plugin/black_box.h"
#include "base/result.h"
#include "finding/registry.h"
#include "finding/told_finding.h"

namespace sisyfs::cli {

// What a search found, told.
struct TracedFindings {
  std::vector<ToldFinding> findings;  // with the shortest trace of each kind
  std::vector<std::string> untraced;  // the kinds for which none could be made, by name
  std::string why;                    // that is so, as a sentence that begins with these names; or nothing
};

// Finds and replays the shortest trace of each kind of finding. A system error if a replay, or the search for
// traces, contradicts the search.
Result<TracedFindings> trace_findings(const NamedCheck& named, const SearchOptions& options,
                                      const SearchResult& result, const std::string& progress = "off");

struct RunOutput {
  std::string progress;  // value of --progress
  std::string json;      // path of a file, "-", or empty for no JSON
  // That of a search with foreign code; null: none. Without a finding, a death in it must have been
  // explained.
  const BlackBox* box = nullptr;
  bool verbose = false;  // stories with everything
  // How often each finding is replayed; nothing: as often as its target wants.
  std::optional<uint32_t> confirm = {};
};

// A path as one word of a shell, in quotes where it needs them.
std::string quoted(const std::string& path);

// Bad input if checkpoints cannot be written to this path.
Status can_save(const std::string& path);

// Bad input if the output cannot be written, or would overwrite the checkpoint. Called before the search.
Status can_report(const RunOutput& output, const SearchOptions& options);

// An error if a process of the search died in foreign code and nothing explains it. For runs without a
// finding.
Status deaths_explained(const RunOutput& output);

// Searches, reports findings and coverage, and returns the exit code.
int search_and_report(const NamedCheck& named, const SearchOptions& options, const RunOutput& output);

// Searches on each of DeviceModel::perspectives() in turn, up to the first one with a finding. With
// StopRule::kNever all are searched, and each kind of finding is reported for the first device that has it.
int search_in_perspectives(const std::string& target, const std::vector<std::string>& settings,
                           SearchOptions options, const RunOutput& output);

}  // namespace sisyfs::cli
