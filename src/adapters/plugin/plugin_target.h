// A plug-in (sisyfs/plugin.h) as a Target.
//
//   Result<std::shared_ptr<PluginHost>> host = PluginHost::open("./libmyfs.so", {});
//   setup.kind = plugin_kind(*host, {});
//
// The code is loaded once, and it is no object: its memory has one place. So there is one PluginHost for it,
// and any number of targets take turns in there, on one thread.
//
// What a target remembers is what the plug-in has in its memory. How that is saved and brought back depends
// on the code; docs/design/plugins.md has the reasons and the costs.
//
//   pages   the heap, data and bss of the code are copied, as far as they changed
//   replay  what was called since mount is called again, with the same answers of the disk
#pragma once

#include <sisyfs/plugin.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "adapters/plugin/plugin_host.h"
#include "target/target.h"

namespace sisyfs {

// What the user says where the plug-in says something else, or nothing.
struct PluginClaims {
  uint32_t unit = 1;  // Limits::write_unit
  std::optional<Contract> contract;
};

// Instances share the host, and hold it as long as they live.
TargetKind plugin_kind(std::shared_ptr<PluginHost> host, const PluginClaims& claims);

}  // namespace sisyfs
