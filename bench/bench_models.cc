// bench f2fs and journal: what a search of these models costs. bench shape and isomorphism: what dedups save
// and miss. docs/formats/bench.md says exactly what is counted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "bench/bench.h"
#include "bench/costs.h"
#include "cli/cli.h"
#include "judge/catalogue.h"
#include "models/f2fs/check.h"
#include "models/journal/check.h"

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kShapeOps = 3;
constexpr uint32_t kFarDepth = 13;  // of the longest run in the thesis
constexpr unsigned kThreads = 2;    // more are not asked for; the counts do not depend on it

struct Run {
  const char* target = "f2fs";
  Dedup dedup = Dedup::kShape;
  uint32_t shape_ops = kShapeOps;
  uint32_t depth = 0;
  unsigned threads = kThreads;
  std::chrono::milliseconds time = std::chrono::milliseconds::max();  // at most
};

const char* name_of(Dedup dedup) {
  return dedup == Dedup::kShape ? "shape" : dedup == Dedup::kExact ? "exact" : "none";
}

Result<SearchResult> search(const char* bench, const std::vector<std::string>& settings, const Run& run,
                            KindTable* kinds = nullptr) {
  const Result<NamedCheck> named = registry().make(run.target, settings);
  if (!named) return named.error();
  SearchOptions options;
  options.dedup = run.dedup;
  options.shape_ops = run.shape_ops;
  options.bounds.depth = run.depth;
  options.bounds.time = run.time;
  options.threads = run.threads;
  options.digest_visited = false;
  options.interrupt = &interrupted();
  to_stderr(
      fmt::format("bench {}: depth {}, dedup {}{}, {} thread(s)\n", bench, run.depth, name_of(run.dedup),
                  run.dedup == Dedup::kShape ? fmt::format(" ({} ops)", run.shape_ops) : "", run.threads));
  if (kinds != nullptr) *kinds = named->check->kinds();
  SearchResult result = named->check->search(options, {});
  if (interrupted().load()) return system_error("interrupted");
  if (result.stopped == Stop::kHarness) return *result.trouble;
  return result;
}

// Where a count that was measured at three depths in a row will be at a greater one: what a step adds grows
// as it did from the last but one step to the last. Growth slows down with depth, because bounds on files and
// syncs make trees come again, so this is rather too much.
double extrapolate(const std::array<double, 3>& counts, uint32_t depth, uint32_t wanted) {
  const double before = counts[1] - counts[0], last = counts[2] - counts[1];
  double total = counts[2], step = last;
  for (; depth < wanted; ++depth) total += step *= last / before;
  return total;
}

// What bench f2fs and bench journal measure anew in each round.
struct Rounds {
  std::vector<double> rate_1, rate_2, cpu_ns, copy_ns;
  std::vector<double> model, redone, ops, snapshots, recoveries, walks, trials;
};

Status add_round(Rounds& rounds, const char* target, const std::vector<std::string>& settings, uint32_t depth,
                 SearchResult& two) {
  const auto rate = [](const SearchResult& r) { return static_cast<double>(r.transitions) / r.seconds; };
  rounds.copy_ns.push_back(copy_and_hash_ns(16 << 10));
  const std::clock_t began = std::clock();  // of all threads of this process
  const Result<SearchResult> one = search(target, settings, {.target = target, .depth = depth, .threads = 1});
  if (!one) return one.error();
  rounds.cpu_ns.push_back(static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC * 1e9 /
                          static_cast<double>(one->transitions));
  rounds.rate_1.push_back(rate(*one));
  Result<SearchResult> other = search(target, settings, {.target = target, .depth = depth, .threads = 2});
  if (!other) return other.error();
  two = *std::move(other);
  rounds.rate_2.push_back(rate(two));
  if (one->states != two.states || one->transitions != two.transitions)
    return system_error("one thread and two count differently");
  return {};
}

// A model that can be measured: what it is called, and its setup for the options.
struct Measured {
  const char* target;
  std::vector<OptionSpec> (*options)();
  Result<DiskSetup> (*setup)(const Options&);
  uint32_t depth, quick_depth;  // of the search, and of the search whose calls are timed
  uint32_t timed_depth, quick_timed_depth;
};

