// Checks that a plug-in is deterministic.
//
// A search relies on it: calls that are repeated, from a snapshot or in another process, must have the same
// effect. So before the search some ops are run twice from the start. The second run has another time of day,
// other random numbers and other content in fresh memory. All disk accesses and answers of the two runs are
// compared.
#pragma once

#include "adapters/plugin/plugin_host.h"
#include "adapters/plugin/plugin_target.h"
#include "base/result.h"
#include "workload/workload.h"

namespace sisyfs {

// The error describes the first difference. With `fixed_clock` both runs have the same time of day.
Status check_determinism(PluginHost& host, const TargetKind& kind, const Bounds& bounds, bool fixed_clock);

}  // namespace sisyfs
