// PluginCode: a shared library with a plug-in in it, loaded and looked over.
//
//   Result<std::shared_ptr<PluginCode>> code = PluginCode::open("./libmyfs.so");
//   if (!code) return code.error();           // not there, no library, no plug-in, another version, ...
//   (*code)->table().create(fs, "/a");        // what it does not have is null
//
// A plug-in of an older minor version has a shorter table; what it lacks is null here. One of a newer minor
// version is used as far as this program knows it.
#pragma once

#include <sisyfs/plugin.h>

#include <memory>
#include <string>

#include "adapters/fence.h"
#include "base/result.h"

namespace sisyfs {

class PluginCode {
 public:
  // The path as dlopen takes it: with a slash, or looked for where libraries lie.
  static Result<std::shared_ptr<PluginCode>> open(const std::string& path, const FenceLimits& limits = {});
  PluginCode(const PluginCode&) = delete;
  PluginCode& operator=(const PluginCode&) = delete;

  const sisyfs_plugin& table() const { return table_; }
  const std::string& path() const { return path_; }
  Fence& fence() { return fence_; }

 private:
  PluginCode(std::string path, const FenceLimits& limits) : path_(std::move(path)), fence_(limits) {}
  Status load();
  Status take_table(const sisyfs_plugin* table);

  std::string path_;
  Fence fence_;
  sisyfs_plugin table_{};
};

}  // namespace sisyfs
