// What the file-mapping models cost by themselves, for the bench: the ops and copies without a search.
#pragma once

#include "models/mapping/check.h"

namespace sisyfs::mapping {

// Nanoseconds for each transition, over a sample of reachable states in breadth-first order.
struct Costs {
  double model_ns = 0;        // ops, checks and copies of states
  double fingerprint_ns = 0;  // fingerprints of the successors
  uint64_t sampled = 0;       // transitions in the sample
};

Costs measure_costs(Model model, const Config& config, size_t states);

}  // namespace sisyfs::mapping
