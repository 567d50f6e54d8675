// MuseumGuide: searches each exhibit, replays its finding in a fresh process, and compares both with the
// catalogue. Then the same target without the bug (the twin) must have no finding to the same depth. Results
// of twins are cached, so exhibits that share a twin search it once.
//
//   MuseumGuide guide(options, "auto");
//   Result<Shown> shown = guide.show(exhibit);
//   if (shown && shown->fit == Fit::kDiffers) tell(shown->why);
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/museum/exhibits.h"
#include "finding/registry.h"

namespace sisyfs::cli {

// How the result compares with the catalogue.
enum class Fit : uint8_t {
  kAsExpected,
  kWaits,    // not tried: the checker lacks a feature that it needs
  kStopped,  // ended by Ctrl-C or by the memory bound
  kDiffers,
};

// What came of one search.
struct ShownSearch {
  SearchResult result;
  std::vector<FindingKind> found;
  uint32_t found_at = 0;  // depth of the shallowest finding; 0 for none
};

// What came of one exhibit or model.
struct Shown {
  Fit fit = Fit::kAsExpected;
  std::string why;        // what differs, or for what it waits
  ShownSearch search;     // of the exhibit, or of the model
  std::string token;      // replays it
  bool replayed = false;  // and did, in a fresh process
  ShownSearch twin;       // the same target without the mistake
  bool twin_ran = false;
};

// Replays a token and returns the exit code: kFound if it confirms the finding. An error if it could not be
// started or was killed by a signal.
using Replayer = std::function<Result<int>(const std::string& token)>;
Result<int> replay_in_fresh_process(const std::string& token);

class MuseumGuide {
 public:
  // `options` has threads, memory bound and interrupt; `progress` is the value of --progress.
  MuseumGuide(SearchOptions options, std::string progress, Replayer replay = replay_in_fresh_process);

  // An error is a problem of the checker itself; every other result is a Shown.
  Result<Shown> show(const Exhibit& exhibit);
  Result<Shown> show(const RightModel& model, bool long_run);

 private:
  Result<ShownSearch> search(const NamedCheck& named, const SearchOptions& options) const;
  // The search and its findings, told and replayed.
  Status find(const Exhibit& exhibit, Shown& shown) const;
  Status compare_twin(const Exhibit& exhibit, Shown& shown);

  SearchOptions options_;
  std::string progress_;
  Replayer replay_;
  std::map<std::string, ShownSearch> twins_;
};

// The flags of the subcommand.
struct MuseumFlags {
  std::string exhibits, json, threads, progress = "auto";
  std::vector<std::string> only;
  bool list = false, long_run = false;
};

// Shows all exhibits and models: prints the table line by line, writes JSON if the flags ask for it, and
// returns the exit code.
int show_round(const Museum& museum, const MuseumFlags& flags, const SearchOptions& options,
               Replayer replay = replay_in_fresh_process);

}  // namespace sisyfs::cli
