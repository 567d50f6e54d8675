// sisyfs services: what each file system of the kernel keeps when the power goes, service by service.
#include "cli/services/services.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

#include "adapters/kernel/file_systems.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/files.h"
#include "cli/run.h"
#include "cli/services/table.h"
#include "finding/finding_json.h"
#include "finding/token.h"
#include "workload/script.h"

namespace sisyfs::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct ServicesFlags {
  std::vector<std::string> targets, settings, only;
  std::string budget, kernel, json, threads, progress = "auto";
  bool markdown = false;
};

// Findings by which a service is broken: what comes back is not what was promised, or nothing comes back.
constexpr FindingKind kBreaks[] = {FindingKind::kNotAllowed, FindingKind::kNotMountable,
                                   FindingKind::kNotWalkable};

// After one of these, what lies behind it on its path was not tried.
bool ends_path(FindingKind kind) {
  const char letter = info(kind).code[0];
  return letter == 'O' || kind == FindingKind::kTargetDied || kind == FindingKind::kTargetHung;
}

// Divides the time that is left among the searches that are left.
class Budget {
 public:
  Budget(std::optional<milliseconds> all, size_t searches) : searches_(searches) {
    if (all) end_ = Clock::now() + *all;
  }
  milliseconds next() {
    const size_t left = std::max<size_t>(searches_, 1);
    if (searches_ != 0) --searches_;
    if (!end_) return kCell;
    const auto rest = std::chrono::duration_cast<milliseconds>(*end_ - Clock::now());
    return std::max(rest / static_cast<int64_t>(left), milliseconds(0));
  }

 private:
  static constexpr milliseconds kCell = std::chrono::minutes(2);
  std::optional<Clock::time_point> end_;
  size_t searches_;
};

std::vector<std::string> settings_for(const FileSystem& fs, const Service& service, const Options& options,
                                      const std::vector<std::string>& given, std::string_view crash) {
  std::vector<std::string> settings;
  for (const std::string& setting : given)
    if (!service.sync_mount || !setting.starts_with("mount=")) settings.push_back(setting);
  if (service.sync_mount) settings.push_back(fmt::format("mount={},sync", options.value_text("mount")));
  settings.push_back(fmt::format("contract={}", contract_name(service.contract)));
  if (service.fsync_names != fs.fsync_names)
    settings.push_back(fmt::format("fsync_names={}", service.fsync_names ? "on" : "off"));
  settings.push_back(fmt::format("crash={}", crash));
  return settings;
}

// What the story says of the crash that broke the service.
std::string why_of(const Story& story, FindingKind kind) {
  for (size_t i = story.steps.size(); i-- > 0;)
    for (const Observation& seen : story.steps[i].observed)
      if (seen.kind == kind) return printable(seen.text);
  return {};
}

struct Search {
  const CheckEntry& entry;
  const FileSystem& fs;
  const ServicesFlags& flags;
  const Options& options;
  unsigned threads;
};

// One search of a cell. False: it found nothing and did not end.
Result<bool> search_cell(const Search& search, std::string_view crash, milliseconds time, ServiceCell& cell) {
  const Service& service = *cell.service;
  const OpSet ops = OpSet::all() - search.fs.without;
  const auto text = script_of(service, ops, static_cast<uint32_t>(search.options.integer("unit")));
  if (!text) {
    cell.why = "it does not have the call";
    return false;
  }
  const Result<NamedCheck> named = CheckRegistry::make(
      search.entry, settings_for(search.fs, service, search.options, search.flags.settings, crash));
  if (!named) return named.error();
  const Result<Script> script = Script::parse(*text);
  if (!script) return script.error();
  if (Status s = named->check->follow(*script); !s) return s.error();
  SearchOptions options;
  options.interrupt = &interrupted();
  options.threads = search.threads;
  options.stop = StopRule::kFirst;
  options.watched = named->check->kinds().bits(kBreaks);
  options.bounds.time = time;
  options = named->check->fitted(options);
  const std::string note = fmt::format("{}, {}", search.entry.name, service.head);
  const SearchResult result =
      named->check->search(options, progress_printer(search.flags.progress, [&] { return note; }));
  clear_progress();
  if (result.stopped == Stop::kHarness)
    return result.trouble.value_or(system_error("the search failed for an unknown reason"));
  cell.crash_states += result.crash_states;
  cell.seconds += result.seconds;
  const std::vector<FindingKind> met = named->check->kinds().in(result.met & ~options.watched);
  cell.also = names_of(met);
  if (result.findings != 0) {
    const Result<TracedFindings> traced = trace_findings(*named, options, result, search.flags.progress);
    if (!traced) return traced.error();
    if (traced->findings.empty()) {
      cell.why = "no trace of " + traced->why;
      return false;
    }
    const ToldFinding& told = traced->findings.front();
    const Result<Confirmed> confirmed = confirm(told.finding, search.entry.confirmations);
    if (!confirmed) return confirmed.error();
    if (confirmed->times != search.entry.confirmations) {
      cell.why =
          fmt::format("{} was found and happened again {} of {} times: {}", info(told.finding.kind).name,
                      confirmed->times, confirmed->of, make_token(told.finding));
      return false;
    }
    cell.keeps = Keeps::kBroken;
    cell.bound = crash;
    cell.token = make_token(told.finding);
    cell.finding = info(told.finding.kind).name;
    cell.why = why_of(told.story, told.finding.kind);
    return true;
  }
  const bool ended = result.stopped == Stop::kNo && result.exhausted && result.left_out == 0;
  if (std::any_of(met.begin(), met.end(), ends_path)) {
    cell.why = fmt::format("its paths end with {}", cell.also);
    return false;
  }
  if (!ended)
    cell.why =
        fmt::format("the search did not end: {} crash states were judged", count_text(cell.crash_states));
  return ended;
}

