// bench crash: what a crash state costs, and how many need not be run.
//
// Everything on the journal model. Runs are recoveries that were carried out, walked, judged and tried for
// use. Where the cost of one is measured, and where runs are counted, nothing is remembered from one to the
// next (memo_bits 0), so that the figures are those of the enumeration alone; crash_states_per_s_2 is that of
// a search as it is.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/digest_set.h"
#include "bench/bench.h"
#include "bench/costs.h"
#include "cli/cli.h"
#include "finding/disk_check.h"
#include "judge/disk_system.h"
#include "models/journal/check.h"

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;
using Settings = std::vector<std::string>;

constexpr unsigned kForget = 0, kRemember = 12;  // memo_bits

Result<DiskSetup> setup_with(Settings settings, const Settings& more, unsigned memo_bits) {
  settings.insert(settings.end(), more.begin(), more.end());
  const Result<Options> options = Options::parse(journal::option_specs(), settings);
  if (!options) return options.error();
  Result<DiskSetup> setup = journal::setup_of(*options);
  if (!setup) return setup.error();
  setup->memo_bits = memo_bits;
  setup->cuts.enumeration.max_states = UINT64_MAX;
  return setup;
}

Result<SearchResult> search(Result<DiskSetup> setup, uint32_t depth, unsigned threads) {
  if (!setup) return setup.error();
  const Result<std::unique_ptr<Check>> check = make_disk_check(*std::move(setup));
  if (!check) return check.error();
  SearchOptions options;
  options.bounds.depth = depth;
  options.threads = threads;
  options.digest_visited = false;
  options.interrupt = &interrupted();
  SearchResult result = (*check)->search(options, {});
  if (interrupted().load()) return system_error("interrupted");
  if (result.stopped == Stop::kHarness) return *result.trouble;
  return result;
}

// Eager against lazy: one file of one long write, so that a sync has an epoch of twelve writes and more.
Status add_runs_saved(Json& out) {
  const Settings wide = {"files=1", "dirs=0", "write=7", "one_write=off", "rename=off", "remount=off"};
  const Result<SearchResult> eager = search(setup_with(wide, {"crash=subsets"}, 16), 3, 2);
  if (!eager) return eager.error();
  const Result<SearchResult> lazy = search(setup_with(wide, {"crash=lazy"}, 16), 3, 2);
  if (!lazy) return lazy.error();
  if (eager->findings != lazy->findings) return system_error("eager and lazy differ in what they find");
  out["eager_crash_states"] = eager->crash_states;
  out["eager_runs"] = eager->crash_images;
  out["lazy_crash_states"] = lazy->crash_states;
  out["lazy_runs"] = lazy->recoveries;
  out["runs_saved"] = static_cast<double>(eager->crash_images) / static_cast<double>(lazy->recoveries);
  return {};
}

// Takes successors, and keeps those that were not met before.
struct Keep : detail::FullSink<DiskSystem> {
  DiskSystemState& next() { return building; }
  void commit(Choice, Outcome) {
    if (!building.over && seen.insert(building.print)) states.push_back(building);
  }
  DiskSystemState building;
  DigestSet seen;
  std::vector<DiskSystemState> states;
};

// The states of so many steps, breadth-first.
std::vector<DiskSystemState> states_of(const DiskSystem& system, uint32_t depth) {
  Keep keep;
  keep.states.resize(1);
  system.initial(keep.states[0]);
  for (size_t at = 0, end = 1; depth > 0; --depth, end = keep.states.size())
    for (; at < end; ++at) {
      const DiskSystemState from = keep.states[at];
      system.expand(from, keep);
    }
  return std::move(keep.states);
}

struct Judged {
  uint64_t runs = 0;
  double seconds = 0;  // of the power cuts alone: the ops that are cut are performed outside
};

// Cuts the power in every op from every `step`th state.
Judged judge(const DiskSystem& system, const std::vector<DiskSystemState>& states, size_t first,
             size_t step) {
  using Clock = std::chrono::steady_clock;
  Judged judged;
  const WorkerPool::Lease worker(system.workers());
  const uint64_t before = worker->machine().recoverer().runs();
  for (size_t at = first; at < states.size(); at += step) {
    worker->begin(states[at]);
    for (uint32_t op = 0; op < worker->ops().size(); ++op) {
      worker->run(op);
      do {
        const Clock::time_point began = Clock::now();
        while (worker->next_crash()) {
        }
        judged.seconds += std::chrono::duration<double>(Clock::now() - began).count();
      } while (worker->run_again());
    }
  }
  judged.runs = worker->machine().recoverer().runs() - before;
  return judged;
}

