// A plug-in (sisyfs/plugin.h) as a Target.
//
//   Result<std::shared_ptr<PluginCode>> code = PluginCode::open("./libmyfs.so");
//   auto host = std::make_shared<PluginHost>(*code, geometry);
//   setup.kind = plugin_kind(host, {});
//
// The code is loaded once in a process. So there is one PluginHost for it, and any number of target instances
// take turns in it, on one thread.
//
// The memory of a target is the memory of the plug-in. How it is saved depends on the code;
// docs/design/plugins.md has the reasons and the costs.
//
//   pages   changed pages of the heap, data and bss are copied
//   replay  all calls since mount are made again, with the answers that the disk gave then
#pragma once

#include <sisyfs/plugin.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "adapters/plugin/plugin_host.h"
#include "target/target.h"

namespace sisyfs {

// What the user sets in place of what the plug-in claims.
struct PluginClaims {
  uint32_t unit = 1;  // Limits::write_unit
  std::optional<Contract> contract;
};

// Whether sizes and offsets need not be multiples of anything.
bool takes_any_byte(const sisyfs_plugin& table);

// Instances share the host, and hold it as long as they live.
TargetKind plugin_kind(std::shared_ptr<PluginHost> host, const PluginClaims& claims);

}  // namespace sisyfs
