// The options that a plug-in declares itself (sisyfs/plugin.h), as options of its target: "plugin.NAME".
//
//   Result<std::vector<OptionSpec>> specs = read_plugin_options(table, fence);
//   if (Status s = configure_plugin(table, fence, options); !s) return s.error();   // before format
#pragma once

#include <sisyfs/plugin.h>

#include <vector>

#include "adapters/plugin/fence.h"
#include "base/result.h"
#include "target/options.h"

namespace sisyfs {

// Bad input where the table of options makes no sense. It is read inside the fence.
Result<std::vector<OptionSpec>> read_plugin_options(const sisyfs_plugin& table, Fence& fence);

// Gives the plug-in the value of each option that it declares, in the order of its table. `options` has what
// read_plugin_options() gave. Bad input if the plug-in refuses a value or dies.
Status configure_plugin(const sisyfs_plugin& table, Fence& fence, const Options& options);

}  // namespace sisyfs
