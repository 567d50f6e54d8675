// What a search of a target leaves out by its settings. A pass says it, so that it is not taken for more.
//
//   result.not_tried = not_tried(setup, performed);   // "power cuts in recovery", "nesting=1"
#pragma once

#include <string>
#include <vector>

#include "explore/search.h"
#include "machine/setup.h"

namespace sisyfs {

// `performed`: the kinds of op that the search performed. An op that the target supports and that was never
// performed is a function of a plug-in that was never called. Ops that only read are left out of the list:
// reading back the tree uses them.
std::vector<NotTried> not_tried(const DiskSetup& setup, OpSet performed);

// "link, symlink"
std::string op_names(OpSet ops);

}  // namespace sisyfs
