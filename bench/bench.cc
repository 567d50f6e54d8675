// sisyfs bench: speed and size as ratios measured in one run.
#include "bench/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "bench/mapping_costs.h"
#include "cli/cli.h"

namespace sisyfs::cli {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

namespace {

Result<SearchResult> search(const std::string& target, const std::vector<std::string>& settings,
                            unsigned threads, uint32_t depth = SearchBounds::kNoDepth) {
  const Result<NamedCheck> named = registry().make(target, settings);
  if (!named) return named.error();
  SearchOptions options;
  options.threads = threads;
  options.bounds.depth = depth;
  options.digest_visited = false;
  options.interrupt = &interrupted();
  return named->check->search(options, {});
}

std::string cell_text(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.3g}", value.get<double>());
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [name, part] : value.items())
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", value.is_object() ? name + " " : "", cell_text(part));
  return text.empty() ? "-" : text;
}

// Rows with the same few names, which fit on a line each.
bool print_table(const nlohmann::ordered_json& rows, int indent) {
  constexpr size_t kColumns = 12;
  if (!rows.is_array() || rows.empty() || !rows[0].is_object() || rows[0].size() > kColumns) return false;
  std::vector<std::vector<std::string>> lines(1);
  std::vector<size_t> widths;
  for (const auto& [name, value] : rows[0].items()) {
    lines[0].push_back(name);
    widths.push_back(name.size());
  }
  for (const auto& row : rows) {
    if (row.size() != widths.size()) return false;
    lines.emplace_back();
    for (const auto& [name, value] : row.items()) {
      size_t& width = widths[lines.back().size()];
      lines.back().push_back(cell_text(value));
      width = std::max(width, lines.back().back().size());
    }
  }
  for (const auto& line : lines) {
    std::string text(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < line.size(); ++i) text += fmt::format("{:<{}}", line[i], widths[i] + 2);
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }
  return true;
}

void print_object(const nlohmann::ordered_json& object, int indent = 0) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_structured()) {
      fmt::print("{:{}}{}\n", "", indent, value.is_array() ? name : fmt::format("[{}]", name));
      if (!print_table(value, indent + 2)) print_object(value, indent + 2);
    } else {
      fmt::print("{:{}}{:<28} {}\n", "", indent, name, cell_text(value));
    }
  }
}

struct Bench {
  const char* name;
  BenchResult (*run)(const BenchFlags&);
  bool of_model;  // takes --set and --depth
};
constexpr Bench kBenches[] = {{"spin", bench_spin, false},
                              {"share", bench_share, false},
                              {"optimisations", bench_optimisations, false},
                              {"f2fs", bench_f2fs, true},
                              {"journal", bench_journal, true},
                              {"crash", bench_crash, true},
                              {"shape", bench_shape, true},
                              {"isomorphism", bench_isomorphism, true},
                              {"snapshot", bench_snapshot, false},
                              {"plugin", bench_plugin, false},
                              {"kernel", bench_kernel, true},
                              {"app", bench_app, false}};

BenchResult run_bench(const std::string& name, const BenchFlags& flags) {
  const auto* bench =
      std::find_if(std::begin(kBenches), std::end(kBenches), [&](const Bench& b) { return name == b.name; });
  if (!bench->of_model && (!flags.settings.empty() || flags.depth != 0))
    return bad_input(fmt::format("bench {} takes neither --set nor --depth", name));
  if (!flags.target.empty() && name != "kernel")
    return bad_input(fmt::format("bench {} takes no --target", name));
  if (flags.exact_depth != 0 && name != "shape")
    return bad_input(fmt::format("bench {} takes no --exact-depth", name));
  return bench->run(flags);
}

// As everywhere: digits and nothing else, where the library would take 0x10 and ' 5' too.
CLI::Validator whole_number(uint64_t least, uint64_t most) {
  return {[=](const std::string& text) {
            const Result<uint64_t> number = parse_count("", text);
            if (number && *number >= least && *number <= most) return std::string();
            return fmt::format("takes a whole number from {} to {}, not '{}'", least, most, text);
          },
          fmt::format("{}..{}", least, most)};
}

}  // namespace

