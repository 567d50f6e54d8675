// One round through the museum: each exhibit is searched, replayed in a fresh process, and compared with what
// the catalogue says; then the same target without the mistake must be clean to the same depth. A guide keeps
// what it has already seen, so that exhibits which share a twin search it once.
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
#include "judge/registry.h"

namespace sisyfs::cli {

// How what happened compares with what the catalogue says.
enum class Fit : uint8_t {
  kAsExpected,
  kWaits,    // not tried: it needs what the checker cannot do yet
  kStopped,  // Ctrl-C or a bound on memory came first
  kDiffers,
};

// What came of one exhibit or model.
struct Shown {
  Fit fit = Fit::kAsExpected;
  std::string why;        // what differs, or for what it waits
  SearchResult search;    // of the exhibit, or of the model
  uint32_t found_at = 0;  // depth of the shallowest finding; 0 for none
  std::string token;      // replays it
  bool replayed = false;  // and did, in a fresh process
  SearchResult twin;      // the same target without the mistake
  bool twin_ran = false;
};

// Replays a token and gives the exit code of that: kFound if it confirms the finding. An error if it could
// not be started, or did not end by itself.
using Replayer = std::function<Result<int>(const std::string& token)>;
Result<int> replay_in_fresh_process(const std::string& token);

class MuseumGuide {
 public:
  // `options` has threads, bounds on memory and the interrupt; `progress` is what --progress says.
  MuseumGuide(SearchOptions options, std::string progress, Replayer replay = replay_in_fresh_process);

  // An error is a problem of the harness; all else is told by what is shown.
  Result<Shown> show(const Exhibit& exhibit);
  Result<Shown> show(const RightModel& model, bool long_run);

 private:
  Result<SearchResult> search(const NamedCheck& named, const SearchOptions& options) const;
  // The search and its findings, told and replayed.
  Status find(const Exhibit& exhibit, Shown& shown) const;
  Status compare_twin(const Exhibit& exhibit, Shown& shown);

  SearchOptions options_;
  std::string progress_;
  Replayer replay_;
  std::map<std::string, SearchResult> twins_;
};

// What the user says.
struct MuseumFlags {
  std::string exhibits, json, threads, progress = "auto";
  std::vector<std::string> only;
  bool list = false, long_run = false;
};

// The whole round: prints the table as it goes, writes JSON where the flags ask for it, and gives the exit
// code.
int show_round(const Museum& museum, const MuseumFlags& flags, const SearchOptions& options,
               Replayer replay = replay_in_fresh_process);

}  // namespace sisyfs::cli
