// sisyfs check --perspectives: the same search on five devices, from the simplest to the sternest, so that
// each finding is told in the simplest of them that has it (FiSC, 6.3).
#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/run.h"
#include "crash/device_model.h"

namespace sisyfs::cli {
namespace {

// The last word on an option counts. A device that scatters writes is not for lazy crash states, and has few.
std::vector<std::string> seen_from(std::string_view device, std::vector<std::string> settings) {
  settings.push_back(fmt::format("device={}", device));
  const bool none = std::ranges::find(settings, "crash=none") != settings.end();
  if (device == "scattered" && !none) settings.emplace_back("crash=subsets");
  return settings;
}

}  // namespace

int search_in_perspectives(const std::string& target, const std::vector<std::string>& settings,
                           SearchOptions options, const std::string& progress) {
  const auto names_device = [](const std::string& setting) { return setting.starts_with("device="); };
  if (std::ranges::any_of(settings, names_device))
    return fail(bad_input("option 'device' is given twice: --perspectives says which devices there are"));
  const auto perspectives = DeviceModel::perspectives();
  FindingBits found = 0;  // the devices differ, the kinds of findings do not
  Verdict verdict = Verdict::kPass;
  for (size_t i = 0; i < perspectives.size(); ++i) {
    const Result<NamedCheck> named = registry().make(target, seen_from(perspectives[i].name, settings));
    if (!named) return fail(named.error());
    const std::string known = names_of(named->check->kinds().in(found));
    options = named->check->fitted(options);
    if (Status s = named->check->accepts(options); !s) return fail(s.error());
    const SearchResult result = named->check->search(options, progress_printer(progress));
    clear_progress();
    if (result.stopped == Stop::kHarness)
      return fail(result.trouble.value_or(system_error("the search failed and does not say why")));
    const Result<Explanation> explained = explain(*named, options, result, progress);
    if (!explained) return fail(explained.error());
    fmt::print("Perspective {} of {}, device={}: {}.\n", i + 1, perspectives.size(), perspectives[i].name,
               perspectives[i].says);
    if (!known.empty()) fmt::print("Not looked for, as a simpler device has them: {}.\n", known);
    for (const ToldFinding& finding : explained->findings) fmt::print("{}\n", tell(finding, text_style()));
    fmt::print("{}", closing_statement(named->setup, *named->check, options, result, text_style()));
    if (!explained->why.empty()) fmt::print("  no trace  {}\n", explained->why);
    fmt::print("\n");
    found |= result.findings;
    verdict = merge(verdict, result.verdict);
    // What was found is not looked for in sterner ones.
    options.watched &= ~found;
    const bool enough = found != 0 && options.stop != StopRule::kNever;
    if (enough || (options.watched & named->check->kinds().all()) == 0) break;
    if (interrupted().load() && i + 1 < perspectives.size()) {  // perhaps after the search was over
      verdict = merge(verdict, Verdict::kUnknown);
      break;
    }
  }
  if (found != 0) return kFound;
  return verdict == Verdict::kPass ? kClean : kInconclusive;
}

}  // namespace sisyfs::cli
