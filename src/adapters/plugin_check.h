// Plug-ins by the path of their library, for the registry.
//
//   Result<CheckEntry> entry = plugin_entry("./libmyfs.so");
//
// A path is what has a slash in it or ends in ".so".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "judge/registry.h"

namespace sisyfs {

bool is_plugin_path(std::string_view target);

// Loads the library; the options are those of every plug-in, with what this one says of itself as fallbacks.
Result<CheckEntry> plugin_entry(const std::string& path);

}  // namespace sisyfs
