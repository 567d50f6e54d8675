// sisyfs demo: the main job on a small target, from a mistake to its fix.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>

#include "cli/cli.h"
#include "cli/run.h"
#include "report/token.h"

extern char** environ;

namespace sisyfs::cli {
namespace {

// Runs this program again with other arguments. Its exit code, or an error.
Result<int> run_self(std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  std::fflush(nullptr);
  if (const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
      error != 0)
    return system_error(fmt::format("cannot start the replay: {}", std::strerror(error)));
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return system_error("the replay did not end by itself");
  return WEXITSTATUS(status);
}

void headline(const std::string& text) { fmt::print("\n== {}\n\n", text); }

int run_demo() {
  Result<SearchOptions> options = SearchFlags{}.options();
  if (!options) return fail(options.error());
  options->stop = StopRule::kFirst;
  options->watched = bit(FindingKind::kDoublePointer);

  headline(
      "1. A file system that writes the pointer before what it points to: sisyfs check link --set "
      "order=naive --set "
      "cache=off --only double-pointer");
  const Result<NamedCheck> naive = registry().make("link", {"order=naive", "cache=off"});
  if (!naive) return fail(naive.error());
  const SearchResult found = naive->check->search(*options, progress_printer("auto"));
  clear_progress();
  const Result<std::vector<Finding>> findings = explain(*naive, *options, found);
  if (!findings) return fail(findings.error());
  if (findings->empty()) return fail(system_error("the demo did not find what it should"));
  fmt::print("{}\n", tell(findings->front(), text_style()));
  fmt::print("{}", closing_statement(naive->setup, *options, found, naive->check->marks(), text_style()));

  const Finding& finding = findings->front();
  const std::string token = make_token({finding.kind, finding.setup, finding.trace});
  headline("2. The same, again, in a fresh process: sisyfs replay " + token);
  const Result<int> replayed = run_self({"sisyfs", "replay", "--quiet", token});
  if (!replayed) return fail(replayed.error());
  if (*replayed != kFound) return fail(system_error("the finding did not happen again"));

  headline(
      "3. The fix, what is pointed to before the pointer, with a power cut at every step: sisyfs check link "
      "--set cache=off");
  const Result<NamedCheck> fixed = registry().make("link", {"cache=off"});
  if (!fixed) return fail(fixed.error());
  options->watched = ~uint32_t{0};
  const SearchResult clean = fixed->check->search(*options, progress_printer("auto"));
  clear_progress();
  fmt::print("{}", closing_statement(fixed->setup, *options, clean, fixed->check->marks(), text_style()));
  fmt::print(
      "\nNext: sisyfs targets (what else can be checked), sisyfs matrix (all orders, caches and tasks), "
      "docs/tutorial.md\n");
  return clean.verdict == Verdict::kPass ? kClean : exit_code(clean);
}

}  // namespace

void add_demo(CLI::App& app, int& exit) {
  CLI::App* sub = app.add_subcommand("demo", "Find a bug, replay it, and prove its fix, in a minute");
  sub->callback([&exit] { exit = run_demo(); });
}

}  // namespace sisyfs::cli