Status add_costs(Rounds& rounds, const Measured& model, const std::vector<std::string>& settings,
                 uint32_t depth) {
  const Result<Options> options = Options::parse(model.options(), settings);
  if (!options) return options.error();
  Result<DiskSetup> setup = model.setup(*options);
  if (!setup) return setup.error();
  to_stderr(fmt::format("bench {}: depth {}, the calls of the model timed\n", model.target, depth));
  const Result<Costs> costs = measure_costs(*std::move(setup), kShapeOps, depth);
  if (!costs) return costs.error();
  rounds.model.push_back(costs->share(costs->model()));
  rounds.redone.push_back(costs->share(costs->redone));
  rounds.ops.push_back(costs->share(costs->ops));
  rounds.snapshots.push_back(costs->share(costs->snapshots));
  rounds.recoveries.push_back(costs->share(costs->recoveries));
  rounds.walks.push_back(costs->share(costs->walks));
  rounds.trials.push_back(costs->share(costs->trials));
  return interrupted().load() ? Status(system_error("interrupted")) : Status();
}

Json names(const KindTable& kinds, FindingBits findings) {
  Json out = Json::array();
  for (const FindingKind kind : kinds.in(findings)) out.push_back(info(kind).name);
  return out;
}

// A row of bench shape. What exact dedup found is not known yet for the row of exact dedup itself.
Json shape_row(const Run& run, const KindTable& kinds, const SearchResult& result,
               const SearchResult* exact) {
  Json found = Json::object();
  FindingBits later = 0;
  for (size_t number = 0; number < kinds.kinds().size(); ++number) {
    const FindingBits bit = FindingBits{1} << number;
    if ((result.findings & bit) == 0) continue;
    found[std::string(info(kinds[number]).name)] = result.least_depth[number];
    if (exact != nullptr && (exact->findings & bit) != 0 &&
        result.least_depth[number] > exact->least_depth[number])
      later |= bit;
  }
  Json row{{"depth", run.depth}, {"dedup", name_of(run.dedup)}};
  row["k"] = run.dedup == Dedup::kShape ? Json(run.shape_ops) : Json();
  row["states"] = result.states;
  row["transitions"] = result.transitions;
  row["seconds"] = result.seconds;
  row["complete"] = result.stopped == Stop::kNo;
  row["findings"] = found;
  row["missed"] = names(kinds, exact == nullptr ? 0 : exact->findings & ~result.findings);
  row["later"] = names(kinds, later);
  return row;
}

// Percent by which `less` is below `all`.
double reduction(uint64_t less, uint64_t all) {
  return 100 * (1 - static_cast<double>(less) / static_cast<double>(all));
}

BenchResult bench_model(const Measured& model, const BenchFlags& flags) {
  const uint32_t depth = flags.depth != 0 ? flags.depth : flags.quick ? model.quick_depth : model.depth;
  if (depth < 4)
    return bad_input(
        fmt::format("bench {} needs --depth 4 or more, to see how the numbers grow", model.target));
  const uint32_t timed_depth = std::min(depth, flags.quick ? model.quick_timed_depth : model.timed_depth);
  Rounds rounds;
  SearchResult two;
  for (int round = 0; round < flags.rounds; ++round) {
    if (Status s = add_round(rounds, model.target, flags.settings, depth, two); !s) return s.error();
    if (Status s = add_costs(rounds, model, flags.settings, timed_depth); !s) return s.error();
  }
  std::array<double, 3> states{}, transitions{};
  Json by_depth = Json::array();
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t at = depth - 2 + i;
    const Result<SearchResult> r =
        at == depth ? two : search(model.target, flags.settings, {.target = model.target, .depth = at});
    if (!r) return r.error();
    states[i] = static_cast<double>(r->states);
    transitions[i] = static_cast<double>(r->transitions);
    by_depth.push_back({{"depth", at}, {"states", r->states}, {"transitions", r->transitions}});
  }
  const double bytes_per_state = static_cast<double>(two.memory_bytes) / states[2];
  const double far = extrapolate(transitions, depth, kFarDepth);
  Json out{{"bench", model.target},
           {"depth", depth},
           {"states", two.states},
           {"transitions", two.transitions},
           {"transitions_per_s_1", median(rounds.rate_1)},
           {"transitions_per_s_2", median(rounds.rate_2)},
           {"cpu_ns_per_transition", median(rounds.cpu_ns)},
           {"copy_and_hash_16k_ns", median(rounds.copy_ns)},
           {"cost_in_copies", median(rounds.cpu_ns) / median(rounds.copy_ns)},
           {"model_share", median(rounds.model)},
           {"model_ops_share", median(rounds.ops)},
           {"model_snapshots_share", median(rounds.snapshots)},
           {"model_recoveries_share", median(rounds.recoveries)},
           {"walks_share", median(rounds.walks)},
           {"usability_share", median(rounds.trials)},
           {"redone_share", median(rounds.redone)},
           {"share_depth", timed_depth},
           {"bytes_per_state", bytes_per_state},
           {"by_depth", by_depth},
           {"depth13_transitions", far},
           {"depth13_hours", far / median(rounds.rate_2) / 3600},
           {"depth13_memory_gb", extrapolate(states, depth, kFarDepth) * bytes_per_state / 1e9},
           {"rounds", flags.rounds}};
  return out;
}

}  // namespace

