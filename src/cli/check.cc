// sisyfs check: searches a target and reports the findings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/campaign/campaign.h"
#include "cli/campaign/stages.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/crew.h"
#include "cli/files.h"
#include "cli/run.h"
#include "cli/sanitized.h"
#include "cli/saved_search.h"
#include "cli/supervisor.h"

namespace sisyfs::cli {

namespace {

// Flags that stand for settings.
struct SettingFlags {
  std::string tasks, via, disk, block, kernel, log, base;
  bool symmetry = false, host = false;
};

struct CheckFlags {
  SettingFlags as;
  std::string target, json, script, checkpoint, checkpoint_every = "60s", confirm;
  std::vector<std::string> settings, only;
  std::string stages, budget;
  bool first = false, all = false, perspectives = false, verbose = false;
  bool one_search = false;  // a flag was given that means one search
  SearchFlags search;
};

// Whether this is a campaign: nothing was said of how to search.
Result<bool> is_campaign(const CheckFlags& flags, const CheckEntry& entry) {
  const auto of_one = std::find_if(flags.settings.begin(), flags.settings.end(),
                                   [](const std::string& setting) { return is_of_one_search(setting); });
  const bool asked = !flags.stages.empty() || !flags.budget.empty();
  const char* flag = !flags.stages.empty() ? "--stages" : "--budget";
  if (asked && !entry.in_stages)
    return bad_input(
        fmt::format("{} cannot be used with {}, which is searched in one stage", flag, flags.target));
  if (asked && (flags.one_search || of_one != flags.settings.end()))
    return bad_input(
        fmt::format("{} is for searches in stages, and cannot be used with {}, which asks for one search",
                    flag, flags.one_search ? "a flag of the search" : "--set " + *of_one));
  if (!flags.budget.empty() && !(flags.search.time.empty() && flags.search.states.empty()))
    return bad_input("--budget is a bound on time: it cannot be used with --time or --states");
  return entry.in_stages && !flags.one_search && of_one == flags.settings.end();
}

// An existing file is not overwritten: it may hold hours of another search.
Status can_begin_at(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) &&
      !(std::filesystem::is_regular_file(path, ignored) && std::filesystem::is_empty(path, ignored)))
    return bad_input(fmt::format(
        "{} exists already: continue that search with './sisyfs resume', or remove the file", path));
  return can_save(path);
}

bool has_option(const CheckEntry& entry, std::string_view name) {
  return std::ranges::any_of(entry.options, [&](const OptionSpec& option) { return option.name == name; });
}

// The number of blocks of a disk with this many bytes. The block size is a setting or its default.
Result<uint64_t> blocks_of(const std::string& disk, const CheckEntry& entry,
                           const std::vector<std::string>& settings) {
  const Result<size_t> bytes = parse_bytes("--disk", disk);
  if (!bytes) return bytes.error();
  const Result<Options> options = Options::parse(entry.options, settings);
  if (!options) return options.error();
  const auto block = static_cast<uint64_t>(options->integer("block"));
  if (*bytes % block == 0) return *bytes / block;
  return bad_input(fmt::format("--disk {} is not a whole number of blocks of {} bytes", disk, block));
}

// Turns flags such as --tasks into settings. Only targets with such an option accept the flag.
Status put_settings(CheckFlags& flags, const CheckEntry& entry) {
  struct Named {
    const char* flag;
    const char* option;
    bool given;
    std::string value;
  };
  const Named named[] = {{"--tasks", "tasks", !flags.as.tasks.empty(), flags.as.tasks},
                         {"--via", "via", !flags.as.via.empty(), flags.as.via},
                         {"--log", "log", !flags.as.log.empty(), flags.as.log},
                         {"--base", "base", !flags.as.base.empty(), flags.as.base},
                         {"--symmetry", "symmetry", flags.as.symmetry, "on"},
                         {"--host", "on", flags.as.host, "host"},
                         {"--block", "block", !flags.as.block.empty(), flags.as.block},
                         {"--kernel", "kernel", !flags.as.kernel.empty(), ""},
                         {"--disk", "block", !flags.as.disk.empty(), ""},
                         {"--perspectives", "device", flags.perspectives, ""}};
  for (const Named& one : named) {
    if (!one.given) continue;
    if (!has_option(entry, one.option))
      return bad_input(fmt::format(
          "{} cannot be used with {}, which has no option '{}'; 'sisyfs targets {}' lists its options",
          one.flag, flags.target, one.option, flags.target));
    if (!one.value.empty()) flags.settings.push_back(fmt::format("{}={}", one.option, one.value));
  }
  if (!flags.as.kernel.empty()) flags.settings.push_back(kernel_setting(flags.as.kernel));
  if (flags.as.disk.empty()) return {};
  const Result<uint64_t> blocks = blocks_of(flags.as.disk, entry, flags.settings);
  if (!blocks) return blocks.error();
  flags.settings.push_back(fmt::format("blocks={}", *blocks));
  return {};
}

