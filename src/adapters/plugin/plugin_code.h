// PluginCode: a loaded shared library that is a plug-in, with its checked table of functions.
//
//   Result<std::shared_ptr<PluginCode>> code = PluginCode::open("./libmyfs.so");
//   if (!code) return code.error();           // not there, no library, no plug-in, another version, ...
//   (*code)->table().create(fs, "/a");        // functions that it lacks are null
//
// It is loaded into a namespace of its own (namespace.h), where its memory can be saved page by page. Code
// that was built with a sanitizer cannot be loaded so. It is loaded like any other library; namespace_of() is
// null then, and why_not_pages() says why.
//
// A plug-in of an older minor version has a shorter table; the functions that it lacks are null here. Of a
// newer minor version only the functions that this program knows are used.
#pragma once

#include <sisyfs/plugin.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/plugin/fence.h"
#include "adapters/plugin/namespace.h"
#include "base/result.h"
#include "target/options.h"

namespace sisyfs {

class PluginCode {
 public:
  // The path is that of dlopen(): with a slash, or searched for in the library path. Without `pages` the
  // library is loaded without a namespace.
  static Result<std::shared_ptr<PluginCode>> open(const std::string& path, bool pages = true);
  PluginCode(const PluginCode&) = delete;
  PluginCode& operator=(const PluginCode&) = delete;
  // In a guarded process (process_guard.h) the library stays loaded, and its destructors do not run.
  ~PluginCode();

  const sisyfs_plugin& table() const { return table_; }
  // Those that it declares itself.
  const std::vector<OptionSpec>& options() const { return options_; }
  const std::string& path() const { return path_; }
  Fence& fence() { return fence_; }

  PluginNamespace* namespace_of() { return namespace_ ? &*namespace_ : nullptr; }
  const std::string& why_not_pages() const { return why_not_pages_; }

 private:
  explicit PluginCode(std::string path) : path_(std::move(path)), fence_({}) {}
  Status load(bool pages);
  Status load_pages();
  Result<void*> load_plainly();
  Status take_table(const sisyfs_plugin* table);
  Status copy_table(const sisyfs_plugin* table);

  std::string path_;
  Fence fence_;
  sisyfs_plugin table_{};
  std::vector<OptionSpec> options_;
  std::string name_, summary_;  // copies of its texts
  std::optional<PluginNamespace> namespace_;
  std::string why_not_pages_;
};

}  // namespace sisyfs
