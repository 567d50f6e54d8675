// sisyfs app: whether what a program acknowledged is still there after a power cut.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <thread>

#include "adapters/app/app_audit.h"
#include "adapters/app/app_check.h"
#include "adapters/app/work_directory.h"
#include "adapters/kernel/tool.h"
#include "base/printable.h"
#include "cli/app_ready.h"
#include "cli/cli.h"
#include "cli/files.h"
#include "finding/finding_json.h"
#include "report/app_json.h"
#include "report/app_text.h"

namespace sisyfs::cli {
namespace {

struct CommandFlags {
  std::string run, check, setup, recover, start, ready, stop;
};

struct AppFlags {
  CommandFlags commands;
  std::vector<std::string> words, ignored;
  std::string ack, folder = ".", contract = "posix", seconds = "60", budget, threads, losses, json,
                   progress = "auto";
  bool empty = false, audit = false, list = false;
};

// What is checked, and how it is called.
struct Application {
  std::string name;
  AppPlan plan;
};

AppPlan::Command shell(const std::string& text) {
  if (text.empty()) return {};
  return {"sh", "-c", text};
}

// One of the ready-made applications, if it is one.
Result<std::optional<Application>> ready_of(const AppFlags& flags) {
  if (flags.words.size() != 1 || !flags.commands.run.empty()) return std::optional<Application>();
  const ReadyApp* const app = ready_app(flags.words.front());
  if (app == nullptr) return std::optional<Application>();
  if (!flags.commands.setup.empty() || !flags.commands.check.empty() || !flags.commands.recover.empty() ||
      !flags.commands.start.empty())
    return bad_input(fmt::format(
        "{} brings its own commands: leave out --setup, --check, --recover and --start", app->name));
  if (Status s = provide(*app); !s) return s.error();
  return std::optional<Application>({app->name, app->plan});
}

Result<Application> own_of(const AppFlags& flags) {
  Application app;
  AppPlan& plan = app.plan;
  plan.setup = shell(flags.commands.setup);
  plan.recover = shell(flags.commands.recover);
  plan.check = shell(flags.commands.check);
  plan.start = shell(flags.commands.start);
  plan.ready = shell(flags.commands.ready);
  plan.stop = shell(flags.commands.stop);
  if (!flags.commands.run.empty() && !flags.words.empty())
    return bad_input("--run and a command behind -- are two workloads: give one of them");
  plan.run = flags.commands.run.empty() ? flags.words : shell(flags.commands.run);
  if (plan.run.empty())
    return bad_input(
        "there is nothing to run: name an application ('sisyfs app --list' lists them), or give a workload "
        "with "
        "--run or behind --");
  const bool is_word = flags.words.size() == 1 && flags.words.front().find('/') == std::string::npos;
  if (flags.commands.run.empty() && is_word && find_tool(flags.words.front()).empty())
    return bad_input(fmt::format(
        "{} is no application ('sisyfs app --list' lists them), and there is no such program to run",
        shown(flags.words.front())));
  app.name = flags.commands.run.empty() ? fmt::format("{}", fmt::join(flags.words, " ")) : flags.commands.run;
  if (!flags.ack.empty()) {
    try {
      plan.ack.emplace(flags.ack, std::regex::extended);
    } catch (const std::regex_error& error) {
      return bad_input(fmt::format("--ack {}: not a regular expression: {}", flags.ack, error.what()));
    }
  }
  if (!flags.empty) {
    std::error_code unknown;
    plan.folder = std::filesystem::canonical(flags.folder, unknown).string();
    if (unknown || !std::filesystem::is_directory(plan.folder, unknown))
      return bad_input(fmt::format("--dir {}: there is no such folder", flags.folder));
  }
  return app;
}

Result<Application> application_of(const AppFlags& flags) {
  auto ready = ready_of(flags);
  if (!ready) return ready.error();
  auto app = *ready ? Result<Application>(**ready) : own_of(flags);
  if (!app) return app;
  auto place = WorkPlace::open("/proc/self/exe");
  if (!place) return place.error();
  app->plan.place = *std::move(place);
  app->plan.ignored.insert(app->plan.ignored.end(), flags.ignored.begin(), flags.ignored.end());
  const auto patience = parse_time("--seconds", flags.seconds);
  if (!patience) return patience.error();
  app->plan.patience = *patience;
  return app;
}

Result<AppSearch> search_of(const AppFlags& flags) {
  AppSearch search;
  search.rules = file_rules(flags.contract);
  if (search.rules == nullptr) {
    std::vector<std::string_view> names;
    for (const FileRules& one : all_file_rules()) names.push_back(one.name);
    return bad_input(
        fmt::format("unknown contract '{}'; contracts are {}", flags.contract, fmt::join(names, ", ")));
  }
  search.threads = std::max(1u, std::thread::hardware_concurrency());
  if (!flags.threads.empty()) {
    const auto threads = parse_count("--threads", flags.threads);
    if (!threads) return threads.error();
    search.threads = static_cast<unsigned>(*threads);
  }
  if (!flags.losses.empty()) {
    const auto losses = parse_count("--losses", flags.losses);
    if (!losses) return losses.error();
    search.losses = static_cast<uint32_t>(*losses);
  }
  if (!flags.budget.empty()) {
    const auto budget = parse_time("--budget", flags.budget);
    if (!budget) return budget.error();
    search.until = std::chrono::steady_clock::now() + *budget;
  }
  return search;
}

std::string many(uint64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string covered(const AppResult& result) {
  std::string out =
      fmt::format("  states    {} of the files at {}, judged by {} of the check\n", result.states.text(),
                  many(result.moments, "moment", "moments"), many(result.runs, "run", "runs"));
  const std::string losses = many(result.losses, "loss", "losses");
  if (result.stopped)
    out += fmt::format("  covered   a part of those with at most {}\n", losses);
  else if (result.exhausted)
    out += "  covered   all of them\n";
  else
    out += fmt::format("  covered   those with at most {}\n", losses);
  return out;
}

// What is said in one word, and the exit code for it.
struct Outcome {
  const char* word;
  Exit exit;
};
Outcome outcome_of(const AppResult& result) {
  if (!result.findings.empty()) return {"FAIL", kFound};
  if (!result.stopped) return {"PASS", kClean};
  if (interrupted().load()) return {"UNKNOWN", kInconclusive};
  return {"NOTHING FOUND in the time", kClean};
}

std::string flush_text(const AppRecording& recording, const FlushChanges::Added& added) {
  const FileEvent& after = recording.files.log.events()[added.after];
  return fmt::format("fsync {} after call {} ({})", printable(recording.name_of(added.object)),
                     added.after + 1, printable(after.text));
}

void print_advice(const AppRecording& recording, const AppReport& report) {
  std::vector<std::string_view> with, without, unknown;
  for (const RulesVerdict& one : report.rules)
    (one.found ? with : one.exhausted ? without : unknown).push_back(one.rules->name);
  const auto list = [](const char* what, const std::vector<std::string_view>& names) {
    if (!names.empty()) fmt::print("  {:<18}{}\n", what, fmt::join(names, ", "));
  };
  list("happens under", with);
  list("does not under", without);
  list("not found under", unknown);
  if (report.cures.empty()) fmt::print("  {:<18}no fsync that was tried\n", "would help");
  constexpr size_t kMost = 8;
  for (const auto& set : report.cures) {
    for (size_t i = 0; i < std::min(set.size(), kMost); ++i)
      fmt::print("  {:<18}{}\n", i == 0 ? "would help" : "       and", flush_text(recording, set[i]));
    if (set.size() > kMost)
      fmt::print("  {:<18}{} more (--json FILE has all)\n", "       and", set.size() - kMost);
  }
  const bool is_content = std::ranges::any_of(report.result.findings, [](const AppFinding& one) {
    return one.kind == AppFinding::Kind::kOtherContents;
  });
  if (is_content)
    fmt::print("  {:<18}files that may be left over, such as *.tmp, do not matter with --ignore\n", "hint");
}

void print_audit(const AppRecording& recording, const AppReport& report) {
  fmt::print("\nflushes under {}\n", report.search.rules->name);
  for (const AuditedFlush& flush : report.audit->flushes) {
    fmt::print("  {:6}  {:14} {}", flush.event + 1, verdict_text(flush.verdict),
               printable(recording.files.log.events()[flush.event].text));
    if (!flush.without.empty() && !flush.without.front().losses.empty())
      fmt::print("   without it may be lost: {}",
                 loss_text(recording, flush.without.front(), flush.without.front().losses.front()));
    fmt::print("\n");
  }
}

void print_findings(const AppRecording& recording, const AppReport& report) {
  const size_t calls = recording.files.log.events().size();
  for (const AppFinding& finding : report.result.findings) {
    const AppKindInfo& kind = info(finding.kind);
    fmt::print("FOUND {} ({}): {}\n  {}: {}, under {}\n\n{}", kind.name, kind.code, kind.sentence,
               printable(report.application), many(calls, "call", "calls"), report.search.rules->name,
               app_story(recording, finding));
    if (finding.alike > 1) fmt::print("          {} states are alike\n", finding.alike);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void print_rest(const AppRecording& recording, const AppReport& report, bool wants_audit) {
  const bool found = !report.result.findings.empty();
  if (found) print_advice(recording, report);
  const auto events = recording.files.log.events();
  if (std::ranges::none_of(events, [](const FileEvent& one) { return !one.steps.empty(); }))
    fmt::print("  note              the workload changed nothing in the work directory\n");
  for (const std::string& call : recording.refused)
    fmt::print("  refused           {}: the program got an error and went on without it\n", call);
  fmt::print("{}{}: {}: {} under {}\n{}", found ? "\n" : "", outcome_of(report.result).word,
             printable(report.application), many(recording.files.log.events().size(), "call", "calls"),
             report.search.rules->name, covered(report.result));
  if (report.audit) print_audit(recording, report);
  if (wants_audit && found)
    fmt::print("  audit     none, because there is a finding: 'would help' says what is missing\n");
}

// A line now and then, as other searches have it.
std::function<void(const AppResult&)> progress_of(const std::string& mode) {
  auto losses = std::make_shared<uint32_t>(0);
  const ProgressFn print =
      progress_printer(mode, [losses] { return fmt::format("at most {} losses", *losses); });
  if (!print) return {};
  using Clock = std::chrono::steady_clock;
  return [print, losses, begin = Clock::now(), next = Clock::now()](const AppResult& result) mutable {
    const auto now = Clock::now();
    if (now < next) return;
    next = now + std::chrono::milliseconds(500);
    Progress progress{};
    progress.elapsed = now - begin;
    progress.states = result.runs;
    *losses = result.losses;
    progress.findings = result.findings.empty() ? 0 : 1;
    print(progress);
  };
}

// What follows a search: where it happens and what would help, or the audit.
Status look_closer(AppCheck& check, const AppFlags& flags, AppReport& report) {
  constexpr auto kEach = std::chrono::seconds(5), kCures = std::chrono::seconds(60);
  AppSearch as_deep = report.search;
  as_deep.losses = report.result.losses;
  if (report.result.findings.empty()) {
    if (!flags.audit) return {};
    auto audit = audit_flushes(check, as_deep);
    if (!audit) return audit.error();
    report.audit = *std::move(audit);
    return {};
  }
  auto rules = under_all_rules(check, report.search, kEach);
  if (!rules) return rules.error();
  report.rules = *std::move(rules);
  as_deep.until = std::chrono::steady_clock::now() + kCures;
  auto cures = missing_flushes(check, as_deep, report.result);
  if (!cures) return cures.error();
  report.cures = *std::move(cures);
  return {};
}

int run_app(const AppFlags& flags) {
  if (flags.list) {
    for (const ReadyApp& app : ready_apps()) fmt::print("{:22} {}\n", app.name, app.summary);
    return kClean;
  }
  if (!flags.json.empty() && flags.json != "-")
    if (Status s = can_write(flags.json); !s) return fail(s.error());
  const auto app = application_of(flags);
  if (!app) return fail(app.error());
  const auto search = search_of(flags);
  if (!search) return fail(search.error());
  const auto recording = record_app(app->plan);
  if (!recording) return fail(recording.error());
  AppCheck check(app->plan, *recording);
  check.stop = &interrupted();
  check.progress = progress_of(flags.progress);
  if (Status s = check.try_without_power_cut(search->threads); !s) return fail(s.error());
  AppReport report;
  report.application = app->name;
  report.search = *search;
  auto result = check.search(*search);
  if (!result) return fail(result.error());
  report.result = *std::move(result);
  const Outcome outcome = outcome_of(report.result);
  report.verdict = outcome.exit == kFound ? "fail" : report.result.stopped ? "unknown" : "pass";
  const bool prints = flags.json != "-";
  clear_progress();
  if (prints) print_findings(*recording, report);
  if (Status s = look_closer(check, flags, report); !s) return fail(s.error());
  clear_progress();
  if (prints) print_rest(*recording, report, flags.audit);
  if (!flags.json.empty())
    if (Status s = write_file(flags.json, text_of(app_json(*recording, report))); !s) return fail(s.error());
  return outcome.exit;
}

}  // namespace

void add_app(CLI::App& app, int& exit) {
  auto flags = std::make_shared<AppFlags>();
  CLI::App* sub =
      app.add_subcommand("app", "Check whether what a program acknowledged is still there after a power cut");
  sub->add_option("application", flags->words,
                  "a ready-made application, or behind -- a command: the workload");
  sub->add_flag("--list", flags->list, "list the ready-made applications");
  sub->add_flag("--audit", flags->audit, "also say of each fsync whether it is needed");
  sub->add_option("--run", flags->commands.run, "shell command: the workload, which is recorded");
  sub->add_option("--check", flags->commands.check,
                  "shell command that says with its exit code whether all is right");
  sub->add_option("--setup", flags->commands.setup,
                  "shell command before the workload; all that it writes is durable");
  sub->add_option("--recover", flags->commands.recover, "shell command before the check, after a power cut");
  sub->add_option("--start", flags->commands.start,
                  "shell command that runs a server beside workload and check");
  sub->add_option("--ready", flags->commands.ready, "shell command that succeeds when the server is ready");
  sub->add_option("--stop", flags->commands.stop, "shell command that stops the server after the workload");
  sub->add_option("--ack", flags->ack, "lines that the workload prints and that match this acknowledge");
  sub->add_option(
         "--ignore", flags->ignored,
         "names of files that do not matter, such as *.lock: their states are not tried; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--dir", flags->folder,
                  "the work directory begins with the content of this folder, which itself "
                  "stays as it is")
      ->capture_default_str();
  sub->add_flag("--empty", flags->empty, "the work directory begins empty");
  sub->add_option("--contract", flags->contract, "what the file system below promises")
      ->capture_default_str();
  sub->add_option("--seconds", flags->seconds, "time limit of each command")->capture_default_str();
  sub->add_option("--losses", flags->losses, "try states with at most so many losses (default: all)");
  sub->add_option("--budget", flags->budget, "time for the search");
  sub->add_option("--threads", flags->threads, "checks that run at once (default: all cores)");
  sub->add_option("--json", flags->json, "write the result as JSON to this file; - is standard output");
  sub->add_option("--progress", flags->progress, "auto, line, plain, json or off")
      ->check(CLI::IsMember({"auto", "line", "plain", "json", "off"}))
      ->capture_default_str();
  sub->footer(
      "Exit codes: 0 all states were tried, or none with a finding within the bound, 1 finding, 2 usage or "
      "bad "
      "input,\n3 stopped before the bound, 4 harness error.");
  sub->callback([flags, &exit] { exit = run_app(*flags); });
}

}  // namespace sisyfs::cli