Error cannot_have(const FindingInfo& kind, const std::string& target) {
  return bad_input(fmt::format(
      "--only {}: {} cannot have the finding {} with these options{}", kind.code, target, kind.name,
      kind.severity == Severity::kRepairable
          ? "; a problem that is repaired without loss is not a finding, but reports of other findings "
            "mention it"
          : ""));
}

// Whether each kind that is looked for can occur in a stage.
Status can_occur(const CheckFlags& flags, const CheckEntry& entry, const std::vector<FindingInfo>& only) {
  std::vector<Stage> stages = stages_for(entry.options, flags.settings);
  stages.insert(stages.begin(), Stage{.name = "usual", .says = "", .settings = {}});
  std::vector<FindingInfo> missing = only;
  for (size_t i = 0; i < stages.size() && !missing.empty(); ++i) {
    std::vector<std::string> settings = flags.settings;
    settings.insert(settings.end(), stages[i].settings.begin(), stages[i].settings.end());
    const Result<NamedCheck> named = CheckRegistry::make(entry, settings);
    if (!named && i == 0) return named.error();
    if (!named) continue;
    std::erase_if(missing,
                  [&](const FindingInfo& kind) { return named->check->kinds().bit_or_none(kind.kind) != 0; });
  }
  return missing.empty() ? Status() : cannot_have(missing.front(), flags.target);
}

Result<RunOutput> output_of(const CheckFlags& flags, const SharedBlackBox* box) {
  const Result<std::optional<uint32_t>> confirm = parse_confirm(flags.confirm);
  if (!confirm) return confirm.error();
  return RunOutput{flags.search.progress, flags.json, box == nullptr ? nullptr : box->box(), flags.verbose,
                   *confirm};
}

int run_stages(const CheckFlags& flags, const CheckEntry& entry, const SearchOptions& options,
               const std::vector<FindingInfo>& only, const SharedBlackBox* box) {
  const Result<RunOutput> output = output_of(flags, box);
  if (!output) return fail(output.error());
  if (Status s = can_report(*output, options); !s) return fail(s.error());
  if (Status s = only.empty() ? Status() : can_occur(flags, entry, only); !s) return fail(s.error());
  const std::string bound = !flags.budget.empty()        ? flags.budget
                            : !flags.search.time.empty() ? flags.search.time
                            : options.bounds.states != SearchBounds().states
                                ? fmt::format("{} states", flags.search.states)
                                : "";
  SearchOptions searches = options;
  searches.checkpoint.reset();  // it is the campaign that is saved
  if (Status s = flags.checkpoint.empty() ? Status() : can_save(flags.checkpoint); !s) return fail(s.error());
  return run_campaign(
      {.entry = entry,
       .settings = flags.settings,
       .options = searches,
       .bound = bound,
       .is_budget = !flags.budget.empty(),
       .stages = flags.stages,
       .seed = options.walk.seed,
       .only = only,
       .all = flags.all,
       .output = *output,
       .box = box,
       .checkpoint = flags.checkpoint,
       .checkpoint_every = options.checkpoint ? options.checkpoint->interval : std::chrono::minutes(1),
       .saved = nullptr});
}

// Lets the check follow the script, if there is one. The text of the script, empty if there is none.
Result<std::string> follow_script(const CheckFlags& flags, Check& check) {
  if (flags.script.empty()) return std::string();
  const Result<std::string> text = read_file(flags.script, Script::kMostText);
  if (!text) return text.error();
  const auto at_script = [&](const Error& error) {
    return bad_input(fmt::format("{}: {}", flags.script, error.message));
  };
  const Result<Script> script = Script::parse(*text);
  if (!script) return at_script(script.error());
  if (Status s = check.follow(*script); !s) return at_script(s.error());
  return *text;
}

