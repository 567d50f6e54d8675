// Runs a search and reports the result.
#include "cli/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "base/printable.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/files.h"
#include "explore/checkpoint.h"
#include "finding/finding_json.h"
#include "finding/token.h"
#include "report/run_json.h"

namespace sisyfs::cli {

namespace {

// A story that is no longer than the trace, and shows the kind too: both have one cause.
const ToldFinding* same_story(const std::vector<ToldFinding>& told, FindingKind kind, const Trace& trace) {
  const auto at = std::find_if(told.begin(), told.end(), [&](const ToldFinding& other) {
    return other.finding.steps.size() <= trace.size() && other.story.shows(kind);
  });
  return at == told.end() ? nullptr : &*at;
}

// A search for the first finding tells one of each kind; others tell each variant of a kind. Findings that
// one story shows have its steps.
Result<std::vector<ToldFinding>> told(const NamedCheck& named, const std::vector<FoundTrace>& traces,
                                      StopRule stop) {
  std::vector<ToldFinding> findings;
  for (const FoundTrace& found : traces) {
    const FindingKind kind = named.check->kinds()[found.kind];
    const auto same_kind = [&](const ToldFinding& other) { return other.finding.kind == kind; };
    if (stop == StopRule::kFirst && std::any_of(findings.begin(), findings.end(), same_kind)) continue;
    if (named.check->kinds().variants(kind) == 1) {
      if (const ToldFinding* const other = same_story(findings, kind, found.trace)) {
        findings.push_back(*other);
        findings.back().finding.kind = kind;
        continue;
      }
    }
    Result<std::vector<Step>> steps = named.check->steps(found.trace);
    if (!steps)
      return system_error("a finding could not be replayed (nondeterminism): " + steps.error().message);
    Finding finding;
    finding.kind = kind;
    finding.setup = named.setup;
    finding.steps = *std::move(steps);
    Replayed replayed = named.check->replay(finding.steps);
    if (!replayed.cannot_happen.empty())
      return system_error(fmt::format("{} was found and could not be replayed (nondeterminism): {}: {}",
                                      info(kind).name, replayed.cannot_happen, make_token(finding)));
    if (!replayed.story.shows(kind))
      return system_error(
          fmt::format("{} was found but did not happen in its replay, so the target is not "
                      "deterministic; in the replay {}: {}",
                      info(kind).name, difference_of(replayed, kind), make_token(finding)));
    findings.push_back({std::move(finding), std::move(replayed.story)});
  }
  return findings;
}

// Why traces are missing; an error if that is impossible for a deterministic target.
Result<std::string> why_untraced(const FoundTraces& found, const SearchOptions& options,
                                 const std::string& names) {
  switch (found.stopped) {
    case Stop::kInterrupted:
      return names + ": the search for the trace was interrupted";
    case Stop::kMemory:
      return names + ": the memory bound is too small to find the trace; increase --memory";
    case Stop::kNo:
      if (is_coarse(options.dedup))
        return names + ": the search for the trace merged other states of the same shape or tree";
      return system_error(names + " was found, but not in a second search: the target is not deterministic");
    default:
      return found.trouble.value_or(system_error(names + ": the search for the trace failed"));
  }
}

}  // namespace

Result<TracedFindings> trace_findings(const NamedCheck& named, const SearchOptions& options,
                                      const SearchResult& result, const std::string& progress) {
  FoundTraces found;
  {
    const TracesInterrupt heeded;
    SearchOptions patient = options;
    patient.interrupt = &traces_interrupted();
    found = named.check->find_traces(patient, result, progress_printer(progress));
  }
  clear_progress();
  TracedFindings traced;
  FindingBits missing = result.findings;
  for (const FoundTrace& trace : found.traces) missing &= ~(FindingBits{1} << trace.kind);
  for (const FindingKind kind : named.check->kinds().in(missing))
    traced.untraced.emplace_back(info(kind).name);
  if (!traced.untraced.empty()) {
    Result<std::string> why =
        why_untraced(found, options, fmt::format("{}", fmt::join(traced.untraced, ", ")));
    if (!why) return why.error();
    traced.why = *std::move(why);
  }
  Result<std::vector<ToldFinding>> findings = told(named, found.traces, options.stop);
  if (!findings) return findings.error();
  traced.findings = *std::move(findings);
  return traced;
}

namespace {

// Whether a bound or Ctrl-C ended a search that was saved.
bool can_go_on(const SearchOptions& options, const SearchResult& result) {
  if (!options.checkpoint || result.checkpoints_written == 0) return false;
  return result.stopped != Stop::kNo && result.stopped != Stop::kFinding && result.stopped != Stop::kHarness;
}

}  // namespace

std::string quoted(const std::string& path) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/._-+=:,@%", c) != nullptr;
  };
  if (!path.empty() && path.front() != '-' && std::all_of(path.begin(), path.end(), plain)) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

