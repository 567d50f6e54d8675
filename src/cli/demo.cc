// sisyfs demo: finds a planted bug, replays it, and checks the fixed target.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "cli/cli.h"
#include "cli/run.h"
#include "cli/run_self.h"
#include "finding/token.h"

namespace sisyfs::cli {
namespace {

// Flushes, so that the headline appears before the search, also on a pipe.
void headline(const std::string& text) {
  fmt::print("\n== {}\n\n", text);
  std::fflush(stdout);
}

// A target with a bug, and the same target without it.
struct Scene {
  const char* target;
  std::vector<std::string> wrong, right;
  std::optional<FindingKind> only;  // the kind to look for; any kind if empty
  const char* mistake;
  const char* fix;
};

std::string command(const Scene& scene, const std::vector<std::string>& settings) {
  std::string text = fmt::format("sisyfs check {}", scene.target);
  for (const std::string& setting : settings) text += " --set " + setting;
  return text;
}

// Finds the bug, replays it in a fresh process, and searches the fixed target: with `to_the_end` completely,
// otherwise to the depth of the finding. Returns an exit code; 0 if all went well.
int show(const Scene& scene, bool to_the_end) {
  Result<SearchOptions> options = SearchFlags{}.options();
  if (!options) return fail(options.error());
  options->stop = StopRule::kFirst;
  headline(fmt::format("{}: {}{}{}", scene.mistake, command(scene, scene.wrong), scene.only ? " --only " : "",
                       scene.only ? info(*scene.only).name : ""));
  const Result<NamedCheck> wrong = registry().make(scene.target, scene.wrong);
  if (!wrong) return fail(wrong.error());
  if (scene.only) options->watched = wrong->check->kinds().bit_or_none(*scene.only);
  const SearchResult found = wrong->check->search(*options, progress_printer("auto"));
  clear_progress();
  const Result<TracedFindings> traced = trace_findings(*wrong, *options, found);
  if (!traced) return fail(traced.error());
  if (traced->findings.empty()) {
    if (interrupted().load()) return kInconclusive;
    return fail(system_error("the demo did not find its bug"));
  }
  const ToldFinding& told = traced->findings.front();
  fmt::print("{}\n", tell(told, text_style()));
  fmt::print("{}", closing_statement(wrong->setup, *wrong->check, *options, found, text_style()));

  const std::string token = make_token(told.finding);
  headline("The same finding, replayed in a fresh process: sisyfs replay " + token);
  const Result<int> replayed = run_self({"sisyfs", "replay", "--quiet", token}, SelfOutput::kShown);
  if (!replayed) return fail(replayed.error());
  if (*replayed != kFound) return fail(system_error("the replay did not confirm the finding"));

  std::string fixed_command = command(scene, scene.right);
  options->watched = ~FindingBits{0};
  if (!to_the_end) {
    options->bounds.depth = static_cast<uint32_t>(told.finding.steps.size());
    fixed_command += fmt::format(" --depth {}", options->bounds.depth);
  }
  headline(fmt::format("{}: {}", scene.fix, fixed_command));
  const Result<NamedCheck> fixed = registry().make(scene.target, scene.right);
  if (!fixed) return fail(fixed.error());
  const SearchResult clean = fixed->check->search(*options, progress_printer("auto"));
  clear_progress();
  fmt::print("{}", closing_statement(fixed->setup, *fixed->check, *options, clean, text_style()));
  return exit_code(clean);
}

// A program of this machine, in its own process. Where there is no FUSE, the demo goes on without it.
int show_program() {
  headline(
      "3. A program that everybody has, sed -i, which replaces a file and syncs nothing: sisyfs app "
      "editor-sed");
  const Result<int> code =
      run_self({"sisyfs", "app", "editor-sed", "--budget", "20s", "--progress", "off"}, SelfOutput::kShown);
  if (!code) return fail(code.error());
  if (*code == kFound) return kClean;
  if (*code == kInconclusive) return kInconclusive;
  if (*code == kClean) return fail(system_error("the demo did not find that sed syncs nothing"));
  fmt::print("\nThis needs FUSE and private mounts: the demo goes on without it.\n");
  return kClean;
}

int run_demo() {
  const Scene link{"link",
                   {"order=naive", "cache=off"},
                   {"cache=off"},
                   FindingKind::kDoublePointer,
                   "1. A small model that writes a pointer before the block it points to",
                   "The fix: the block is written before the pointer; with a power cut at every step"};
  const Scene f2fs{"f2fs",
                   {"reuse=lifo"},
                   {},
                   std::nullopt,
                   "2. A whole log-structured file system that reuses freed segments at once",
                   "The fix: freed segments wait for the next checkpoint; to the same depth"};
  if (const int code = show(link, true); code != kClean) return code;
  if (const int code = show(f2fs, false); code != kClean) return code;
  if (const int code = show_program(); code != kClean) return code;
  fmt::print(
      "\nNext: sisyfs targets (what else can be checked), sisyfs matrix (all orders, caches and tasks of the "
      "small models), docs/tutorial.md\n");
  return kClean;
}

}  // namespace

void add_demo(CLI::App& app, int& exit) {
  CLI::App* sub = app.add_subcommand("demo", "Find a bug, replay it, and check its fix, in a minute");
  sub->footer(
      "Exit codes: 0 the bugs were found and replayed, and their fixes passed; 3 stopped; 4 harness error.");
  sub->callback([&exit] { exit = run_demo(); });
}

}  // namespace sisyfs::cli
