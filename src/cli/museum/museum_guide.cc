// Shows one exhibit or model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "cli/cli.h"
#include "cli/museum/museum.h"
#include "cli/run.h"
#include "cli/run_self.h"
#include "finding/token.h"

namespace sisyfs::cli {
namespace {

// Whether a bound or Ctrl-C ended the search.
bool cut_off(const SearchResult& result) {
  return result.stopped != Stop::kNo && result.stopped != Stop::kFinding;
}

void stop(Shown& shown, const SearchResult& result, const char* what) {
  shown.fit = Fit::kStopped;
  shown.why = fmt::format("{} was stopped at depth {}{}", what, result.depth,
                          result.stopped == Stop::kMemory ? " by the memory bound" : "");
}

void differ(Shown& shown, std::string why) {
  if (shown.fit == Fit::kDiffers) return;
  shown.fit = Fit::kDiffers;
  shown.why = std::move(why);
}

uint32_t shallowest(const SearchResult& result) {
  uint32_t least = 0;
  for (FindingBits left = result.findings; left != 0; left &= left - 1) {
    const uint32_t depth = result.least_depth[static_cast<size_t>(std::countr_zero(left))];
    if (least == 0 || depth < least) least = depth;
  }
  return least;
}

// A search that ends at its first finding, within the bound of an exhibit or model.
SearchOptions bounded(SearchOptions options, uint32_t depth, FindingBits watched) {
  options.stop = StopRule::kFirst;
  options.bounds.depth = depth;
  options.watched = watched;
  return options;
}

// Why a run that should be clean is not, or nothing.
std::string unclean(const ShownSearch& shown, Twin wanted) {
  if (!shown.found.empty()) return fmt::format("{} at depth {}", codes_of(shown.found), shown.found_at);
  if (wanted == Twin::kClean && shown.result.verdict != Verdict::kPass)
    return fmt::format("no finding, but the verdict is unknown ({} crash states left out)",
                       shown.result.left_out);
  return "";
}

}  // namespace

Result<int> replay_in_fresh_process(const std::string& token) {
  return run_self({"sisyfs", "replay", "--quiet", token}, SelfOutput::kDropped);
}

MuseumGuide::MuseumGuide(SearchOptions options, std::string progress, Replayer replay)
    : options_(std::move(options)), progress_(std::move(progress)), replay_(std::move(replay)) {}

Result<ShownSearch> MuseumGuide::search(const NamedCheck& named, const SearchOptions& options) const {
  if (Status s = named.check->accepts(options); !s) return s.error();
  SearchResult result = named.check->search(options, progress_printer(progress_));
  clear_progress();
  if (result.stopped == Stop::kHarness)
    return result.trouble.value_or(system_error("the search failed for an unknown reason"));
  ShownSearch shown{std::move(result), {}, 0};
  shown.found = named.check->kinds().in(shown.result.findings);
  shown.found_at = shallowest(shown.result);
  return shown;
}

Status MuseumGuide::find(const Exhibit& exhibit, Shown& shown) const {
  const Result<NamedCheck> named = registry().make(exhibit.target, wrong_settings(exhibit));
  if (!named) return named.error();
  SearchOptions options =
      bounded(options_, exhibit.depth,
              exhibit.only.empty() ? ~FindingBits{0} : named->check->kinds().bits(exhibit.only));
  options.order = exhibit.search;
  options.dedup = exhibit.dedup;
  Result<ShownSearch> searched = search(*named, options);
  if (!searched) return searched.error();
  shown.search = *std::move(searched);
  const SearchResult& result = shown.search.result;
  if (shown.search.found.empty()) {
    if (cut_off(result))
      stop(shown, result, "the search");
    else
      differ(shown, fmt::format("not found to depth {}; {} at depth {} was expected", exhibit.depth,
                                codes_of(exhibit.finds), exhibit.at));
    return {};
  }
  const Result<TracedFindings> traced = trace_findings(*named, options, result);
  if (interrupted().load()) {
    stop(shown, result, "the search");
    return {};
  }
  if (!traced) return traced.error();
  if (traced->findings.empty()) return system_error("no trace of " + traced->why);
  shown.token = make_token(traced->findings.front().finding);
  const Result<int> code = replay_(shown.token);
  if (!code) return code.error();
  shown.replayed = *code == kFound;
  if (shown.search.found != exhibit.finds)
    differ(shown,
           fmt::format("found {}; {} was expected", codes_of(shown.search.found), codes_of(exhibit.finds)));
  if (shown.search.found_at != exhibit.at)
    differ(shown, fmt::format("found at depth {}; {} was expected", shown.search.found_at, exhibit.at));
  if (!shown.replayed)
    differ(shown,
           fmt::format("the replay in a fresh process does not confirm it: exit code {}; {} was expected",
                       *code, static_cast<int>(kFound)));
  return {};
}

Status MuseumGuide::compare_twin(const Exhibit& exhibit, Shown& shown) {
  const Result<NamedCheck> named = registry().make(exhibit.target, exhibit.set);
  if (!named) return named.error();
  SearchOptions options =
      bounded(options_, exhibit.at,
              exhibit.twin == Twin::kOther ? named->check->kinds().bits(exhibit.finds) : ~FindingBits{0});
  options.dedup = exhibit.dedup;
  const std::string key = fmt::format("{} {} {} {} {}", exhibit.target, fmt::join(named->setup.settings, " "),
                                      exhibit.at, options.watched, static_cast<int>(options.dedup));
  auto seen = twins_.find(key);
  if (seen == twins_.end()) {
    Result<ShownSearch> result = search(*named, options);
    if (!result) return result.error();
    if (cut_off(result->result)) {
      stop(shown, result->result, "the search without the mistake");
      return {};
    }
    seen = twins_.emplace(key, *std::move(result)).first;
  }
  shown.twin = seen->second;
  shown.twin_ran = true;
  if (const std::string why = unclean(shown.twin, exhibit.twin); !why.empty())
    differ(shown, "without the mistake: " + why);
  return {};
}

Result<Shown> MuseumGuide::show(const Exhibit& exhibit) {
  Shown shown;
  if (!exhibit.waits.empty()) {
    shown.fit = Fit::kWaits;
    shown.why = exhibit.waits;
    return shown;
  }
  if (Status s = find(exhibit, shown); !s) return s.error();
  if (shown.fit == Fit::kStopped) return shown;
  if (Status s = compare_twin(exhibit, shown); !s) return s.error();
  return shown;
}

Result<Shown> MuseumGuide::show(const RightModel& model, bool long_run) {
  const Result<NamedCheck> named = registry().make(model.target, model.set);
  if (!named) return named.error();
  Shown shown;
  const SearchOptions options = bounded(options_, long_run ? model.long_depth : model.depth, ~FindingBits{0});
  Result<ShownSearch> result = search(*named, options);
  if (!result) return result.error();
  shown.search = *std::move(result);
  if (const std::string why = unclean(shown.search, Twin::kClean); why.empty())
    return shown;
  else if (shown.search.found.empty() && cut_off(shown.search.result))
    stop(shown, shown.search.result, "the search");
  else
    differ(shown, why);
  return shown;
}

}  // namespace sisyfs::cli