// Where the power goes while much is in doubt, prefixes come first: they are few, and find the most.
Result<ServiceCell> fill_cell(const Search& search, const Service& service, milliseconds time) {
  ServiceCell cell;
  cell.service = &service;
  const auto begin = Clock::now();
  const char* const all = search.fs.rare.mend == nullptr ? "lazy" : "subsets";
  if (service.during) {
    const Result<bool> ended = search_cell(search, "prefixes", time, cell);
    if (!ended) return ended.error();
    if (!*ended || cell.keeps == Keeps::kBroken) return cell;
    cell.keeps = Keeps::kKept;
    cell.bound = "prefixes";
    time = std::max(time - std::chrono::duration_cast<milliseconds>(Clock::now() - begin), milliseconds(1));
  }
  const Result<bool> ended = search_cell(search, all, time, cell);
  if (!ended) return ended.error();
  if (!*ended || cell.keeps == Keeps::kBroken) return cell;
  cell.keeps = Keeps::kKept;
  cell.bound = "all";
  cell.why.clear();
  return cell;
}

// A kernel now and then does a thing of its own while calls are made again. Then the cell is tried once more.
Result<ServiceCell> fill_patiently(const Search& search, const Service& service, milliseconds time) {
  static constexpr int kTries = 3;
  const auto end = Clock::now() + time;
  for (int tries = 1;; ++tries) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    Result<ServiceCell> cell = fill_cell(search, service, std::max(left, milliseconds(1)));
    if (cell || tries == kTries || cell.error().kind == ErrorKind::kBadInput || interrupted().load())
      return cell;
  }
}

Result<std::vector<const Service*>> columns_of(const ServicesFlags& flags) {
  std::vector<const Service*> columns;
  for (const std::string& name : flags.only)
    if (std::ranges::none_of(services(), [&](const Service& one) { return one.name == name; })) {
      std::string names;
      for (const Service& one : services()) names += (names.empty() ? "" : ", ") + std::string(one.name);
      return bad_input(fmt::format("unknown service '{}'; services are {}", name, names));
    }
  for (const Service& one : services())
    if (flags.only.empty() || std::ranges::find(flags.only, one.name) != flags.only.end())
      columns.push_back(&one);
  return columns;
}

Result<std::vector<const FileSystem*>> rows_of(const ServicesFlags& flags) {
  std::vector<const FileSystem*> rows;
  for (const std::string& name : flags.targets) {
    if (file_system(name) == nullptr)
      return bad_input(
          fmt::format("{} is no file system of the kernel: 'sisyfs targets' lists the targets", name));
    rows.push_back(file_system(name));
  }
  if (rows.empty())
    for (const FileSystem& fs : file_systems())
      if (fs.rare.erase_unit == 0) rows.push_back(&fs);  // what needs a kernel of the user is named
  return rows;
}

Status can_set(const ServicesFlags& flags) {
  for (const std::string& setting : flags.settings)
    for (const char* own : {"contract=", "crash=", "fsync_names="})
      if (setting.starts_with(own))
        return bad_input(fmt::format("--set {}: services sets this itself", setting));
  return {};
}

