// What a target costs by itself in a search, for the bench.
//
// A search on one thread whose target times its own calls: the work is that of the real search, with all
// that its tables save, and not a mix that somebody thought of.
//
//   Result<Costs> costs = measure_costs(setup, 3, 7);
//   double share = costs->share(costs->model());
#pragma once

#include <cstdint>

#include "base/result.h"
#include "machine/setup.h"

namespace sisyfs {

// Ticks of one clock, without those that the timing itself took.
struct Costs {
  double run = 0;         // the whole search
  double ops = 0;         // apply(), and unmount() with mount() for a remount
  double snapshots = 0;   // save() and load()
  double recoveries = 0;  // power_cut(), fsck() to repair, fsck() to check, mount()
  double walks = 0;       // walk(), which only the judge asks for
  double trials = 0;      // the ops and mounts that show whether a recovered system can be used
  double redone = 0;      // all calls that have a state again which was there before (explore/generations.h)
  uint64_t transitions = 0;
  uint64_t ops_done = 0;         // ops, without those of trials and those that were redone
  uint64_t recoveries_done = 0;  // the others were remembered

  // The model's own work, once for each transition.
  double model() const { return ops + snapshots + recoveries; }
  double share(double part) const { return part / run; }
};

// Searches by shape with `shape_ops`, to the depth. Bad input where the setup does not fit its target.
Result<Costs> measure_costs(DiskSetup setup, uint32_t shape_ops, uint32_t depth);

// Nanoseconds to copy and hash (XXH3, 128 bits) so many bytes that lie in the cache: the median of many.
double copy_and_hash_ns(size_t bytes);

}  // namespace sisyfs
