// PluginHost: the one place where the code of a plug-in runs, with its disk and its fence.
#pragma once

#include <sisyfs/plugin.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "adapters/plugin_calls.h"
#include "adapters/plugin_code.h"
#include "adapters/plugin_disk.h"
#include "base/result.h"
#include "disk/geometry.h"

namespace sisyfs {

class PluginHost {
 public:
  PluginHost(std::shared_ptr<PluginCode> code, const Geometry& geometry)
      : code_(std::move(code)), geometry_(geometry), disk_(geometry, fence()), calls_(table(), fence()) {}

  const sisyfs_plugin& table() const { return code_->table(); }
  PluginCode& code() { return *code_; }
  Fence& fence() { return code_->fence(); }
  PluginDisk& disk() { return disk_; }
  PluginCalls& calls() { return calls_; }
  const Geometry& geometry() const { return geometry_; }

  // Whose turn it is, among those whose memory can be in there.
  const void* guest() const { return guest_; }
  void set_guest(const void* guest) { guest_ = guest; }

  // Why nothing that was found can be relied on: the plug-in does not do the same twice.
  const std::optional<std::string>& trouble() const { return trouble_; }
  void set_trouble(std::string text) {
    if (!trouble_) trouble_ = std::move(text);
  }

 private:
  std::shared_ptr<PluginCode> code_;
  Geometry geometry_;
  PluginDisk disk_;
  PluginCalls calls_;
  const void* guest_ = nullptr;
  std::optional<std::string> trouble_;
};

}  // namespace sisyfs