Status show_table(const ServicesFlags& flags, const std::vector<ServiceRow>& rows, double seconds) {
  if (flags.json != "-") {
    fmt::print("{}\n{} file systems in {}\n", flags.markdown ? markdown_table(rows) : text_table(rows),
               rows.size(), seconds_text(seconds));
    std::fflush(stdout);
  }
  if (flags.json.empty()) return {};
  return write_file(flags.json, text_of(json_table(rows, seconds)));
}

int run_services(const ServicesFlags& flags) {
  if (Status s = can_set(flags); !s) return fail(s.error());
  if (flags.markdown && flags.json == "-")
    return fail(bad_input("--json - and --markdown both print: give --json a file"));
  const auto columns = columns_of(flags);
  if (!columns) return fail(columns.error());
  const auto file_systems = rows_of(flags);
  if (!file_systems) return fail(file_systems.error());
  SearchFlags common;
  common.threads = flags.threads;
  const Result<SearchOptions> options = common.options();
  if (!options) return fail(options.error());
  std::optional<milliseconds> time;
  if (!flags.budget.empty()) {
    const auto parsed = parse_time("--budget", flags.budget);
    if (!parsed) return fail(parsed.error());
    time = *parsed;
  }
  if (!flags.json.empty() && flags.json != "-")
    if (Status s = can_write(flags.json); !s) return fail(s.error());
  const auto begin = Clock::now();
  Budget budget(time, columns->size() * file_systems->size());
  std::vector<ServiceRow> rows;
  bool stopped = false, any = false;
  std::optional<Error> trouble;
  for (const FileSystem* fs : *file_systems) {
    const Result<const CheckEntry*> entry = registry().find(fs->name);
    if (!entry) return fail(entry.error());
    const Result<Options> given = Options::parse((*entry)->options, flags.settings);
    if (!given) return fail(given.error());
    ServiceRow row{std::string(fs->name), flags.settings, {}};
    for (const Service* service : *columns) {
      const milliseconds share = budget.next();
      ServiceCell cell;
      cell.service = service;
      cell.why = "stopped before";
      if (!interrupted().load() && share.count() > 0) {
        Result<ServiceCell> filled =
            fill_patiently({**entry, *fs, flags, *given, options->threads}, *service, share);
        if (filled) {
          cell = *std::move(filled);
          any = true;
        } else {
          cell.why = printable(filled.error().message);
          trouble = filled.error();
        }
      }
      stopped |= cell.keeps == Keeps::kUnknown && cell.why != "it does not have the call";
      row.cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
  }
  // One file system that is missing here leaves the others. But a mistake in a setting is one for all.
  if (trouble && !any) return fail(*trouble);
  const std::chrono::duration<double> spent = Clock::now() - begin;
  if (Status s = show_table(flags, rows, spent.count()); !s) return fail(s.error());
  return stopped || interrupted().load() ? kInconclusive : kClean;
}

}  // namespace

void add_services(CLI::App& app, int& exit) {
  auto flags = std::make_shared<ServicesFlags>();
  CLI::App* sub = app.add_subcommand(
      "services",
      "Print what each file system of the kernel keeps when the power goes: sync, fsync, O_SYNC, ...");
  sub->footer(
      "Exit codes: 0 the table was made (broken cells are its content), 2 usage or bad input, 3 stopped "
      "before the end,\n4 harness error.");
  sub->add_option("target", flags->targets, "file systems, such as ext4 xfs (default: all)");
  sub->add_option("--set", flags->settings,
                  "set an option of the targets, such as mount=noatime,nobarrier; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--only", flags->only, "only this service, such as fsync; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--budget", flags->budget,
                  "time for all, such as 30m; cells whose search did not end are unknown (default: two "
                  "minutes for each cell)");
  sub->add_flag("--markdown", flags->markdown, "print Markdown");
  sub->add_option("--json", flags->json, "write the table as JSON to this file; - is standard output");
  add_kernel(*sub, flags->kernel);
  sub->add_option("--threads", flags->threads, "worker threads, each with a guest (default: all cores)");
  sub->add_option("--progress", flags->progress, "auto, line, plain, json or off")
      ->check(CLI::IsMember({"auto", "line", "plain", "json", "off"}))
      ->capture_default_str();
  sub->callback([flags, &exit] {
    if (!flags->kernel.empty()) flags->settings.push_back(kernel_setting(flags->kernel));
    exit = run_services(*flags);
  });
}

}  // namespace sisyfs::cli