Status can_save(const std::string& path) {
  std::error_code ignored;
  const std::string part = temporary_of(path);
  if (std::filesystem::exists(part, ignored) && !std::filesystem::is_regular_file(part, ignored))
    return bad_input(
        fmt::format("cannot write {}, the temporary file of the checkpoint: it is not a regular file", part));
  return can_write(path);
}

Status can_report(const RunOutput& output, const SearchOptions& options) {
  if (output.json.empty() || output.json == "-") return {};
  if (options.checkpoint && (same_file(output.json, options.checkpoint->path) ||
                             same_file(output.json, temporary_of(options.checkpoint->path))))
    return bad_input(fmt::format("--json {} would replace the checkpoint: name another file", output.json));
  return can_write(output.json);
}

Status deaths_explained(const RunOutput& output) {
  const char* const death = output.box == nullptr ? nullptr : output.box->unconfirmed();
  if (death == nullptr) return {};
  return system_error(fmt::format(
      "the target is not deterministic, or has written to memory of the checker: a process died in a "
      "call that does not end it any more ({})",
      death));
}

int search_and_report(const NamedCheck& named, const SearchOptions& wanted, const RunOutput& output) {
  const SearchOptions options = named.check->fitted(wanted);
  const SearchResult result = named.check->search(options, progress_printer(output.progress));
  clear_progress();
  if (result.stopped == Stop::kHarness)
    return fail(result.trouble.value_or(system_error("the search failed for an unknown reason")));
  if (result.verdict == Verdict::kPass)
    if (const Status s = deaths_explained(output); !s) return fail(s.error());
  Result<TracedFindings> traced = trace_findings(named, options, result, output.progress);
  if (!traced) return fail(traced.error());
  if (Status s = confirm_all(traced->findings, output.confirm); !s) return fail(s.error());
  const bool text = output.json != "-";
  const std::string device = named.check->device(), snapshots = named.check->snapshots(),
                    repairs = named.check->repairs();
  if (text) {
    fmt::print("{}", tell_all(traced->findings, text_style(output.verbose)));
    fmt::print("{}", closing_statement(named.setup, *named.check, options, result, text_style()));
    if (!traced->why.empty()) fmt::print("  no trace  {}\n", printable(traced->why));
    if (!device.empty()) fmt::print("  device    {}\n", printable(device));
    if (!repairs.empty()) fmt::print("  repairs   {}\n", printable(repairs));
    if (!snapshots.empty()) fmt::print("  snapshots {}\n", printable(snapshots));
  }
  if (!output.json.empty()) {
    auto json = to_json(named.setup, *named.check, options, result, traced->findings);
    json["untraced"] = traced->untraced;
    if (!device.empty()) json["device"] = device;
    if (const auto workloads = named.check->workloads())
      json["workload"] = {
          {"core_ops", workloads->core_ops},
          {"count", workloads->count ? nlohmann::ordered_json(*workloads->count) : nlohmann::ordered_json()}};
    if (!named.check->cuts().empty()) json["cuts"] = named.check->cuts();
    if (!repairs.empty()) json["repairs"] = repairs;
    if (!snapshots.empty()) json["snapshots"] = snapshots;
    if (Status s = write_file(output.json, text_of(json)); !s) return fail(s.error());
  }
  if (result.trouble)
    to_stderr(fmt::format("sisyfs: {}; the search continued, and the last successful save is intact\n",
                          printable_message(result.trouble->message)));
  if (!text && !traced->why.empty()) to_stderr(fmt::format("sisyfs: no trace of {}\n", traced->why));
  if (can_go_on(options, result)) {
    const std::string how =
        fmt::format("to continue: ./sisyfs resume {}\n", printable(quoted(options.checkpoint->path)));
    if (text)
      fmt::print("{}", how);
    else
      to_stderr(how);
  }
  return exit_code(result);
}

}  // namespace sisyfs::cli
