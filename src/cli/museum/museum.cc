// sisyfs museum: finds every planted bug again and checks every correct model; prints a table.
#include "cli/museum/museum.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/cli.h"
#include "cli/files.h"
#include "finding/finding_json.h"
#include "report/search_names.h"

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<Museum> load_museum(const std::string& path) {
  if (path.empty()) return parse_museum(shipped_exhibits(), "museum/exhibits.toml");
  const Result<std::string> text = read_file(path, kMostExhibits);
  if (!text) return bad_input(text.error().message + "; --exhibits takes a TOML file");
  return parse_museum(*text, path);
}

// Keeps the selected entries: those of --only, otherwise those of the normal or of the long run.
Status choose(Museum& museum, const MuseumFlags& flags) {
  std::vector<std::string> unknown = flags.only;
  const auto unwanted = [&](const auto& entry) {
    if (flags.only.empty()) return entry.in_long_run && !flags.long_run && !flags.list;
    std::erase(unknown, entry.name);
    return std::find(flags.only.begin(), flags.only.end(), entry.name) == flags.only.end();
  };
  std::erase_if(museum.exhibits, unwanted);
  std::erase_if(museum.models, unwanted);
  if (unknown.empty()) return {};
  return bad_input(fmt::format("--only {}: no such exhibit or model; --list names them", unknown.front()));
}

std::string depth_text(uint32_t depth) {
  return depth == SearchBounds::kNoDepth ? "all" : std::to_string(depth);
}

void print_list(const Museum& museum) {
  for (const Exhibit& e : museum.exhibits)
    fmt::print("{:<26}{:<9}{:<26}{:<19}{}{}\n", e.name, printable(e.target), printable(e.source),
               printable(e.takes), printable(e.title),
               !e.waits.empty() ? fmt::format(" (waits for: {})", printable(e.waits))
               : e.in_long_run  ? " (with --long)"
                                : "");
  for (const RightModel& m : museum.models)
    fmt::print("{:<26}{:<9}right, to depth {:<10}{:<19}{}{}\n", m.name, printable(m.target),
               depth_text(m.depth), "", printable(m.title), m.in_long_run ? " (with --long)" : "");
}

const char* fit_text(Fit fit) {
  switch (fit) {
    case Fit::kAsExpected:
      return "as expected";
    case Fit::kWaits:
      return "waits";
    case Fit::kStopped:
      return "stopped";
    case Fit::kDiffers:
      return "differs";
  }
  return "";
}

Json search_json(const ShownSearch& shown) {
  const SearchResult& r = shown.result;
  Json codes = Json::array();
  for (const FindingKind kind : shown.found) codes.push_back(info(kind).code);
  return {{"found", codes},         {"depth", r.depth},
          {"states", r.states},     {"transitions", r.transitions},
          {"left_out", r.left_out}, {"seconds", r.seconds}};
}

// One run through the museum: prints each line at once, and collects the JSON and the summary.
class Round {
 public:
  Round(const MuseumFlags& flags, const SearchOptions& options, Replayer replay)
      : flags_(flags), table_(flags.json != "-"), guide_(options, flags.progress, std::move(replay)) {}

  // False after a problem of the checker, which trouble() then returns.
  bool go(const Museum& museum);
  int finish();
  const Error& trouble() const { return trouble_; }

 private:
  bool go(const Exhibit& exhibit);
  bool go(const RightModel& model);
  void count(const Shown& shown) { ++counts_[static_cast<size_t>(shown.fit)]; }
  int exit() const;

  const MuseumFlags& flags_;
  const bool table_;
  MuseumGuide guide_;
  Error trouble_;
  std::array<size_t, 4> counts_{};
  size_t not_tried_ = 0;
  bool all_replayed_ = true;
  std::vector<std::string> tokens_;
  Json exhibits_ = Json::array(), models_ = Json::array();
};

