// sisyfs demo: the main job on a small target, from a mistake to its fix.
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cli/cli.h"
#include "cli/run.h"
#include "cli/run_self.h"
#include "report/token.h"

namespace sisyfs::cli {
namespace {

// It is seen before the search that it announces, also on a pipe.
void headline(const std::string& text) {
  fmt::print("\n== {}\n\n", text);
  std::fflush(stdout);
}

// A mistake, and the same target without it.
struct Exhibit {
  const char* target;
  std::vector<std::string> wrong, right;
  std::optional<FindingKind> only;  // what to look for; any finding otherwise
  const char* mistake;
  const char* fix;
};

std::string command(const Exhibit& exhibit, const std::vector<std::string>& settings) {
  std::string text = fmt::format("sisyfs check {}", exhibit.target);
  for (const std::string& setting : settings) text += " --set " + setting;
  return text;
}

// Finds the mistake, replays it in a fresh process, and searches the right target: to the depth of the
// finding, where its states have no end, else to their end. 0 or an exit code.
int show(const Exhibit& exhibit, bool to_the_end) {
  Result<SearchOptions> options = SearchFlags{}.options();
  if (!options) return fail(options.error());
  options->stop = StopRule::kFirst;
  if (exhibit.only) options->watched = bit(*exhibit.only);
  headline(fmt::format("{}: {}{}{}", exhibit.mistake, command(exhibit, exhibit.wrong),
                       exhibit.only ? " --only " : "", exhibit.only ? info(*exhibit.only).name : ""));
  const Result<NamedCheck> wrong = registry().make(exhibit.target, exhibit.wrong);
  if (!wrong) return fail(wrong.error());
  const SearchResult found = wrong->check->search(*options, progress_printer("auto"));
  clear_progress();
  const Result<std::vector<Finding>> findings = explain(*wrong, *options, found);
  if (!findings) return fail(findings.error());
  if (findings->empty()) return fail(system_error("the demo did not find what it should"));
  const Finding& finding = findings->front();
  fmt::print("{}\n", tell(finding, text_style()));
  fmt::print("{}", closing_statement(wrong->setup, *options, found, wrong->check->marks(), text_style()));

  const std::string token = make_token({finding.kind, finding.setup, finding.trace});
  headline("The same, again, in a fresh process: sisyfs replay " + token);
  const Result<int> replayed = run_self({"sisyfs", "replay", "--quiet", token}, SelfOutput::kShown);
  if (!replayed) return fail(replayed.error());
  if (*replayed != kFound) return fail(system_error("the finding did not happen again"));

  std::string fixed_command = command(exhibit, exhibit.right);
  options->watched = ~uint32_t{0};
  if (!to_the_end) {
    options->bounds.depth = static_cast<uint32_t>(finding.trace.size());
    fixed_command += fmt::format(" --depth {}", options->bounds.depth);
  }
  headline(fmt::format("{}: {}", exhibit.fix, fixed_command));
  const Result<NamedCheck> fixed = registry().make(exhibit.target, exhibit.right);
  if (!fixed) return fail(fixed.error());
  const SearchResult clean = fixed->check->search(*options, progress_printer("auto"));
  clear_progress();
  fmt::print("{}", closing_statement(fixed->setup, *options, clean, fixed->check->marks(), text_style()));
  return exit_code(clean);
}

int run_demo() {
  const Exhibit link{"link",
                     {"order=naive", "cache=off"},
                     {"cache=off"},
                     FindingKind::kDoublePointer,
                     "1. A small model that writes the pointer before what it points to",
                     "The fix, what is pointed to before the pointer, with a power cut at every step"};
  const Exhibit f2fs{"f2fs",
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
