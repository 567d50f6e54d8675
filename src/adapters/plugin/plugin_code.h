// PluginCode: a shared library with a plug-in in it, loaded and looked over.
//
//   Result<std::shared_ptr<PluginCode>> code = PluginCode::open("./libmyfs.so");
//   if (!code) return code.error();           // not there, no library, no plug-in, another version, ...
//   (*code)->table().create(fs, "/a");        // what it does not have is null
//
// It is loaded into a namespace of its own (namespace.h), where its memory can be saved page by page. Code
// that cannot live there, because it was built with a sanitizer or has thread-local variables, is loaded like
// any other library; namespace_of() is null then, and why_not_pages() says why.
//
// A plug-in of an older minor version has a shorter table; what it lacks is null here. One of a newer minor
// version is used as far as this program knows it.
#pragma once

#include <sisyfs/plugin.h>

#include <memory>
#include <optional>
#include <string>

#include "adapters/plugin/fence.h"
#include "adapters/plugin/namespace.h"
#include "base/result.h"

namespace sisyfs {

class PluginCode {
 public:
  // The path as dlopen takes it: with a slash, or looked for where libraries lie. Without `pages` it is
  // loaded like any other library.
  static Result<std::shared_ptr<PluginCode>> open(const std::string& path, bool pages = true);
  PluginCode(const PluginCode&) = delete;
  PluginCode& operator=(const PluginCode&) = delete;

  const sisyfs_plugin& table() const { return table_; }
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

  std::string path_;
  Fence fence_;
  sisyfs_plugin table_{};
  std::optional<PluginNamespace> namespace_;
  std::string why_not_pages_;
};

}  // namespace sisyfs
