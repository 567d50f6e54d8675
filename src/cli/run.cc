// The run itself, and what is said about it.
#include "cli/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

#include "cli/cli.h"
#include "report/finding_json.h"
#include "report/token.h"

namespace sisyfs::cli {

Result<std::vector<Finding>> explain(const NamedCheck& named, const SearchOptions& options,
                                     const SearchResult& result, const std::string& progress) {
  std::vector<Finding> told;
  const TracesInterrupt heeded;
  SearchOptions patient = options;
  patient.interrupt = &traces_interrupted();
  std::vector<FoundTrace> traces = named.check->explain(patient, result, progress_printer(progress));
  clear_progress();
  for (FoundTrace& found : traces) {
    Result<Story> story = named.check->tell(found.trace);
    if (!story)
      return system_error("a finding could not be replayed (nondeterminism): " + story.error().message);
    if ((story->findings >> found.kind & 1) == 0)
      return system_error(
          fmt::format("{} was found and did not happen again when it was replayed, so the target is not "
                      "deterministic: {}",
                      info(static_cast<FindingKind>(found.kind)).name,
                      make_token({static_cast<FindingKind>(found.kind), named.setup, found.trace})));
    told.push_back(
        {static_cast<FindingKind>(found.kind), named.setup, std::move(found.trace), *std::move(story)});
  }
  return told;
}

std::vector<std::string> untraced(const SearchResult& result, const std::vector<Finding>& findings) {
  uint32_t missing = result.findings;
  for (const Finding& finding : findings) missing &= ~bit(finding.kind);
  std::vector<std::string> names;
  for (; missing != 0; missing &= missing - 1)
    names.emplace_back(info(static_cast<FindingKind>(std::countr_zero(missing))).name);
  return names;
}

std::string untraced_text(const SearchResult& result, const std::vector<Finding>& findings) {
  const std::vector<std::string> names = untraced(result, findings);
  if (names.empty()) return {};
  return fmt::format("{}: {}", fmt::join(names, ", "),
                     traces_interrupted().load()
                         ? "the search for the way there was interrupted"
                         : "the memory bound is too small to find the way there; give --memory more");
}

namespace {

// As a shell takes it for one word.
std::string quoted(const std::string& path) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/._-+=:,@%", c) != nullptr;
  };
  if (!path.empty() && path.front() != '-' && std::all_of(path.begin(), path.end(), plain)) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Whether a bound or Ctrl-C cut a search that was saved.
bool can_go_on(const SearchOptions& options, const SearchResult& result) {
  if (!options.checkpoint || result.checkpoints_written == 0) return false;
  return result.stopped != Stop::kNo && result.stopped != Stop::kFinding && result.stopped != Stop::kHarness;
}

}  // namespace

Status can_report(const RunOutput& output) {
  return output.json.empty() || output.json == "-" ? Status() : can_write(output.json);
}

int search_and_report(const NamedCheck& named, const SearchOptions& wanted, const RunOutput& output) {
  const SearchOptions options = named.check->fitted(wanted);
  const SearchResult result = named.check->search(options, progress_printer(output.progress));
  clear_progress();
  if (result.stopped == Stop::kHarness)
    return fail(result.trouble.value_or(system_error("the search failed and does not say why")));
  const Result<std::vector<Finding>> findings = explain(named, options, result, output.progress);
  if (!findings) return fail(findings.error());
  const bool text = output.json != "-";
  const std::string no_trace = untraced_text(result, *findings);
  const std::string device = named.check->device(), snapshots = named.check->snapshots();
  if (text) {
    for (const Finding& finding : *findings) fmt::print("{}\n", tell(finding, text_style()));
    fmt::print("{}", closing_statement(named.setup, options, result, named.check->marks(), text_style()));
    if (!no_trace.empty()) fmt::print("  no trace  {}\n", no_trace);
    if (!device.empty()) fmt::print("  device    {}\n", device);
    if (!snapshots.empty()) fmt::print("  snapshots {}\n", snapshots);
  }
  if (!output.json.empty()) {
    auto json = to_json(named.setup, options, result, named.check->marks(), *findings);
    json["untraced"] = untraced(result, *findings);
    if (!device.empty()) json["device"] = device;
    if (!snapshots.empty()) json["snapshots"] = snapshots;
    if (Status s = write_file(output.json, text_of(json)); !s) return fail(s.error());
  }
  if (result.trouble)
    fmt::print(stderr, "sisyfs: {}; the search went on, and what was saved before is still there\n",
               result.trouble->message);
  if (can_go_on(options, result))
    fmt::print(text ? stdout : stderr, "to go on: ./sisyfs resume {}\n", quoted(options.checkpoint->path));
  return exit_code(result);
}

}  // namespace sisyfs::cli
