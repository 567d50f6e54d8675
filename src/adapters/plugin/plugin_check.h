// Plug-ins for the registry: by the path of their library, and those that come with the program by name.
//
//   Result<CheckEntry> entry = plugin_entry("./libmyfs.so");
//   Result<CheckEntry> real = plugin_entry("libext2fs");
//
// A name with a slash in it or with the ending ".so" is a path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "finding/registry.h"
#include "machine/setup.h"

namespace sisyfs {

// A real file system that comes with the program, in a library of its own.
struct BundledPlugin {
  const char* name;
  const char* summary;
};
std::span<const BundledPlugin> bundled_plugins();

// A name that a bundled plug-in had before. It is refused with a sentence that has the new one.
struct RenamedPlugin {
  const char* before;
  const char* now;
};
std::span<const RenamedPlugin> renamed_plugins();

// Whether this names a plug-in: a path, or a bundled plug-in.
bool is_plugin(std::string_view target);
// The path of its library.
Result<std::string> plugin_path(const std::string& target);

// Loads the library. All plug-ins have the same options; the defaults come from the plug-in.
Result<CheckEntry> plugin_entry(const std::string& target);

// From now on the trial runs before a check are left out: the process that started this one has made them.
void skip_plugin_trials();

// The setup of a check of the plug-in, with options as name=value. To check another target under the same
// bounds, replace DiskSetup::kind.
Result<DiskSetup> plugin_setup(const std::string& target, const std::vector<std::string>& settings);

}  // namespace sisyfs
