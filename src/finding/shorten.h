// shorten(): leaves out the steps that a finding does not need, and what need not go wrong in the others.
//
// A random walk reaches a finding by many steps, most of which have nothing to do with it. Each candidate,
// the steps without some of them, is executed: it counts if the finding still happens at its end. Runs of
// steps are left out first, from half of the steps down to single ones. Then, of each step: the failing call,
// power cuts from the last one on, and single lost events, which survive instead. In the result none of these
// can be left out, unless `stop` was set before. renumbered() gives the steps the ids 1, 2, 3 ....
//
//   finding.steps = shorten(*named.check, finding.kind, finding.steps, interrupted());
#pragma once

#include <atomic>
#include <vector>

#include "finding/check.h"
#include "judge/catalogue.h"
#include "machine/step.h"

namespace sisyfs {

// The steps show the finding. The result does, too; its steps keep their ids.
std::vector<Step> shorten(const Check& check, FindingKind kind, std::vector<Step> steps,
                          const std::atomic<bool>& stop);

// The same steps with the ids 1, 2, 3 ... . Lost events of steps that are not there are left out: a replay
// passes over them.
std::vector<Step> renumbered(std::vector<Step> steps);

}  // namespace sisyfs
