// sisyfs check --perspectives: the same search on five device models, from the most reliable to the least. So
// each finding is reported for the most reliable device that shows it (FiSC, 6.3).
#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/run.h"
#include "crash/device_model.h"

namespace sisyfs::cli {
namespace {

// The settings for one device. The last setting of an option counts. Lazy crash states do not support a
// device that scatters writes; it has few crash states anyway.
std::vector<std::string> settings_for(std::string_view device, std::vector<std::string> settings) {
  settings.push_back(fmt::format("device={}", device));
  const bool none = std::ranges::find(settings, "crash=none") != settings.end();
  if (device == "scattered" && !none) settings.emplace_back("crash=subsets");
  return settings;
}

}  // namespace

int search_in_perspectives(const std::string& target, const std::vector<std::string>& settings,
                           SearchOptions options, const RunOutput& output) {
  const auto names_device = [](const std::string& setting) { return setting.starts_with("device="); };
  if (std::ranges::any_of(settings, names_device))
    return fail(bad_input("option 'device' is given twice: --perspectives sets it, too"));
  const auto perspectives = DeviceModel::perspectives();
  FindingBits found = 0;  // the devices differ, the kinds of findings do not
  Verdict verdict = Verdict::kPass;
  for (size_t i = 0; i < perspectives.size(); ++i) {
    const Result<NamedCheck> named = registry().make(target, settings_for(perspectives[i].name, settings));
    if (!named) return fail(named.error());
    const std::string known = names_of(named->check->kinds().in(found));
    options = named->check->fitted(options);
    if (Status s = named->check->accepts(options); !s) return fail(s.error());
    const SearchResult result = named->check->search(options, progress_printer(output.progress));
    clear_progress();
    if (result.stopped == Stop::kHarness)
      return fail(result.trouble.value_or(system_error("the search failed for an unknown reason")));
    Result<TracedFindings> traced = trace_findings(*named, options, result, output.progress);
    if (!traced) return fail(traced.error());
    if (Status s = confirm_all(traced->findings, output.confirm); !s) return fail(s.error());
    fmt::print("Perspective {} of {}, device={}: {}.\n", i + 1, perspectives.size(), perspectives[i].name,
               perspectives[i].says);
    if (!known.empty()) fmt::print("Not looked for, as a simpler device has them: {}.\n", known);
    fmt::print("{}", tell_all(traced->findings, text_style(output.verbose)));
    fmt::print("{}", closing_statement(named->setup, *named->check, options, result, text_style()));
    if (!traced->why.empty()) fmt::print("  no trace  {}\n", traced->why);
    fmt::print("\n");
    found |= result.findings;
    verdict = merge(verdict, result.verdict);
    // Kinds that were found are not searched for on later devices.
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