BenchResult bench_share(const BenchFlags& flags) {
  nlohmann::ordered_json out{{"bench", "share"}, {"cells", nlohmann::ordered_json::array()}};
  double worst = 1;
  for (const auto model : {mapping::Model::kLink, mapping::Model::kIndex})
    for (int tasks : {1, 2}) {
      const std::string name = model == mapping::Model::kLink ? "link" : "index";
      mapping::Config config;
      config.tasks = static_cast<unsigned>(tasks);
      config.blocks = tasks == 1 ? (flags.quick ? 5 : 6) : (flags.quick ? 3 : 4);
      const mapping::Costs costs = mapping::measure_costs(model, config, 200'000);
      std::vector<double> per_transition;
      for (int round = 0; round < flags.rounds; ++round) {
        const Result<SearchResult> r =
            search(name, {fmt::format("tasks={}", tasks), fmt::format("blocks={}", config.blocks)}, 1);
        if (!r) return r.error();
        if (interrupted().load()) return system_error("interrupted");
        per_transition.push_back(r->seconds * 1e9 / static_cast<double>(r->transitions));
      }
      const double total = median(per_transition);
      worst = std::min(worst, costs.model_ns / total);
      out["cells"].push_back({{"target", name},
                              {"tasks", tasks},
                              {"ns_per_transition", total},
                              {"model_ns", costs.model_ns},
                              {"fingerprint_ns", costs.fingerprint_ns},
                              {"model_share", costs.model_ns / total},
                              {"fingerprint_share", costs.fingerprint_ns / total},
                              {"visited_and_frontier_share",
                               std::max(0.0, 1 - (costs.model_ns + costs.fingerprint_ns) / total)}});
    }
  out["model_share"] = worst;
  return out;
}

BenchResult bench_optimisations(const BenchFlags& flags) {
  struct Series {
    const char* name;
    std::vector<std::string> settings;
  };
  const std::vector<Series> all = {{"none", {"data=counter", "free=keep"}},
                                   {"hash", {"data=hash", "free=keep"}},
                                   {"hash_and_fill", {"data=hash", "free=fill"}}};
  nlohmann::ordered_json out{{"bench", "optimisations"}, {"targets", nlohmann::ordered_json::array()}};
  for (const std::string target : {"link", "index"}) {
    nlohmann::ordered_json entry{{"target", target}, {"states_by_depth", nlohmann::ordered_json::array()}};
    for (uint32_t depth : {5u, 10u, 20u, 30u, 40u, 60u, 80u, 1000u}) {
      nlohmann::ordered_json row{{"depth", depth}};
      for (const Series& series : all) {
        std::vector<std::string> settings = series.settings;
        settings.push_back("files=2");
        settings.push_back(flags.quick ? "blocks=3" : "blocks=4");
        const Result<SearchResult> r = search(target, settings, 2, depth);
        if (!r) return r.error();
        row[series.name] = r->states;
        row[std::string(series.name) + "_exhausted"] = r->exhausted;
      }
      entry["states_by_depth"].push_back(row);
      if (interrupted().load()) return system_error("interrupted");
    }
    out["targets"].push_back(entry);
  }
  return out;
}

void add_bench(CLI::App& app, int& exit) {
  struct Flags {
    std::string name;
    bool json = false;
    BenchFlags bench;
  };
  auto flags = std::make_shared<Flags>();
  std::vector<std::string> names;
  for (const Bench& bench : kBenches) names.emplace_back(bench.name);
  CLI::App* sub = app.add_subcommand("bench", "Measure speed and size, as ratios in one run");
  sub->add_option(
         "name", flags->name,
         "spin (against SPIN's pan), share (where the time goes), optimisations, f2fs and journal (cost of "
         "a search), crash (cost of a crash state, and how many need not be run), shape (what dedup by shape "
         "misses), isomorphism (what it saves), snapshot (memory of plug-ins, against fork), plugin "
         "(worker processes), kernel (a search of a kernel file system, against its guest alone) or app "
         "(runs "
         "of an application's check)")
      ->required()
      ->check(CLI::IsMember(names));
  sub->add_flag("--json", flags->json, "one JSON object on standard output");
  sub->add_flag("--quick", flags->bench.quick, "smaller geometries and depths, for a first look");
  sub->add_option("--depth", flags->bench.depth,
                  "f2fs, journal, crash, shape, isomorphism, kernel: steps from the start at most")
      ->check(whole_number(1, 64));
  sub->add_option("--exact-depth", flags->bench.exact_depth, "shape: the same for exact dedup, if less")
      ->check(whole_number(1, 64));
  sub->add_option(
         "--set", flags->bench.settings,
         "f2fs, journal, crash, shape, isomorphism, kernel: an option of the target, as name=value; may be "
         "repeated")
      ->allow_extra_args(false);
  sub->add_option("--target", flags->bench.target, "kernel: a file system of the kernel (default: ext4)");
  sub->add_option("--rounds", flags->bench.rounds, "measurements of each kind; the median counts")
      ->check(whole_number(1, 99))
      ->capture_default_str();
  sub->footer(
      "Exit codes: 0 measured, 2 usage or bad input, or something to measure against is missing, 4 harness "
      "error.");
  sub->callback([flags, &exit] {
    const BenchResult result = run_bench(flags->name, flags->bench);
    if (!result) {
      exit = fail(result.error());
      return;
    }
    if (flags->json)
      fmt::print("{}\n", result->dump(2));
    else
      print_object(*result);
    exit = kClean;
  });
}

}  // namespace sisyfs::cli
