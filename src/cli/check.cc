// sisyfs check: searches a target and reports the findings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/cli.h"
#include "cli/crew.h"
#include "cli/run.h"
#include "cli/sanitized.h"
#include "cli/saved_search.h"
#include "cli/supervisor.h"

namespace sisyfs::cli {

namespace {

struct CheckFlags {
  std::string target, tasks, via, disk, block, json, checkpoint, checkpoint_every = "60s";
  std::vector<std::string> settings, only;
  bool first = false, all = false, symmetry = false, perspectives = false;
  SearchFlags search;
};

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
  const Named named[] = {{"--tasks", "tasks", !flags.tasks.empty(), flags.tasks},
                         {"--via", "via", !flags.via.empty(), flags.via},
                         {"--symmetry", "symmetry", flags.symmetry, "on"},
                         {"--block", "block", !flags.block.empty(), flags.block},
                         {"--disk", "block", !flags.disk.empty(), ""},
                         {"--perspectives", "device", flags.perspectives, ""}};
  for (const Named& one : named) {
    if (!one.given) continue;
    if (!has_option(entry, one.option))
      return bad_input(fmt::format(
          "{} cannot be used with {}, which has no option '{}'; 'sisyfs targets {}' lists its options",
          one.flag, flags.target, one.option, flags.target));
    if (!one.value.empty()) flags.settings.push_back(fmt::format("{}={}", one.option, one.value));
  }
  if (flags.disk.empty()) return {};
  const Result<uint64_t> blocks = blocks_of(flags.disk, entry, flags.settings);
  if (!blocks) return blocks.error();
  flags.settings.push_back(fmt::format("blocks={}", *blocks));
  return {};
}

// `box`: that of a target whose workers are processes; null: they are threads.
int check_here(CheckFlags& flags, const SharedBlackBox* box) {
  // A plug-in is loaded once: the fingerprints of its states depend on what was loaded before.
  const Result<CheckEntry> entry = registry().entry(flags.target);
  if (!entry) return fail(entry.error());
  if (Status s = put_settings(flags, *entry); !s) return fail(s.error());
  if (Status s = Options::each_once(flags.settings); !s) return fail(s.error());
  Result<SearchOptions> options = flags.search.options();
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
  const Result<NamedCheck> named = CheckRegistry::make(*entry, flags.settings);
  if (!named) return fail(named.error());
  if (!only.empty()) options->watched = 0;
  for (const FindingInfo& kind : only) {
    const FindingBits bit = named->check->kinds().bit_or_none(kind.kind);
    if (bit == 0)
      return fail(bad_input(fmt::format(
          "--only {}: {} cannot have the finding {} with these options{}", kind.code, flags.target, kind.name,
          kind.severity == Severity::kRepairable
              ? "; a problem that is repaired without loss is not a finding, but reports of other findings "
                "mention it"
              : "")));
    options->watched |= bit;
  }
  if (flags.perspectives)
    return search_in_perspectives(flags.target, flags.settings, *options, flags.search.progress);
  if (box != nullptr) options->start_worker = crew_of(named->setup, *box);
  if (options->checkpoint)
    if (Status s = describe_search(named->setup, *options); !s) return fail(s.error());
  if (Status s = named->check->accepts(*options); !s) return fail(s.error());
  const RunOutput output{flags.search.progress, flags.json, box == nullptr ? nullptr : box->box()};
  if (Status s = can_report(output, *options); !s) return fail(s.error());
  return search_and_report(*named, *options, output);
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
  sub->add_option("--tasks", flags->tasks, "number of concurrent tasks (same as --set tasks=N)");
  sub->add_option("--via", flags->via, "steps (model with interleaved tasks) or disk (whole ops on a disk)");
  sub->add_option("--disk", flags->disk,
                  "size of the disk of a plug-in, such as 1MiB (--set blocks=N sets it in blocks)");
  sub->add_option("--block", flags->block,
                  "block size of the disk of a plug-in, in bytes (same as --set block=N)");
  sub->add_flag("--symmetry", flags->symmetry,
                "merge states that differ only in names (same as --set symmetry=on)");
  auto* first = sub->add_flag("--first", flags->first, "stop at the first finding (the default)");
  sub->add_flag("--all", flags->all, "search to the bound and report the shallowest finding of each kind")
      ->excludes(first);
  sub->add_option("--only", flags->only, "look only for this kind of finding (name or code); may be repeated")
      ->allow_extra_args(false);
  auto* json = sub->add_option("--json", flags->json,
                               "write the run and its findings as JSON to this file; - is standard output");
  auto* perspectives = sub->add_flag(
      "--perspectives", flags->perspectives,
      "search on five device models, from the most reliable to the least, and stop at the first "
      "one with a finding");
  perspectives->excludes(json);
  flags->search.add_order_to(*sub, {"bfs", "dfs", "recovery", "rare", "coverage"}, true);
  flags->search.add_walk_to(*sub);
  flags->search.add_bounds_to(*sub);
  auto* checkpoint = sub->add_option("--checkpoint", flags->checkpoint,
                                     "save the search to this file; 'sisyfs resume' continues it");
  perspectives->excludes(checkpoint);
  sub->add_option("--checkpoint-every", flags->checkpoint_every, "time between two saves, such as 60s or 10m")
      ->needs(checkpoint)
      ->capture_default_str();
  sub->callback([flags, &exit] { exit = run_check(*flags); });
}

}  // namespace sisyfs::cli