std::string remark(const Shown& shown) {
  if (shown.fit == Fit::kAsExpected) return "as expected";
  if (shown.fit == Fit::kWaits) return "waits for: " + shown.why;
  return fmt::format("{}: {}", shown.fit == Fit::kDiffers ? "DIFFERS" : "stopped", shown.why);
}

bool Round::go(const Exhibit& exhibit) {
  const Result<Shown> shown = guide_.show(exhibit);
  if (!shown) return trouble_ = shown.error(), false;
  count(*shown);
  const bool found = !shown->search.found.empty();
  if (table_)
    fmt::print("{:<26}{:<26}{:<19}{:<15}{:>5}{:>9}{:>9}  {}\n", exhibit.name, exhibit.source, exhibit.takes,
               found                       ? codes_of(shown->search.found)
               : shown->fit == Fit::kWaits ? "-"
                                           : "nothing",
               found ? std::to_string(shown->search.found_at) : "-",
               shown->fit == Fit::kWaits ? "-" : seconds_text(shown->search.result.seconds),
               shown->twin_ran ? seconds_text(shown->twin.result.seconds) : "-", remark(*shown));
  std::fflush(stdout);
  if (!shown->token.empty())
    tokens_.push_back(fmt::format("{:<26}./sisyfs replay {}{}", exhibit.name, shown->token,
                                  shown->replayed ? "" : "  (NOT CONFIRMED)"));
  all_replayed_ = all_replayed_ && (shown->token.empty() || shown->replayed);
  Json json{{"name", exhibit.name},    {"title", exhibit.title},     {"source", exhibit.source},
            {"takes", exhibit.takes},  {"target", exhibit.target},   {"wrong", exhibit.wrong},
            {"settings", exhibit.set}, {"fit", fit_text(shown->fit)}};
  if (!shown->why.empty()) json["why"] = shown->why;
  if (shown->fit != Fit::kWaits) {
    json["search"] = search_json(shown->search);
    if (found)
      json.update(
          {{"found_at", shown->search.found_at}, {"token", shown->token}, {"replayed", shown->replayed}});
    if (shown->twin_ran) json["twin"] = search_json(shown->twin);
  }
  exhibits_.push_back(std::move(json));
  return true;
}

bool Round::go(const RightModel& model) {
  const Result<Shown> shown = guide_.show(model, flags_.long_run);
  if (!shown) return trouble_ = shown.error(), false;
  count(*shown);
  const SearchResult& r = shown->search.result;
  if (table_)
    fmt::print("{:<26}{:<45}{:<15}{:>5}{:>9}{:>9}  {}\n", model.name,
               fmt::format("{} states, {} transitions", count_text(r.states), count_text(r.transitions)),
               r.findings != 0 ? codes_of(shown->search.found) : "nothing",
               r.exhausted ? "all" : std::to_string(r.depth), seconds_text(r.seconds), "", remark(*shown));
  std::fflush(stdout);
  Json json{{"name", model.name},
            {"title", model.title},
            {"target", model.target},
            {"settings", model.set},
            {"fit", fit_text(shown->fit)}};
  if (!shown->why.empty()) json["why"] = shown->why;
  json["search"] = search_json(shown->search);
  json["exhausted"] = r.exhausted;
  models_.push_back(std::move(json));
  return true;
}

bool Round::go(const Museum& museum) {
  const auto heading = [this](const char* first, const char* what) {
    if (table_)
      fmt::print("{:<26}{:<45}{:<15}{:>5}{:>9}{:>9}\n", first, what, "found", "depth", "time", "twin");
  };
  if (!museum.exhibits.empty()) heading("exhibit", fmt::format("{:<26}{}", "source", "takes").c_str());
  for (const Exhibit& exhibit : museum.exhibits)
    if (interrupted().load())
      ++not_tried_;
    else if (!go(exhibit))
      return false;
  if (table_ && !museum.exhibits.empty() && !museum.models.empty()) fmt::print("\n");
  if (!museum.models.empty()) heading("right model", "searched");
  for (const RightModel& model : museum.models)
    if (interrupted().load())
      ++not_tried_;
    else if (!go(model))
      return false;
  return true;
}

