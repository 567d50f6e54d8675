// bench snapshot: what it costs to go back to a state of a plug-in, against fork().
//
// A plug-in with a heap of 1 or 16 MiB writes to so many pages of it, other ones each time. By snapshot: the
// pages are written, saved, and the start is loaded. By fork: a child writes the pages and ends, and is
// waited for; the parent is as it was. Both in turn, in one process, the median of many.
//
// And what a whole search costs through the interface of plug-ins: the example file system is searched as a
// plug-in, loaded, fenced and saved page by page, and compiled into the program, under the same bounds and
// with the same counts as a result.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <optional>

#include "adapters/plugin/memory_snapshot.h"
#include "adapters/plugin/namespace.h"
#include "adapters/plugin/page_fault.h"
#include "adapters/plugin/plugin_check.h"
#include "bench/bench.h"
#include "cli/cli.h"
#include "finding/disk_check.h"

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double micros_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

// tests/plugins/play.c.
struct Heap {
  void (*dirty)(size_t pages, uint64_t seed);
  void (*step)(uint32_t op, uint32_t a, uint32_t b);
  PluginNamespace plugin;
};

Result<Heap> load_heap(size_t pages) {
  const Result<std::string> path = bundled_library("libplay.so");
  if (!path) return path.error();
  Result<PluginNamespace> plugin = PluginNamespace::load(*path);
  if (!plugin) return plugin.error();
  const auto make = reinterpret_cast<int (*)(size_t)>(plugin->symbol("play_heap"));
  const auto dirty = reinterpret_cast<void (*)(size_t, uint64_t)>(plugin->symbol("play_dirty"));
  const auto step = reinterpret_cast<void (*)(uint32_t, uint32_t, uint32_t)>(plugin->symbol("play_step"));
  if (make == nullptr || dirty == nullptr || step == nullptr || make(pages) != 0)
    return system_error(fmt::format("{} is of another version", *path));
  return Heap{dirty, step, std::move(*plugin)};
}

// Microseconds; none where the system lacks the tracker.
std::optional<double> time_snapshot(PluginMemory& memory, const Heap& heap, Tracker tracker, size_t pages,
                                    int rounds) {
  if (!memory.use(tracker)) return {};
  const MemoryImage start = memory.save();
  std::vector<double> times;
  for (int round = -rounds / 2; round < rounds; ++round) {
    const Clock::time_point began = Clock::now();
    heap.dirty(pages, static_cast<uint64_t>(round) + static_cast<uint64_t>(rounds));
    (void)memory.save();
    memory.load(start, PluginMemory::Since::kHasNotRun);
    if (round >= 0) times.push_back(micros_since(began));
  }
  return median(times);
}

Result<double> time_fork(const Heap& heap, size_t pages, int rounds) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const Clock::time_point began = Clock::now();
    const pid_t child = fork();
    if (child < 0) return system_error("cannot fork");
    if (child == 0) {
      heap.dirty(pages, static_cast<uint64_t>(round));
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
      return system_error("a child did not end as it should");
    times.push_back(micros_since(began));
  }
  return median(times);
}

// One row for each number of pages; the ratios of the smaller heap are those that count.
Status add_heap(Json& out, size_t heap_pages, int rounds, const std::string& suffix) {
  const Result<Heap> heap = load_heap(heap_pages);
  if (!heap) return heap.error();
  for (const size_t pages : {1u, 10u, 50u}) {
    const Result<double> fork_us = time_fork(*heap, pages, rounds);
    if (!fork_us) return fork_us.error();
    const auto memory = PluginMemory::make(heap->plugin.ranges(), Tracker::kCompare);
    if (!memory) return memory.error();
    Json row{{"heap_KiB", heap_pages * 4}, {"pages", pages}, {"fork_us", *fork_us}};
    double best = 0;
    for (const Tracker tracker : kTrackers) {
      const std::optional<double> us = time_snapshot(**memory, *heap, tracker, pages, rounds);
      row[fmt::format("{}_us", name_of(tracker))] = us ? Json(*us) : Json(nullptr);
      if (us && (best == 0 || *us < best)) best = *us;
    }
    row["fork_over_snapshot"] = *fork_us / best;
    out["cells"].push_back(row);
    out[fmt::format("fork_over_snapshot_{}{}", pages, suffix)] = *fork_us / best;
    if (interrupted().load()) return system_error("interrupted");
  }
  return {};
}

