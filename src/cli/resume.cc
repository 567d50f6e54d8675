// sisyfs resume: continues a search that was saved.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "cli/campaign/campaign.h"
#include "cli/cli.h"
#include "cli/crew.h"
#include "cli/files.h"
#include "cli/run.h"
#include "cli/sanitized.h"
#include "cli/saved_search.h"
#include "cli/supervisor.h"
#include "explore/checkpoint.h"

namespace sisyfs::cli {
namespace {

struct ResumeFlags {
  std::string path, every, json;
  bool verbose = false;
  SearchFlags search;
};

// A file that cannot be read is reported as bad input.
Result<LoadedCheckpoint> load(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    return bad_input(path + " is not a regular file: give a file that check --checkpoint wrote");
  Result<LoadedCheckpoint> loaded = load_checkpoint(path);
  if (!loaded) return bad_input(loaded.error().message);
  return loaded;
}

// The content of the file, if that is a campaign.
std::optional<std::string> campaign_in(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  char first = 0;
  if (!in.get(first) || !is_campaign(std::string_view(&first, 1))) return std::nullopt;
  Result<std::string> text = read_file(path, kMostRun);
  if (!text) return std::nullopt;
  return *std::move(text);
}

// The search in the checkpoint, with the bounds of this run.
Result<SavedSearch> search_of(const LoadedCheckpoint& loaded, const ResumeFlags& flags) {
  Result<SavedSearch> saved = read_search(loaded.setup());
  if (!saved) return bad_input(fmt::format("the checkpoint {} {}", flags.path, saved.error().message));
  if (Status s = flags.search.put_bounds(saved->options); !s) return s.error();
  saved->options.checkpoint->path = flags.path;
  if (flags.every.empty()) return saved;
  const auto every = parse_time("--checkpoint-every", flags.every);
  if (!every) return every.error();
  saved->options.checkpoint->interval = *every;
  return saved;
}

int resume_here(const LoadedCheckpoint& loaded, const SavedSearch& saved, const ResumeFlags& flags,
                const SharedBlackBox* box) {
  SearchOptions options = saved.options;
  const Result<NamedCheck> named = registry().make(saved.setup.target, saved.setup.settings);
  if (!named) return fail(named.error());
  if (saved.ace != 0)
    if (Status s = named->check->follow_ace(saved.ace); !s) return fail(s.error());
  if (Status s = describe_search(named->setup, options, saved.ace); !s) return fail(s.error());
  if (Status s = loaded.matches(options.checkpoint->identity); !s) return fail(s.error());
  if (Status s = named->check->accepts(options); !s) return fail(s.error());
  const RunOutput output{flags.search.progress, flags.json, box == nullptr ? nullptr : box->box(),
                         flags.verbose};
  if (Status s = can_report(output, options); !s) return fail(s.error());
  if (Status s = can_save(flags.path); !s) return fail(s.error());
  options.resume = &loaded;
  if (box != nullptr) options.start_worker = crew_of(named->setup, *box, {.script = {}, .ace = saved.ace});
  return search_and_report(*named, options, output);
}

// The campaign goes on for as long as it was to take in all, or as this run says.
int resume_campaign_here(const SavedCampaign& saved, const ResumeFlags& flags, const SharedBlackBox* box) {
  const Result<CheckEntry> entry = registry().entry(saved.target);
  if (!entry) return fail(entry.error());
  SearchOptions options;
  options.bounds.memory_bytes = std::max(saved.memory_bytes, uint64_t{16} << 20);
  if (Status s = flags.search.put_bounds(options); !s) return fail(s.error());
  const bool time_given = !flags.search.time.empty(), states_given = !flags.search.states.empty();
  if ((saved.counts_states && time_given) || (!saved.counts_states && states_given))
    return fail(bad_input(fmt::format("{} was started with a bound on {}, and goes on with one: use {}",
                                      flags.path, saved.counts_states ? "states" : "time",
                                      saved.counts_states ? "--states" : "--time")));
  std::string bound = saved.counts_states ? flags.search.states : flags.search.time;
  if (bound.empty()) {
    bound = saved.bound;
    if (saved.counts_states)
      options.bounds.states = static_cast<uint64_t>(std::clamp(saved.budget, 1.0, 1e18));
    else
      options.bounds.time =
          std::chrono::milliseconds(static_cast<int64_t>(std::clamp(saved.budget, 1.0, 1e9) * 1000));
  }
  std::vector<FindingInfo> only;
  for (const std::string& name : saved.only) {
    const auto kind = find_kind(name);
    if (!kind)
      return fail(
          bad_input(fmt::format("the campaign {} looks for an unknown finding '{}'", flags.path, name)));
    only.push_back(*kind);
  }
  std::chrono::milliseconds every = std::chrono::minutes(1);
  if (!flags.every.empty()) {
    const auto given = parse_time("--checkpoint-every", flags.every);
    if (!given) return fail(given.error());
    every = *given;
  }
  const RunOutput output{flags.search.progress, flags.json, box == nullptr ? nullptr : box->box(),
                         flags.verbose};
  if (Status s = can_report(output, options); !s) return fail(s.error());
  if (!flags.json.empty() && flags.json != "-" && same_file(flags.json, flags.path))
    return fail(
        bad_input(fmt::format("--json {} would replace the checkpoint: name another file", flags.json)));
  if (Status s = can_save(flags.path); !s) return fail(s.error());
  return run_campaign({.entry = *entry,
                       .settings = saved.settings,
                       .options = options,
                       .bound = bound,
                       .is_budget = saved.is_budget,
                       .stages = saved.stages,
                       .seed = saved.seed,
                       .only = only,
                       .all = saved.all,
                       .output = output,
                       .box = box,
                       .checkpoint = flags.path,
                       .checkpoint_every = every,
                       .saved = &saved});
}

int resume_campaign(const std::string& text, const ResumeFlags& flags) {
  const Result<SavedCampaign> saved = parse_campaign(text);
  if (!saved) return fail(bad_input(fmt::format("{} {}", flags.path, saved.error().message)));
  if (registry().isolation_of(saved->target) == Isolation::kNone)
    return resume_campaign_here(*saved, flags, nullptr);
  if (Status s = start_with_sanitizer(saved->target); !s) return fail(s.error());
  return supervise([&](const SharedBlackBox& box) { return resume_campaign_here(*saved, flags, &box); });
}

// A target whose code may end the process is searched in a process of its own, as by check.
int run_resume(const ResumeFlags& flags) {
  if (const std::optional<std::string> campaign = campaign_in(flags.path))
    return resume_campaign(*campaign, flags);
  const Result<LoadedCheckpoint> loaded = load(flags.path);
  if (!loaded) return fail(loaded.error());
  const Result<SavedSearch> saved = search_of(*loaded, flags);
  if (!saved) return fail(saved.error());
  if (registry().isolation_of(saved->setup.target) == Isolation::kNone)
    return resume_here(*loaded, *saved, flags, nullptr);
  if (Status s = start_with_sanitizer(saved->setup.target); !s) return fail(s.error());
  return supervise([&](const SharedBlackBox& box) { return resume_here(*loaded, *saved, flags, &box); });
}

}  // namespace

void add_resume(CLI::App& app, int& exit) {
  auto flags = std::make_shared<ResumeFlags>();
  flags->search.memory.clear();
  CLI::App* sub = app.add_subcommand("resume", "Continue a search or campaign that check --checkpoint saved");
  sub->add_option("file", flags->path, "the checkpoint; the continued search is saved there, too")
      ->required();
  sub->add_option("--checkpoint-every", flags->every,
                  "time between two saves (default: as in the checkpoint)");
  sub->add_option("--json", flags->json,
                  "write the run and its findings as JSON to this file; - is standard output");
  add_verbose(*sub, flags->verbose);
  flags->search.add_bounds_to(*sub);
  sub->get_option("--memory")
      ->description("maximum memory for visited states and frontier (default: as in the checkpoint)");
  sub->callback([flags, &exit] { exit = run_resume(*flags); });
}

}  // namespace sisyfs::cli
