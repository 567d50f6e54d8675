// sisyfs demo: the main job on a small target, from a mistake to its fix.
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

// It is seen before the search that it announces, also on a pipe.
void headline(const std::string& text) {
  fmt::print("\n== {}\n\n", text);
  std::fflush(stdout);
}

// A mistake, and the same target without it.
struct Scene {
  const char* target;
  std::vector<std::string> wrong, right;
  std::optional<FindingKind> only;  // what to look for; any finding otherwise
  const char* mistake;
  const char* fix;
};

std::string command(const Scene& scene, const std::vector<std::string>& settings) {
  std::string text = fmt::format("sisyfs check {}", scene.target);
  for (const std::string& setting : settings) text += " --set " + setting;
  return text;
}

// Finds the mistake, replays it in a fresh process, and searches the right target: to the depth of the
// finding, where its states have no end, else to their end. 0 or an exit code.
int show(const Scene& scene, bool to_the_end) {
  Result<SearchOptions> options = SearchFlags{}.options();
  if (!options) return fail(options.error());
  options->stop = StopRule::kFirst;
  headline(fmt::format("{}: {}{}{}", scene.mistake, command(scene, scene.wrong), scene.only ? " --only " : "",
                       scene.only ? info(*scene.only).name : ""));
  const Result<NamedCheck> wrong = registry().make(scene.target, scene.wrong);
  if (!wrong) return fail(wrong.error());
  if (scene.only) options->watched = wrong->check->kinds().bit(*scene.only);
  const SearchResult found = wrong->check->search(*options, progress_printer("auto"));
  clear_progress();
  const Result<Explanation> explained = explain(*wrong, *options, found);
  if (!explained) return fail(explained.error());
  if (explained->findings.empty()) {
    if (interrupted().load()) return kInconclusive;
    return fail(system_error("the demo did not find what it should"));
  }
  const ToldFinding& told = explained->findings.front();
  fmt::print("{}\n", tell(told, text_style()));
  fmt::print("{}", closing_statement(wrong->setup, *wrong->check, *options, found, text_style()));

  const std::string token = make_token(told.finding);
  headline("The same, again, in a fresh process: sisyfs replay " + token);
  const Result<int> replayed = run_self({"sisyfs", "replay", "--quiet", token}, SelfOutput::kShown);
  if (!replayed) return fail(replayed.error());
  if (*replayed != kFound) return fail(system_error("the finding did not happen again"));

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

int run_demo() {
  const Scene link{"link",
                   {"order=naive", "cache=off"},
                   {"cache=off"},
                   FindingKind::kDoublePointer,
                   "1. A small model that writes the pointer before what it points to",
                   "The fix, what is pointed to before the pointer, with a power cut at every step"};
  const Scene f2fs{"f2fs",
                   {"reuse=lifo"},
                   {},
                   std::nullopt,
                   "2. A whole log-structured file system that uses freed segments again at once",
                   "The fix, freed segments wait for the next checkpoint, to the same depth"};
  if (const int code = show(link, true); code != kClean) return code;
  if (const int code = show(f2fs, false); code != kClean) return code;
  fmt::print(
      "\nNext: sisyfs targets (what else can be checked), sisyfs matrix (all orders, caches and tasks of the "
      "small models), docs/tutorial.md\n");
  return kClean;
}

}  // namespace

void add_demo(CLI::App& app, int& exit) {
  CLI::App* sub = app.add_subcommand("demo", "Find a bug, replay it, and prove its fix, in a minute");
  sub->footer(
      "Exit codes: 0 the bugs were found and replayed, and their fixes passed; 3 stopped; 4 harness error.");
  sub->callback([&exit] { exit = run_demo(); });
}

}  // namespace sisyfs::cli