// A plug-in of a few dozen KiB, as most are: what one op, a save and a load cost together.
Status add_small(Json& out, int rounds) {
  const Result<Heap> heap = load_heap(1);
  if (!heap) return heap.error();
  const auto memory = PluginMemory::make(heap->plugin.ranges(), Tracker::kCompare);
  if (!memory) return memory.error();
  uint32_t at = 0;
  for (; at < 200; ++at) heap->step(at, at * 7, at * 31);
  out["small"] = choose_tracker(
                     **memory, [&] { ++at, heap->step(at, at * 7, at * 31); }, rounds)
                     .why;
  return {};
}

struct Timed {
  SearchResult result;
  double rate;  // transitions per second of the processor's time: the rest of the machine hardly counts
};

// Each time a check of its own, which remembers nothing of earlier ones.
Result<Timed> time_search(const DiskSetup& setup, uint32_t depth) {
  const Result<std::unique_ptr<Check>> check = make_disk_check(setup);
  if (!check) return check.error();
  SearchOptions options;
  options.bounds.depth = depth;
  options.threads = 1;
  options.digest_visited = false;
  options.interrupt = &interrupted();
  const std::clock_t began = std::clock();
  SearchResult result = (*check)->search(options, {});
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  if (interrupted().load()) return system_error("interrupted");
  if (result.stopped == Stop::kHarness) return *result.trouble;
  const double rate = static_cast<double>(result.transitions) / seconds;
  return Timed{std::move(result), rate};
}

// The plug-in and the same code compiled in, in turn.
Status add_searches(Json& out, const BenchFlags& flags) {
  if (built_in_pebble() == nullptr) return {};
  const Result<std::string> path = bundled_library("examples/libpebblefs.so");
  if (!path) return path.error();
  const Result<DiskSetup> plugin = plugin_setup(*path, {});
  if (!plugin) return plugin.error();
  DiskSetup built_in = *plugin;
  built_in.kind = built_in_pebble()();
  built_in.trouble = nullptr;
  const uint32_t depth = flags.quick ? 4 : 5;
  const int rounds = 2 * flags.rounds + 1;
  std::vector<double> plugin_rates, built_in_rates, ratios;
  to_stderr(fmt::format("bench snapshot: pebblefs to depth {}, as a plug-in and compiled in\n", depth));
  for (int round = 0; round < rounds; ++round) {
    const Result<Timed> a = time_search(*plugin, depth);
    if (!a) return a.error();
    const Result<Timed> b = time_search(built_in, depth);
    if (!b) return b.error();
    if (a->result.states != b->result.states || a->result.transitions != b->result.transitions ||
        a->result.findings != b->result.findings)
      return system_error(fmt::format("the plug-in has {} states, {} transitions, and compiled in {} and {}",
                                      a->result.states, a->result.transitions, b->result.states,
                                      b->result.transitions));
    plugin_rates.push_back(a->rate);
    built_in_rates.push_back(b->rate);
    ratios.push_back(a->rate / b->rate);
    out["search_depth"] = depth;
    out["search_states"] = a->result.states;
    out["search_transitions"] = a->result.transitions;
  }
  out["plugin_transitions_per_s"] = median(plugin_rates);
  out["builtin_transitions_per_s"] = median(built_in_rates);
  out["plugin_over_builtin"] = median(ratios);
  return {};
}

}  // namespace

MakeKind& built_in_pebble() {
  static MakeKind make = nullptr;
  return make;
}

BenchResult bench_snapshot(const BenchFlags& flags) {
  install_page_fault_handler();
  const int rounds = (flags.quick ? 50 : 200) * flags.rounds;
  Json out{{"bench", "snapshot"}, {"cells", Json::array()}};
  if (Status s = add_heap(out, 256, rounds, ""); !s) return s.error();
  if (Status s = add_heap(out, 4096 - 256, rounds, "_of_15MiB"); !s) return s.error();
  if (Status s = add_small(out, rounds); !s) return s.error();
  if (Status s = add_searches(out, flags); !s) return s.error();
  out["rounds"] = rounds;
  return out;
}

}  // namespace sisyfs::cli
