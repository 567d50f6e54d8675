// The benches. Each measures ratios in one run and gives an object with stable names.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "target/target_kind.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sisyfs::cli {

struct BenchFlags {
  int rounds = 3;
  bool quick = false;  // smaller geometries and depths
  // For those of one model; 0: as the bench has it.
  std::vector<std::string> settings;
  uint32_t depth = 0, exact_depth = 0;
  std::string target;  // of bench kernel; empty: as the bench has it
};

using BenchResult = Result<nlohmann::ordered_json>;

// Against SPIN's pan on the same models.
BenchResult bench_spin(const BenchFlags& flags);
// Which share of a search is the model's own ops and copies.
BenchResult bench_share(const BenchFlags& flags);
// The effect of the thesis's two optimisations on the number of states (thesis Figure 4.17).
BenchResult bench_optimisations(const BenchFlags& flags);
// What a search of a model costs: speed, the model's own share, memory.
BenchResult bench_f2fs(const BenchFlags& flags);
BenchResult bench_journal(const BenchFlags& flags);
// What a crash state costs, and how many lazy crash states and the rule for power cuts in recovery save.
BenchResult bench_crash(const BenchFlags& flags);
// What dedup by shape saves and misses, by the number of last ops that count (thesis Figure 5.13).
BenchResult bench_shape(const BenchFlags& flags);
// States and paths without power cuts, by dedup (thesis Figure 5.11).
BenchResult bench_isomorphism(const BenchFlags& flags);
// What it costs to save and load the memory of a plug-in, against fork(), and a search of a plug-in against
// one of the same code compiled in.
BenchResult bench_snapshot(const BenchFlags& flags);
// What worker processes cost and save in a search of a plug-in; how fast libext2fs is searched.
BenchResult bench_plugin(const BenchFlags& flags);
// What a search of a kernel file system does, against what its guest can do.
BenchResult bench_kernel(const BenchFlags& flags);
// How many runs of an application's check the search saves, and how fast it runs them, against bare runs.
BenchResult bench_app(const BenchFlags& flags);

// The kind of the file system of examples/pebblefs that is compiled into the program. Set by main() of a
// program that has it, null otherwise.
using MakeKind = TargetKind (*)();
MakeKind& built_in_pebble();

// The subcommand.
void add_bench(CLI::App& app, int& exit);

// The middle one of a few measurements.
double median(std::vector<double> values);

}  // namespace sisyfs::cli