// Lets the check follow the script or the workloads of ACE, if one is asked for. ACE takes the depth as the
// number of core ops, and ends by itself.
Result<OwnWorkload> follow_workload(const CheckFlags& flags, Check& check, SearchOptions& options) {
  OwnWorkload own;
  Result<std::string> script = follow_script(flags, check);
  if (!script) return script.error();
  own.script = *std::move(script);
  if (flags.search.workload != "ace") return own;
  constexpr uint32_t kUsual = 2;
  own.ace = options.bounds.depth == SearchBounds::kNoDepth ? kUsual : options.bounds.depth;
  options.bounds.depth = SearchBounds::kNoDepth;
  if (Status s = check.follow_ace(own.ace); !s) return s.error();
  return own;
}

// `box`: that of a target whose workers are processes; null: they are threads.
int check_here(CheckFlags& flags, const SharedBlackBox* box) {
  // A plug-in is loaded once: the fingerprints of its states depend on what was loaded before.
  const Result<CheckEntry> entry = registry().entry(flags.target);
  if (!entry) return fail(entry.error());
  if (Status s = put_settings(flags, *entry); !s) return fail(s.error());
  if (Status s = Options::each_once(flags.settings); !s) return fail(s.error());
  const Result<bool> in_stages = is_campaign(flags, *entry);
  if (!in_stages) return fail(in_stages.error());
  if (flags.search.seeded() && !*in_stages && flags.search.walk.empty())
    return fail(bad_input("--seed is for random walks: add --walk N, or leave out what asks for one search"));
  if (!flags.budget.empty()) flags.search.time = flags.budget;
  Result<SearchOptions> options = flags.search.options();
  if (!options && !flags.budget.empty() && !parse_time("--budget", flags.budget))
    return fail(parse_time("--budget", flags.budget).error());
  if (!options) return fail(options.error());
  if (!flags.checkpoint.empty()) {
    const auto every = parse_time("--checkpoint-every", flags.checkpoint_every);
    if (!every) return fail(every.error());
    options->checkpoint = {.path = flags.checkpoint, .interval = *every, .identity = {}, .setup = {}};
  }
  options->stop = flags.all ? StopRule::kNever : StopRule::kFirst;
  std::vector<FindingInfo> only;
  for (const std::string& name : flags.only) {
    const auto kind = find_kind(name);
    if (!kind)
      return fail(bad_input(
          fmt::format("unknown finding '{}' for --only; 'sisyfs targets --findings' lists them", name)));
    only.push_back(*kind);
  }
  if (*in_stages) return run_stages(flags, *entry, *options, only, box);
  const Result<NamedCheck> named = CheckRegistry::make(*entry, flags.settings);
  if (!named) return fail(named.error());
  const Result<OwnWorkload> workload = follow_workload(flags, *named->check, *options);
  if (!workload) return fail(workload.error());
  if (!only.empty()) options->watched = 0;
  for (const FindingInfo& kind : only) {
    const FindingBits bit = named->check->kinds().bit_or_none(kind.kind);
    if (bit == 0) return fail(cannot_have(kind, flags.target));
    options->watched |= bit;
  }
  const Result<RunOutput> output = output_of(flags, box);
  if (!output) return fail(output.error());
  if (flags.perspectives) return search_in_perspectives(flags.target, flags.settings, *options, *output);
  if (box != nullptr) options->start_worker = crew_of(named->setup, *box, *workload);
  if (options->checkpoint)
    if (Status s = describe_search(named->setup, *options, workload->ace); !s) return fail(s.error());
  if (Status s = named->check->accepts(*options); !s) return fail(s.error());
  if (Status s = can_report(*output, *options); !s) return fail(s.error());
  return search_and_report(*named, *options, *output);
}

// A target whose code may end the process is searched in a process of its own.
int run_check(CheckFlags& flags) {
  // Done once, and not again when the supervisor restarts the search: then the file exists.
  if (Status s = flags.checkpoint.empty() ? Status() : can_begin_at(flags.checkpoint); !s)
    return fail(s.error());
  if (registry().isolation_of(flags.target) == Isolation::kNone) return check_here(flags, nullptr);
  if (Status s = start_with_sanitizer(flags.target); !s) return fail(s.error());
  return supervise([&](const SharedBlackBox& box) { return check_here(flags, &box); });
}

}  // namespace

