// sisyfs matrix: the verdict matrix of the file-mapping models (thesis, Tables 4.4 and 4.5 and the case
// before them).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/run.h"
#include "finding/token.h"

namespace sisyfs::cli {
namespace {

struct Variant {
  const char* name;
  const char* order;
  const char* cache;
  const char* source;
};

constexpr Variant kVariants[] = {
    {"naive order, no cache", "naive", "off", "thesis 4.3.1"},
    {"naive order, cache and FLUSH", "naive", "flush", "thesis Table 4.4"},
    {"pointed-to first, cache and FLUSH", "pointed", "flush", "thesis Table 4.5"},
    {"pointed-to first, no cache", "pointed", "off", "beyond the thesis"},
};
constexpr FindingKind kCritical[] = {FindingKind::kLostBlock, FindingKind::kDoublePointer,
                                     FindingKind::kContentError};

struct MatrixFlags {
  std::string files = "4", blocks = "6", json;
  bool no_symmetry = false;
  SearchFlags search;
};

struct Cell {
  NamedCheck named;
  SearchResult result;
  std::map<FindingKind, uint32_t> depths;  // of what was found
};

const char* absent_text(const SearchResult& result) { return result.exhausted ? "none" : "none yet"; }

// The text about dead blocks: recovery repairs them, and a mark is set when it had to.
std::string dead_text(const SearchResult& result) {
  return (result.marks & 1) != 0 ? "repaired" : absent_text(result);
}

std::string critical_text(const Cell& cell, FindingKind kind) {
  const auto at = cell.depths.find(kind);
  return at == cell.depths.end() ? absent_text(cell.result) : fmt::format("at {}", at->second);
}

// Whether a bound or Ctrl-C ended the search of a cell.
bool was_cut(const SearchResult& result) {
  return result.stopped != Stop::kNo && result.stopped != Stop::kFinding;
}

nlohmann::ordered_json cell_json(const Variant& variant, const Cell& cell, int tasks) {
  const SearchResult& r = cell.result;
  nlohmann::ordered_json json{{"target", cell.named.setup.target},
                              {"variant", variant.name},
                              {"source", variant.source},
                              {"tasks", tasks},
                              {"settings", cell.named.setup.settings},
                              {"dead-block", dead_text(r)}};
  for (FindingKind kind : kCritical) json[std::string(info(kind).name)] = critical_text(cell, kind);
  json.update({{"exhausted", r.exhausted},
               {"states", r.states},
               {"transitions", r.transitions},
               {"depth", r.depth},
               {"seconds", r.seconds},
               {"memory_bytes", r.memory_bytes},
               {"merge_probability", r.merge_probability}});
  return json;
}

int run_matrix(const MatrixFlags& flags) {
  Result<SearchOptions> options = flags.search.options();
  if (!options) return fail(options.error());
  options->stop = StopRule::kEach;
  if (!flags.json.empty() && flags.json != "-")
    if (Status s = can_write(flags.json); !s) return fail(s.error());
  const auto probe = registry().make("link", {"files=" + flags.files, "blocks=" + flags.blocks});
  if (!probe) return fail(probe.error());
  if (Status s = probe->check->accepts(*options); !s) return fail(s.error());
  nlohmann::ordered_json cells = nlohmann::ordered_json::array();
  std::vector<std::string> tokens;
  Verdict clean_cells = Verdict::kPass;
  const bool table = flags.json != "-";
  if (table)
    fmt::print("{:<6}{:<35}{:<6}{:<10}{:<9}{:<9}{:<9}{:>14}{:>16}{:>7}{:>9}{:>10}\n", "model",
               "writes and cache", "tasks", "dead", "lost", "double", "content", "states", "transitions",
               "depth", "time", "memory");
  for (const char* model : {"link", "index"})
    for (const Variant& variant : kVariants)
      for (int tasks : {1, 2}) {
        if (interrupted().load()) continue;
        Result<NamedCheck> named = registry().make(
            model, {"files=" + flags.files, "blocks=" + flags.blocks, fmt::format("tasks={}", tasks),
                    fmt::format("order={}", variant.order), fmt::format("cache={}", variant.cache),
                    fmt::format("symmetry={}", flags.no_symmetry ? "off" : "on")});
        if (!named) return fail(named.error());
        Cell cell{*std::move(named), {}, {}};
        options->watched = cell.named.check->kinds().bits(kCritical);
        cell.result = cell.named.check->search(*options, progress_printer(flags.search.progress));
        clear_progress();
        SearchResult& r = cell.result;
        if (r.stopped == Stop::kHarness && r.trouble) return fail(*r.trouble);
        const Result<TracedFindings> traced = trace_findings(cell.named, *options, r, flags.search.progress);
        if (!traced) return fail(traced.error());
        const KindTable& kinds = cell.named.check->kinds();
        for (const FindingKind kind : kinds.in(r.findings))
          cell.depths[kind] = r.least_depth[static_cast<size_t>(std::countr_zero(kinds.bit(kind)))];
        // A depth-first search may have come by a longer way.
        for (const ToldFinding& told : traced->findings)
          cell.depths[told.finding.kind] = static_cast<uint32_t>(told.finding.steps.size());
        if (table)
          fmt::print("{:<6}{:<35}{:<6}{:<10}{:<9}{:<9}{:<9}{:>14}{:>16}{:>7}{:>9}{:>10}{}\n", model,
                     variant.name, tasks, dead_text(r), critical_text(cell, kCritical[0]),
                     critical_text(cell, kCritical[1]), critical_text(cell, kCritical[2]),
                     count_text(r.states), count_text(r.transitions), r.depth, seconds_text(r.seconds),
                     bytes_text(r.memory_bytes), r.exhausted ? "  exhausted" : "");
        std::fflush(stdout);
        cells.push_back(cell_json(variant, cell, tasks));
        if (r.findings == 0 || was_cut(r))
          clean_cells = merge(clean_cells, was_cut(r) ? Verdict::kUnknown : r.verdict);
        for (const ToldFinding& told : traced->findings) {
          const std::string token = make_token(told.finding);
          const std::string name(info(told.finding.kind).name);
          tokens.push_back(fmt::format("{:<15} ./sisyfs replay {}", name, token));
          cells.back()["tokens"][name] = token;
        }
        if (!traced->why.empty()) {
          tokens.push_back(
              fmt::format("{}, {}, {} task(s): no trace of {}", model, variant.name, tasks, traced->why));
          cells.back()["untraced"] = traced->untraced;
        }
        if (interrupted().load()) clean_cells = Verdict::kUnknown;
      }
  if (table) {
    fmt::print(
        "\n\"at n\": found, n steps deep, and the search of that cell ended when each kind was found. "
        "\"exhausted\": no new "
        "states at any\ngreater depth. {}{}\n\nThe findings:\n",
        flags.no_symmetry ? "Without reductions."
                          : "States that differ only in the names of files and tasks count as one "
                            "(--no-symmetry counts all).",
        " Dead blocks are not critical and are repaired by recovery.");
    for (const std::string& token : tokens) fmt::print("  {}\n", token);
  }
  if (!flags.json.empty()) {
    const nlohmann::ordered_json json{
        {"schema", "sisyfs.matrix/1"}, {"version", SISYFS_VERSION}, {"cells", cells}};
    if (Status s = write_file(flags.json, json.dump(2) + "\n"); !s) return fail(s.error());
  }
  return clean_cells == Verdict::kPass ? kClean : kInconclusive;
}

}  // namespace

void add_matrix(CLI::App& app, int& exit) {
  auto flags = std::make_shared<MatrixFlags>();
  CLI::App* sub =
      app.add_subcommand("matrix",
                         "Print the verdict matrix of the file-mapping models; the exit code is 0 if every "
                         "cell without findings passes and no search was cut short, 3 otherwise");
  sub->footer(
      "Exit codes: 0 every cell without findings passes (findings in other cells do not count) and no "
      "search\n"
      "was cut short, 2 usage or bad input, 3 a search stopped before its bound, or states were merged,\n"
      "4 harness error.");
  sub->add_option("--files", flags->files, "number of files")->capture_default_str();
  sub->add_option("--blocks", flags->blocks, "number of data blocks")->capture_default_str();
  sub->add_flag("--no-symmetry", flags->no_symmetry, "count states that differ only in names as different");
  sub->add_option("--json", flags->json, "write the matrix as JSON to this file; - is standard output");
  flags->search.add_order_to(*sub, {"bfs", "dfs"}, false);
  flags->search.add_bounds_to(*sub);
  sub->callback([flags, &exit] { exit = run_matrix(*flags); });
}

}  // namespace sisyfs::cli
