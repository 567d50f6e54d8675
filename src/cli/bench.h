// The benches. Each measures ratios in one run and gives an object with stable names.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace sisyfs::cli {

struct BenchFlags {
  int rounds = 3;
  bool quick = false;  // smaller geometries
};

using BenchResult = Result<nlohmann::ordered_json>;

// Against SPIN's pan on the same models.
BenchResult bench_spin(const BenchFlags& flags);
// Which share of a search is the model's own ops and copies.
BenchResult bench_share(const BenchFlags& flags);
// The effect of the thesis's two optimisations on the number of states (thesis Figure 4.17).
BenchResult bench_optimisations(const BenchFlags& flags);

// The middle one of a few measurements.
double median(std::vector<double> values);

}  // namespace sisyfs::cli