Status add_cost(Json& out, const BenchFlags& flags, uint32_t depth) {
  const Settings lazy = {"crash=lazy"};
  Result<DiskSetup> setup = setup_with(flags.settings, lazy, kForget);
  if (!setup) return setup.error();
  const Result<DiskSystem> system = DiskSystem::make(*setup);
  if (!system) return system.error();
  const std::vector<DiskSystemState> states = states_of(*system, depth - 1);
  // Each part of the states beside copies of the same moment: what else the machine does meets both.
  constexpr size_t kParts = 10;
  std::vector<double> run_ns, copy_ns, in_copies, per_s, remembering_per_s, mount_share;
  out["depth"] = depth;
  for (int round = 0; round < flags.rounds; ++round) {
    uint64_t runs = 0;
    for (size_t part = 0; part < kParts; ++part) {
      const double copy = copy_and_hash_ns(16 << 10);
      const Judged some = judge(*system, states, part, kParts);
      runs += some.runs;
      if (some.runs == 0) continue;
      copy_ns.push_back(copy);
      run_ns.push_back(some.seconds * 1e9 / static_cast<double>(some.runs));
      in_copies.push_back(run_ns.back() / copy);
    }
    out["runs"] = runs;
    Judged half;
    std::thread other([&] { half = judge(*system, states, 1, 2); });
    const Judged mine = judge(*system, states, 0, 2);
    other.join();
    per_s.push_back(static_cast<double>(mine.runs) / mine.seconds +
                    static_cast<double>(half.runs) / half.seconds);
    const Result<SearchResult> remembering = search(setup_with(flags.settings, lazy, kRemember), depth, 2);
    if (!remembering) return remembering.error();
    remembering_per_s.push_back(static_cast<double>(remembering->crash_states) / remembering->seconds);
    out["crash_states"] = remembering->crash_states;
    const Result<Costs> costs = measure_costs(*setup, 3, depth);
    if (!costs) return costs.error();
    mount_share.push_back(costs->share(costs->recoveries));
  }
  out["judged_per_s_2"] = median(per_s);
  out["crash_states_per_s_2"] = median(remembering_per_s);
  out["ns_per_run"] = median(run_ns);
  out["copy_and_hash_16k_ns"] = median(copy_ns);
  out["cost_in_copies"] = median(in_copies);
  out["mount_share"] = median(mount_share);
  return {};
}

// Power cuts in recovery, with FiSC's rule and without.
Status add_nested(Json& out, const BenchFlags& flags, uint32_t depth) {
  const Result<SearchResult> pruned =
      search(setup_with(flags.settings, {"crash=lazy", "nesting=1"}, kForget), depth, 2);
  if (!pruned) return pruned.error();
  const Result<SearchResult> all =
      search(setup_with(flags.settings, {"crash=lazy", "nesting=1", "all_nested=on"}, kForget), depth, 2);
  if (!all) return all.error();
  if (pruned->findings != all->findings) return system_error("what was passed over has findings");
  out["nested_runs"] = pruned->recoveries;
  out["nested_runs_without_rule"] = all->recoveries;
  out["nested_runs_saved"] = static_cast<double>(all->recoveries) / static_cast<double>(pruned->recoveries);
  return {};
}

}  // namespace

BenchResult bench_crash(const BenchFlags& flags) {
  Json out{{"bench", "crash"}};
  const uint32_t depth = flags.depth != 0 ? flags.depth : flags.quick ? 3 : 5;
  if (Status s = add_runs_saved(out); !s) return s.error();
  if (Status s = add_cost(out, flags, depth); !s) return s.error();
  if (Status s = add_nested(out, flags, depth > 3 ? depth - 1 : depth); !s) return s.error();
  out["rounds"] = flags.rounds;
  return out;
}

}  // namespace sisyfs::cli
