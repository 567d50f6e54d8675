// Plug-ins for the registry: by the path of their library, and those that come with the program by name.
//
//   Result<CheckEntry> entry = plugin_entry("./libmyfs.so");
//   Result<CheckEntry> real = plugin_entry("ext2");
//
// A path is what has a slash in it or ends in ".so".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/setup.h"
#include "finding/registry.h"

namespace sisyfs {

// A real file system that comes with the program, in a library of its own.
struct BundledPlugin {
  const char* name;
  const char* summary;
};
std::span<const BundledPlugin> bundled_plugins();

// Whether it is a path, or one of those names.
bool is_plugin(std::string_view target);
// Where its library lies.
Result<std::string> plugin_path(const std::string& target);

// Loads the library; the options are those of every plug-in, with what this one says of itself as fallbacks.
Result<CheckEntry> plugin_entry(const std::string& target);

// What a check of it is made of, with options as name=value. Whoever wants to compare it with another target
// under the same bounds puts that in its place.
Result<DiskSetup> plugin_setup(const std::string& target, const std::vector<std::string>& settings);

}  // namespace sisyfs
