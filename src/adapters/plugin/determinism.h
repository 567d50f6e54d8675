// Whether a plug-in does the same twice.
//
// A search relies on it: what is done again, from a snapshot or in another process, must come out alike. So
// before the search some ops are done twice from the start, the second time with another time of day, other
// random numbers and other rubbish in fresh memory, and everything that reached the disk is compared.
#pragma once

#include "adapters/plugin/plugin_host.h"
#include "adapters/plugin/plugin_target.h"
#include "base/result.h"
#include "workload/workload.h"

namespace sisyfs {

// An error tells the first difference. With `fixed_clock` the time is the same both times.
Status check_determinism(PluginHost& host, const TargetKind& kind, const Bounds& bounds, bool fixed_clock);

}  // namespace sisyfs
