// sisyfs replay: executes the trace of a finding and says whether the finding still happens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "base/printable.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/files.h"
#include "cli/sanitized.h"
#include "cli/supervisor.h"
#include "finding/finding_json.h"
#include "finding/token.h"
#include "report/campaign_report.h"
#include "report/run_json.h"

namespace sisyfs::cli {
namespace {

Result<std::vector<Finding>> findings_of(const std::string& what) {
  std::error_code ignored;
  if (!std::filesystem::exists(what, ignored)) {
    Result<Finding> finding = parse_token(what);
    if (!finding) return finding.error();
    return std::vector<Finding>{*std::move(finding)};
  }
  if (!std::filesystem::is_regular_file(what, ignored))
    return bad_input(
        fmt::format("{} is not a file: give a replay token, or a file that check --json wrote", what));
  const Result<std::string> text = read_file(what, kMostRun);
  if (!text) return text.error();
  Result<std::vector<Finding>> findings = findings_in(*text, {kRunSchema, kCampaignSchema});
  if (!findings) return bad_input(fmt::format("{}: {}", what, findings.error().message));
  return findings;
}

// Writes the disk as the last power cut left it, before recovery.
Status write_image(const std::string& path, const Story& story) {
  if (!story.image)
    return bad_input(
        "--image: no power cut left a disk: this finding has no power cut, or the target has no "
        "disk (link and index have one with via=disk)");
  const Geometry& geometry = story.image->geometry();
  std::string bytes(geometry.block_count.value * geometry.block_size, '\0');
  story.image->read(BlockAddress(0), std::as_writable_bytes(std::span(bytes)));
  return write_file(path, bytes);
}

// Whether the target is foreign code, which runs in a process of its own.
bool is_isolated(const Finding& finding) {
  return registry().isolation_of(finding.setup.target) == Isolation::kProcess;
}

// What a replay came to, in words and as an exit code.
struct Ending {
  std::string says;
  int exit;
};

Ending ending_of(const Finding& finding, const Replayed& replayed) {
  if (!replayed.cannot_happen.empty()) return {"cannot happen: " + replayed.cannot_happen, kClean};
  if (replayed.story.shows(finding.kind)) return {"still happens", kFound};
  if (!replayed.story.findings.empty())
    return {"something else happens: " + names_of(replayed.story.findings), kFound};
  return {"does not happen any more", kClean};
}

struct ReplayFlags {
  std::string what, image, kernel, confirm;
  bool quiet = false, verbose = false;
};

// The finding with another kernel, where its target has one.
Status put_kernel(const std::string& path, Finding& finding) {
  const Result<CheckEntry> entry = registry().entry(finding.setup.target);
  if (!entry) return entry.error();
  if (std::ranges::none_of(entry->options, [](const OptionSpec& one) { return one.name == "kernel"; }))
    return bad_input(fmt::format("--kernel cannot be used with {}, which is no file system of a kernel",
                                 finding.setup.target));
  std::erase_if(finding.setup.settings, [](const std::string& one) { return one.starts_with("kernel="); });
  finding.setup.settings.push_back(kernel_setting(path));
  return {};
}

// " (on Linux 6.1.176)"
std::string where(const Story& story) {
  return story.system.empty() ? "" : fmt::format(" (on {})", printable(story.system));
}

// Findings with the same steps are told by one story.
bool is_told(std::span<const Finding> before, const Finding& finding) {
  return std::ranges::any_of(before, [&](const Finding& other) {
    return other.steps == finding.steps && other.setup == finding.setup;
  });
}

int replay_here(const std::vector<Finding>& findings, const ReplayFlags& flags) {
  const Result<std::optional<uint32_t>> confirm = parse_confirm(flags.confirm);
  if (!confirm) return fail(confirm.error());
  int exit = kClean;
  for (const Finding& finding : findings) {
    if (!finding.others.empty() || !finding.surroundings.empty())
      return fail(
          bad_input("the finding compares several targets, or names surroundings, which this program "
                    "cannot replay: use the sisyfs that wrote it"));
    const Result<NamedCheck> named = registry().make(finding.setup.target, finding.setup.settings);
    if (!named) return fail(named.error());
    const Replayed replayed = named->check->replay(finding.steps);
    Ending ending = ending_of(finding, replayed);
    if (Status s = flags.image.empty() ? Status() : write_image(flags.image, replayed.story); !s)
      return fail(s.error());
    ToldFinding told{finding, replayed.story};
    if (Status s = confirm_all({&told, 1}, *confirm); !s) return fail(s.error());
    const std::span<const Finding> before(findings.data(), &finding);
    if (!flags.quiet && ending.exit == kFound && !is_told(before, finding))
      fmt::print("{}\n", tell(told, text_style(flags.verbose)));
    std::string often;
    if (told.confirmed)
      often = fmt::format("; confirmed {} of {}", told.confirmed->times, told.confirmed->of);
    fmt::print("{} {}: {}{}{}\n", info(finding.kind).name, make_token(finding), printable(ending.says),
               where(replayed.story), often);
    if (told.confirmed && told.confirmed->times != 0) ending.exit = kFound;
    exit = std::max(exit, ending.exit);
  }
  return exit;
}

int run_replay(const ReplayFlags& flags) {
  Result<std::vector<Finding>> findings = findings_of(flags.what);
  if (!findings) return fail(findings.error());
  for (Finding& finding : *findings)
    if (Status s = flags.kernel.empty() ? Status() : put_kernel(flags.kernel, finding); !s)
      return fail(s.error());
  if (!flags.image.empty() && findings->size() != 1)
    return fail(bad_input("--image writes one disk: give a token, or a file with one finding"));
  if (std::ranges::none_of(*findings, is_isolated)) return replay_here(*findings, flags);
  for (const Finding& finding : *findings) {
    if (!is_isolated(finding)) continue;
    if (Status s = start_with_sanitizer(finding.setup.target); !s) return fail(s.error());
  }
  return supervise([&](const SharedBlackBox&) { return replay_here(*findings, flags); });
}

}  // namespace

void add_replay(CLI::App& app, int& exit) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* sub =
      app.add_subcommand("replay", "Execute a finding again: exit code 1 if it still happens, 0 if not");
  sub->add_option("token_or_file", flags->what, "a replay token, or a file that check --json wrote")
      ->required();
  sub->add_flag("--quiet", flags->quiet, "print only whether it still happens");
  add_verbose(*sub, flags->verbose);
  add_kernel(*sub, flags->kernel);
  add_confirm(*sub, flags->confirm);
  sub->add_option("--image", flags->image,
                  "write the disk as the last power cut left it to this file, for other tools");
  sub->footer(
      "Exit codes: 0 it does not happen any more, or cannot, 1 it still happens, or something else does (of "
      "a "
      "file: one\n"
      "of its findings), 2 usage or bad input, 4 harness error.");
  sub->callback([flags, &exit] { exit = run_replay(*flags); });
}

}  // namespace sisyfs::cli