int Round::exit() const {
  if (counts_[static_cast<size_t>(Fit::kDiffers)] != 0) return kFound;
  if (counts_[static_cast<size_t>(Fit::kStopped)] + not_tried_ != 0) return kInconclusive;
  return kClean;
}

int Round::finish() {
  if (table_ && !tokens_.empty()) {
    fmt::print("\n{} replayed in a fresh process. To see its steps:\n",
               all_replayed_ ? "Each finding was" : "Not every finding was confirmed when it was");
    for (const std::string& token : tokens_) fmt::print("  {}\n", token);
  }
  if (table_)
    fmt::print("\n{} as expected, {} differ, {} stopped or not tried, {} waiting\n", counts_[0], counts_[3],
               counts_[2] + not_tried_, counts_[1]);
  if (!flags_.json.empty()) {
    const Json json{{"schema", "sisyfs.museum/1"}, {"version", SISYFS_VERSION}, {"as_expected", counts_[0]},
                    {"differ", counts_[3]},        {"stopped", counts_[2]},     {"not_tried", not_tried_},
                    {"waiting", counts_[1]},       {"exhibits", exhibits_},     {"models", models_}};
    if (Status s = write_file(flags_.json, text_of(json)); !s) return fail(s.error());
  }
  return exit();
}

int run_museum(const MuseumFlags& flags) {
  Result<Museum> museum = load_museum(flags.exhibits);
  if (!museum) return fail(museum.error());
  if (Status s = choose(*museum, flags); !s) return fail(s.error());
  SearchFlags search;
  search.threads = flags.threads;
  Result<SearchOptions> options = search.options();
  if (!options) return fail(options.error());
  if (flags.list) return print_list(*museum), kClean;
  options->digest_visited = false;
  if (!flags.json.empty() && flags.json != "-")
    if (Status s = can_write(flags.json); !s) return fail(s.error());
  return show_round(*museum, flags, *options);
}

}  // namespace

int show_round(const Museum& museum, const MuseumFlags& flags, const SearchOptions& options,
               Replayer replay) {
  Round round(flags, options, std::move(replay));
  if (!round.go(museum)) return fail(round.trouble());
  return round.finish();
}

void add_museum(CLI::App& app, int& exit) {
  auto flags = std::make_shared<MuseumFlags>();
  CLI::App* sub = app.add_subcommand(
      "museum",
      "Find every planted bug again, replay it, and check that the correct models have none; the exit code "
      "is 0 if all is as expected, 1 if something differs");
  sub->add_option("--only", flags->only, "show only this exhibit or model; may be repeated")
      ->allow_extra_args(false);
  sub->add_flag("--list", flags->list, "list the exhibits and models, and search nothing");
  sub->add_flag("--long", flags->long_run,
                "search the correct models deeper, and include the longest exhibits");
  sub->add_option("--json", flags->json,
                  "write the results as JSON to this file; - or no value: standard output")
      ->expected(0, 1);
  sub->add_option("--exhibits", flags->exhibits, "use this data file (TOML) instead of the built-in one");
  sub->add_option("--threads", flags->threads, "worker threads (default: all cores)");
  sub->add_option("--progress", flags->progress, "auto, line, plain, json or off")
      ->check(CLI::IsMember({"auto", "line", "plain", "json", "off"}))
      ->capture_default_str();
  sub->footer(
      "Exit codes: 0 all is as expected (waiting exhibits do not count), 1 something differs, 2 usage or "
      "bad\n"
      "input, 3 stopped before the end, 4 harness error.");
  sub->callback([flags, sub, &exit] {
    if (sub->count("--json") != 0 && (flags->json.empty() || flags->json == "true")) flags->json = "-";
    exit = run_museum(*flags);
  });
}

}  // namespace sisyfs::cli
