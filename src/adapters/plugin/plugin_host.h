// PluginHost: the one place where the code of a plug-in runs, with its disk, its fence and its memory.
#pragma once

#include <sisyfs/plugin.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "adapters/plugin/memory_snapshot.h"
#include "adapters/plugin/plugin_calls.h"
#include "adapters/plugin/plugin_code.h"
#include "adapters/plugin/plugin_disk.h"
#include "base/result.h"
#include "disk/geometry.h"
#include "explore/search.h"

namespace sisyfs {

class PluginHost {
 public:
  PluginHost(std::shared_ptr<PluginCode> code, const Geometry& geometry);

  const sisyfs_plugin& table() const { return code_->table(); }
  PluginCode& code() { return *code_; }
  Fence& fence() { return code_->fence(); }
  PluginDisk& disk() { return disk_; }
  PluginCalls& calls() { return calls_; }
  const Geometry& geometry() const { return geometry_; }

  // Its memory, page by page; null if it cannot be had so (PluginCode).
  PluginMemory* memory() { return memory_.get(); }
  // As it was when nothing had been called. Only with memory().
  const MemoryImage& fresh() const { return *fresh_; }
  // How what the plug-in remembers is saved, and why so; one line.
  const std::string& memory_text() const { return memory_text_; }
  // Bytes that are left on the heap after unmount at best: what the plug-in keeps for ever.
  uint64_t kept_bytes() const { return kept_bytes_; }
  // The bytes that it may have at a time.
  void set_memory_limit(uint64_t bytes);

  // The edges of its code that were reached since forget_edges(); nothing if it is not instrumented, or not
  // loaded so that it is seen.
  std::optional<EdgeCount> edges();
  uint64_t take_new_edges();
  void forget_edges();

  // Whose turn it is, among those whose memory can be in there.
  const void* guest() const { return guest_; }
  void set_guest(const void* guest) { guest_ = guest; }

  // Why nothing that was found can be relied on: the plug-in does not do the same twice.
  const std::optional<std::string>& trouble() const { return trouble_; }
  void set_trouble(std::string text) {
    if (!trouble_) trouble_ = std::move(text);
  }

 private:
  void try_out();

  std::shared_ptr<PluginCode> code_;
  Geometry geometry_;
  PluginDisk disk_;
  PluginCalls calls_;
  std::unique_ptr<PluginMemory> memory_;
  std::optional<MemoryImage> fresh_;
  std::string memory_text_;
  uint64_t kept_bytes_ = 0;
  const void* guest_ = nullptr;
  std::optional<std::string> trouble_;
};

}  // namespace sisyfs
