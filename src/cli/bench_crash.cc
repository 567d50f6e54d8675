// bench crash: what a crash state costs, and how many need not be run.
//
// Everything on the journal model. Runs are recoveries that were carried out, walked, judged and tried for
// use. Where the cost of one is measured, and where runs are counted, nothing is remembered from one to the
// next (memo_bits 0), so that the figures are those of the enumeration alone; crash_states_per_s_2 is that of
// a search as it is.
#include <fmt/format.h>

#include <ctime>

#include "cli/bench.h"
#include "cli/cli.h"
#include "judge/costs.h"
#include "judge/disk_system.h"
#include "models/journal_check.h"

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
  setup->enumeration.max_states = UINT64_MAX;
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
  const Settings wide = {"files=1", "dirs=0", "write=7", "rename=off", "remount=off"};
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

Status add_cost(Json& out, const BenchFlags& flags, uint32_t depth) {
  const Settings lazy = {"crash=lazy"};
  std::vector<double> cpu_ns, copy_ns, per_s, per_s_remembering, mount_share;
  for (int round = 0; round < flags.rounds; ++round) {
    copy_ns.push_back(copy_and_hash_ns(16 << 10));
    const std::clock_t began = std::clock();
    const Result<SearchResult> one = search(setup_with(flags.settings, lazy, kForget), depth, 1);
    if (!one) return one.error();
    cpu_ns.push_back(static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC * 1e9 /
                     static_cast<double>(one->recoveries));
    const Result<SearchResult> two = search(setup_with(flags.settings, lazy, kForget), depth, 2);
    if (!two) return two.error();
    per_s.push_back(static_cast<double>(two->recoveries) / two->seconds);
    const Result<SearchResult> remembering = search(setup_with(flags.settings, lazy, kRemember), depth, 2);
    if (!remembering) return remembering.error();
    per_s_remembering.push_back(static_cast<double>(remembering->crash_states) / remembering->seconds);
    Result<DiskSetup> setup = setup_with(flags.settings, lazy, kForget);
    if (!setup) return setup.error();
    const Result<Costs> costs = measure_costs(*std::move(setup), 3, depth);
    if (!costs) return costs.error();
    mount_share.push_back(costs->share(costs->recoveries));
    out["depth"] = depth;
    out["runs"] = one->recoveries;
    out["crash_states"] = one->crash_states;
  }
  out["judged_per_s_2"] = median(per_s);
  out["crash_states_per_s_2"] = median(per_s_remembering);
  out["cpu_ns_per_run"] = median(cpu_ns);
  out["copy_and_hash_16k_ns"] = median(copy_ns);
  out["cost_in_copies"] = median(cpu_ns) / median(copy_ns);
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