void add_check(CLI::App& app, int& exit) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* sub = app.add_subcommand("check", "Search a target for broken promises");
  sub->add_option("target", flags->target, "what to check: one of 'sisyfs targets', or the path of a plug-in")
      ->required();
  sub->add_option("--set", flags->settings, "set an option of the target, as name=value; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--tasks", flags->as.tasks, "number of concurrent tasks (same as --set tasks=N)");
  sub->add_flag("--host", flags->as.host,
                "kernel file systems: as root, with the running kernel and not with one in a guest (same as "
                "--set on=host)");
  sub->add_option("--via", flags->as.via,
                  "steps (model with interleaved tasks) or disk (whole ops on a disk)");
  sub->add_option("--disk", flags->as.disk,
                  "size of the disk of a plug-in, such as 1MiB (--set blocks=N sets it in blocks)");
  sub->add_option("--block", flags->as.block,
                  "block size of the disk of a plug-in, in bytes (same as --set block=N)");
  add_kernel(*sub, flags->as.kernel);
  sub->add_option("--log", flags->as.log,
                  "play this log of writes, of dm-log-writes or QEMU's blklogwrites, instead of a workload");
  sub->add_option("--base", flags->as.base, "the disk on which that log begins, as an image");
  sub->add_flag("--symmetry", flags->as.symmetry,
                "merge states that differ only in names (same as --set symmetry=on)");
  auto* first = sub->add_flag("--first", flags->first, "stop at the first finding (the default)");
  sub->add_flag("--all", flags->all, "search to the bound and report the shallowest finding of each kind")
      ->excludes(first);
  sub->add_option("--only", flags->only, "look only for this kind of finding (name or code); may be repeated")
      ->allow_extra_args(false);
  auto* script =
      sub->add_option("--script", flags->script,
                      "try only the ops of this file: a list of ops, with alternatives and repetitions");
  auto* workload =
      sub->add_option("--workload", flags->search.workload,
                      "free (every op that is possible) or ace (bounded workloads: --depth core ops, 2 "
                      "unless said otherwise, each followed by a persistence point or none)")
          ->check(CLI::IsMember({"free", "ace"}))
          ->capture_default_str();
  script->excludes(workload);
  auto* json = sub->add_option("--json", flags->json,
                               "write the run and its findings as JSON to this file; - is standard output");
  auto* perspectives = sub->add_flag(
      "--perspectives", flags->perspectives,
      "search on five device models, from the most reliable to the least, and stop at the first "
      "one with a finding");
  perspectives->excludes(json);
  add_verbose(*sub, flags->verbose);
  add_confirm(*sub, flags->confirm);
  flags->search.add_order_to(*sub, {"bfs", "dfs", "recovery", "rare", "coverage"}, true);
  flags->search.add_walk_to(*sub);
  flags->search.add_bounds_to(*sub);
  sub->add_option("--budget", flags->budget,
                  "for CI: search in stages for this time, such as 10m; nothing found within it is a success "
                  "(exit code 0), though no proof");
  sub->add_option(
      "--stages", flags->stages,
      "search in these stages only, such as calls,torn; the table at the end of a run has their names");
  auto* checkpoint =
      sub->add_option("--checkpoint", flags->checkpoint,
                      "save the search or campaign to this file; 'sisyfs resume' continues it");
  perspectives->excludes(checkpoint);
  script->excludes(checkpoint);
  script->excludes(perspectives);
  workload->excludes(perspectives);
  workload->excludes(sub->get_option("--walk"));
  sub->add_option("--checkpoint-every", flags->checkpoint_every, "time between two saves, such as 60s or 10m")
      ->needs(checkpoint)
      ->capture_default_str();
  sub->callback([flags, sub, &exit] {
    for (const char* name :
         {"--depth", "--search", "--dedup", "--shape-ops", "--walk", "--symmetry", "--tasks", "--via",
          "--perspectives", "--script", "--workload", "--log", "--base"})
      flags->one_search |= sub->get_option(name)->count() != 0;
    exit = run_check(*flags);
  });
}

}  // namespace sisyfs::cli