BenchResult bench_f2fs(const BenchFlags& flags) {
  return bench_model({"f2fs", f2fs::option_specs, f2fs::setup_of, 10, 7, 8, 6}, flags);
}

BenchResult bench_journal(const BenchFlags& flags) {
  return bench_model({"journal", journal::option_specs, journal::setup_of, 8, 6, 7, 5}, flags);
}

BenchResult bench_shape(const BenchFlags& flags) {
  std::vector<std::string> settings{"reuse=lifo"};
  settings.insert(settings.end(), flags.settings.begin(), flags.settings.end());
  const uint32_t depth = flags.depth != 0 ? flags.depth : flags.quick ? 5 : 8;
  const uint32_t exact_depth = std::min(depth, flags.exact_depth != 0 ? flags.exact_depth
                                               : flags.quick          ? 4u
                                                                      : 6u);
  const Run exact_run{.dedup = Dedup::kExact,
                      .depth = exact_depth,
                      .time = std::chrono::milliseconds(std::chrono::minutes(5))};
  KindTable kinds;
  const Result<SearchResult> exact = search("shape", settings, exact_run, &kinds);
  if (!exact) return exact.error();
  Json rows = Json::array();
  std::vector<uint32_t> depths{exact_depth};
  if (depth != exact_depth) depths.push_back(depth);
  for (uint32_t d : depths) {
    for (uint32_t k = 0; k <= 4; ++k) {
      const Run run{.shape_ops = k, .depth = d};
      const Result<SearchResult> r = search("shape", settings, run);
      if (!r) return r.error();
      rows.push_back(shape_row(run, kinds, *r, &*exact));
    }
    if (d == exact_depth) rows.push_back(shape_row(exact_run, kinds, *exact, nullptr));
  }
  return Json{{"bench", "shape"},    {"settings", fmt::format("{}", fmt::join(settings, " "))},
              {"depth", depth},      {"exact_depth", exact_depth},
              {"threads", kThreads}, {"exact_complete", exact->stopped == Stop::kNo},
              {"rows", rows}};
}

BenchResult bench_isomorphism(const BenchFlags& flags) {
  std::vector<std::string> settings{"crash=none"};
  settings.insert(settings.end(), flags.settings.begin(), flags.settings.end());
  const uint32_t deepest = flags.depth != 0 ? flags.depth : flags.quick ? 4 : 7;
  Json rows = Json::array();
  bool given_up[3] = {};  // what took too long once would take longer a step deeper
  for (uint32_t depth = 1; depth <= deepest; ++depth) {
    Json row{{"depth", depth}};
    uint64_t all = 0;
    int which = -1;
    for (const Dedup dedup : {Dedup::kNone, Dedup::kExact, Dedup::kShape}) {
      const std::string name = name_of(dedup);
      Json states, transitions, reduced;
      if (!given_up[++which]) {
        const Run run{.dedup = dedup, .shape_ops = 0, .depth = depth, .time = std::chrono::minutes(3)};
        const Result<SearchResult> r = search("isomorphism", settings, run);
        if (!r) return r.error();
        given_up[which] = r->stopped != Stop::kNo;
        if (!given_up[which]) {
          states = r->states;
          transitions = r->transitions;
          if (dedup == Dedup::kNone) all = r->states;
          if (all != 0) reduced = reduction(r->states, all);
        }
      }
      row[name + "_states"] = states;
      row[name + "_transitions"] = transitions;
      if (dedup != Dedup::kNone) row[name + "_reduction_percent"] = reduced;
    }
    rows.push_back(row);
  }
  return Json{{"bench", "isomorphism"},
              {"settings", fmt::format("{}", fmt::join(settings, " "))},
              {"threads", kThreads},
              {"rows", rows}};
}

}  // namespace sisyfs::cli
