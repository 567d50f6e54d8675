// sisyfs check: search a target and tell what was found.
#include <fmt/format.h>

#include <memory>

#include "cli/cli.h"
#include "cli/run.h"
#include "report/finding_json.h"

namespace sisyfs::cli {

Result<std::vector<Finding>> explain(const NamedCheck& named, const SearchOptions& options,
                                     const SearchResult& result) {
  std::vector<Finding> told;
  uint32_t findings = result.findings;
  for (FoundTrace& found : named.check->explain(options, result)) {
    Result<Story> story = named.check->tell(found.trace);
    if (!story)
      return system_error("a finding could not be replayed (nondeterminism): " + story.error().message);
    if ((story->findings >> found.kind & 1) == 0)
      return system_error(
          "a finding did not happen again when it was replayed: the target is not deterministic");
    findings &= ~(uint32_t{1} << found.kind);
    told.push_back(
        {static_cast<FindingKind>(found.kind), named.setup, std::move(found.trace), *std::move(story)});
  }
  if (findings != 0)
    return system_error(
        "the memory bound is too small to find out how a finding came about: give --memory more");
  return told;
}

namespace {

struct CheckFlags {
  std::string target, tasks, via, json;
  std::vector<std::string> settings, only;
  bool first = false, all = false, symmetry = false;
  SearchFlags search;
};

int run_check(CheckFlags& flags) {
  // The flags with a name of their own are settings like any other.
  if (!flags.tasks.empty()) flags.settings.push_back("tasks=" + flags.tasks);
  if (!flags.via.empty()) flags.settings.push_back("via=" + flags.via);
  if (flags.symmetry) flags.settings.emplace_back("symmetry=on");
  Result<SearchOptions> options = flags.search.options();
  if (!options) return fail(options.error());
  options->stop = flags.all ? StopRule::kNever : StopRule::kFirst;
  if (!flags.only.empty()) options->watched = 0;
  for (const std::string& name : flags.only) {
    const auto kind = find_kind(name);
    if (!kind)
      return fail(bad_input(
          fmt::format("unknown finding '{}' for --only; 'sisyfs targets --findings' lists them", name)));
    options->watched |= bit(kind->kind);
  }
  const Result<NamedCheck> named = registry().make(flags.target, flags.settings);
  if (!named) return fail(named.error());
  if (Status s = named->check->accepts(*options); !s) return fail(s.error());
  // An unwritable output is better known before the search than after it.
  if (!flags.json.empty() && flags.json != "-")
    if (Status s = can_write(flags.json); !s) return fail(s.error());

  SearchResult result = named->check->search(*options, progress_printer(flags.search.progress));
  clear_progress();
  const Result<std::vector<Finding>> findings = explain(*named, *options, result);
  if (!findings) return fail(findings.error());
  const std::string json =
      flags.json.empty()
          ? ""
          : to_json(named->setup, *options, result, named->check->marks(), *findings).dump(2) + "\n";
  if (flags.json != "-") {
    for (const Finding& finding : *findings) fmt::print("{}\n", tell(finding, text_style()));
    fmt::print("{}", closing_statement(named->setup, *options, result, named->check->marks(), text_style()));
  }
  if (!json.empty())
    if (Status s = write_file(flags.json, json); !s) return fail(s.error());
  return exit_code(result);
}

}  // namespace

void add_check(CLI::App& app, int& exit) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* sub = app.add_subcommand("check", "Search a target for broken promises");
  sub->add_option("target", flags->target, "what to check; 'sisyfs targets' lists them")->required();
  sub->add_option("--set", flags->settings, "an option of the target, as name=value; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--tasks", flags->tasks, "tasks that run at once (the same as --set tasks=N)");
  sub->add_option("--via", flags->via, "steps (interleaved model) or disk (through the disk adapter)");
  sub->add_flag("--symmetry", flags->symmetry, "merge states that differ only in names (--set symmetry=on)");
  auto* first = sub->add_flag("--first", flags->first, "stop at the first finding (the default)");
  sub->add_flag("--all", flags->all, "search to the bound and collect the shallowest finding of each kind")
      ->excludes(first);
  sub->add_option("--only", flags->only, "look only for this finding (name or code); may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--json", flags->json,
                  "write the run and its findings as JSON to this file; - is standard output");
  flags->search.add_to(*sub);
  sub->callback([flags, &exit] { exit = run_check(*flags); });
}

}  // namespace sisyfs::cli
